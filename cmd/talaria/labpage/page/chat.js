// What the page knows about one chat. It holds no elements.

export class Chat {
  constructor(description) {
    Object.assign(this, description); // id, kind, title, members, threads
    this.messages = new Map();
    this.order = [];
    this.typing = new Set(); // threads in which the bot types; "" is the chat itself
    this.notes = []; // what the platform showed to one person alone
    this.unread = new Map(); // by thread
    this.loaded = false;
  }

  // apply takes a change over and returns the messages that were not there before.
  apply(diff) {
    const fresh = [];
    for (const m of diff.changed) {
      if (this.loaded && !this.messages.has(m.id)) fresh.push(m);
      this.messages.set(m.id, { ...m, at: new Date(m.at) });
    }
    const present = new Set(diff.order);
    for (const id of this.messages.keys()) if (!present.has(id)) this.messages.delete(id);
    this.order = diff.order;
    this.typing = new Set(diff.typing);
    this.loaded = true;
    return fresh;
  }

  isFor(user) {
    return this.members.length === 0 || this.members.includes(user);
  }

  // place lists what shows in a thread, or with "" in the chat itself, for one person. A thread begins with the
  // message that it grew from.
  place(thread, user) {
    const all = this.order.map((id) => this.messages.get(id));
    const shown = all.filter((m) => (thread === "" ? topLevel(m) : m.thread === thread || m.id === thread));
    const notes = this.notes.filter((n) => n.thread === thread && n.user === user);
    return [...shown, ...notes].sort((a, b) => (a.note || b.note ? a.at - b.at : 0));
  }

  // replies lists the messages of a thread without the one that it grew from.
  replies(thread) {
    return this.order.map((id) => this.messages.get(id)).filter((m) => m.thread === thread && m.id !== thread);
  }

  // allThreads lists the threads that exist, with a title each.
  allThreads() {
    const titles = new Map(this.threads.map((t) => [t.id, t.title]));
    for (const id of this.order) {
      const m = this.messages.get(id);
      if (m.thread === "" || titles.has(m.thread)) continue;
      titles.set(m.thread, titleFrom(this.messages.get(m.thread) ?? m));
    }
    return [...titles].map(([id, title]) => ({ id, title }));
  }

  threadTitle(thread) {
    const known = this.allThreads().find((t) => t.id === thread);
    if (known) return known.title;
    const opener = this.messages.get(thread); // of a thread that nobody has written in yet
    return opener ? titleFrom(opener) : "New thread";
  }

  // last is the latest message anywhere in the chat.
  last() {
    return this.messages.get(this.order.at(-1));
  }

  unreadTotal() {
    let total = 0;
    for (const n of this.unread.values()) total += n;
    return total;
  }
}

const titleFrom = (opener) => opener.text.replace(/\s+/g, " ").trim().slice(0, 60) || "Thread";
const topLevel = (m) => m.thread === "" || m.thread === m.id;
