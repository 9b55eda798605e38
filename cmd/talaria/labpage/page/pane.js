// One platform: who writes, the chats, the place that is open and, on Slack, the thread beside it.

import { post } from "./api.js";
import { Chat } from "./chat.js";
import { el, icon, timeOf } from "./dom.js";
import { looks } from "./looks.js";
import { PlaceView } from "./placeview.js";
import { Sidebar } from "./sidebar.js";

export class Pane {
  // hint is what to try first; onActive is told when the person turns to this pane, onChange when its unread messages may have changed.
  constructor(description, hint, onActive, onChange) {
    const { platform, title, bot, users, commands, targets } = description;
    Object.assign(this, { platform, title, bot, users, commands, targets, onActive, onChange });
    this.firstHint = hint;
    this.look = looks[platform] ?? looks.telegram;
    this.chats = description.chats.map((c) => new Chat(c));
    this.user = users[0]?.id ?? "";
    this.thread = "";
    this.panelThread = "";
    this.lastSaid = "";
    this.build();
    this.pick(this.user);
  }

  build() {
    this.sidebar = new Sidebar(this);
    this.main = new PlaceView(this);
    this.panel = new PlaceView(this, () => this.closePanel());
    this.panel.node.classList.add("thread-panel");
    this.panel.node.hidden = true;
    this.active = this.main.composer;
    this.picker = el("select", { "aria-label": `Write on ${this.title} as`, on: { change: (e) => this.pick(e.target.value) } },
      ...this.users.map((u) => el("option", { value: u.id, text: u.stranger ? `${u.name} (stranger)` : u.name })));
    this.mark = el("span", { class: "stranger", text: "not on the allowlist" });
    this.toasts = el("div", { class: "toasts", role: "status" });
    this.node = el("section", { class: `pane ${this.platform}`, id: `pane-${this.platform}`, "aria-label": this.title },
      el("header", { class: "persona" }, el("h2", {}, icon(this.platform), this.title), this.mark,
        el("label", {}, el("span", { text: "writing as" }), this.picker)),
      el("div", { class: "frame" }, this.sidebar.node, this.main.node, this.panel.node, this.toasts));
    this.node.addEventListener("pointerdown", () => this.onActive(this));
  }

  // activate remembers the composer that was used last; suggestions go there.
  activate(composer) {
    this.active = composer;
    this.onActive(this);
  }

  visibleChats() {
    return this.chats.filter((c) => c.isFor(this.user));
  }

  nameOf(id) {
    return id === "bot" ? this.bot : this.users.find((u) => u.id === id)?.name ?? id;
  }

  // pick changes who writes, and with that which chats there are.
  pick(user) {
    this.user = user;
    this.mark.hidden = !this.users.find((u) => u.id === user)?.stranger;
    const chats = this.visibleChats();
    this.node.classList.toggle("nowhere", chats.length === 0);
    if (chats.length === 0) return;
    const keep = chats.includes(this.chat);
    this.open(keep ? this.chat : chats[0], keep ? this.thread : "");
  }

  open(chat, thread) {
    if (this.chat !== chat) this.closePanel();
    this.chat = chat;
    this.thread = thread;
    this.read();
    this.main.show(chat, thread);
    if (!this.panel.node.hidden) this.panel.show(chat, this.panelThread);
    this.sidebar.update();
  }

  openThread(thread) {
    if (this.look.threads === "place") return this.open(this.chat, thread);
    this.panelThread = thread;
    this.panel.node.hidden = false;
    this.node.classList.add("with-panel");
    this.read();
    this.panel.show(this.chat, thread);
    this.active = this.panel.composer;
  }

  closePanel() {
    this.panel.node.hidden = true;
    this.panelThread = "";
    this.node.classList.remove("with-panel");
    this.active = this.main.composer;
  }

  isOpen(chat, thread) {
    if (chat !== this.chat || this.node.offsetParent === null) return false;
    return thread === this.thread || (thread === this.panelThread && !this.panel.node.hidden);
  }

  read() {
    this.chat?.unread.delete(this.thread);
    if (this.panelThread !== "") this.chat?.unread.delete(this.panelThread);
    this.onChange(this);
  }

  unread() {
    return this.visibleChats().reduce((sum, c) => sum + c.unreadTotal(), 0);
  }

  // apply takes a change from the lab over.
  apply(diff) {
    const chat = this.chats.find((c) => c.id === diff.chat);
    if (!chat) return;
    for (const m of chat.apply(diff)) {
      const thread = m.thread === m.id ? "" : m.thread;
      if (m.user === "bot" && this.look.threads === "panel" && chat === this.chat && thread !== "" && thread === this.lastSaid) {
        this.lastSaid = "";
        this.openThread(thread);
      }
      if (m.user === "bot" && !this.isOpen(chat, thread)) chat.unread.set(thread, (chat.unread.get(thread) ?? 0) + 1);
    }
    if (chat === this.chat) this.redraw();
    this.sidebar.update();
    this.onChange(this);
  }

  disconnected() {
    for (const chat of this.chats) chat.typing.clear();
    if (this.chat) this.redraw();
  }

  redraw() {
    this.main.update();
    if (!this.panel.node.hidden) this.panel.update();
  }

  // What the platform calls its places.

  heading(chat, thread) {
    if (this.look.threads === "panel" && thread !== "") return { title: ["Thread"], subtitle: chat.kind === "dm" ? chat.title : `#${chat.title}` };
    const sign = chat.kind !== "dm" && this.look.threads !== "" ? [icon("hash")] : [];
    if (thread !== "") return { title: [...sign, chat.title, el("span", { class: "step", text: "›" }), chat.threadTitle(thread)], subtitle: "" };
    const people = chat.members.length > 0 ? `${chat.members.length + 1} members` : "";
    return { title: [...sign, chat.title], subtitle: chat.kind === "dm" ? "bot" : people };
  }

  hint(chat, thread) {
    if (this.platform === "telegram") return "Message";
    if (thread !== "") return this.look.threads === "panel" ? "Reply…" : `Message ${chat.threadTitle(thread)}`;
    return chat.kind === "dm" ? `Message ${this.platform === "discord" ? "@" : ""}${chat.title}` : `Message #${chat.title}`;
  }

  canThread(chat, thread) {
    return thread === "" && (this.look.threads === "panel" || (this.look.threads === "place" && chat.kind !== "dm"));
  }

  // repliesTo tells what a message shows about the thread that grew from it.
  repliesTo(chat, m) {
    if (this.look.threads === "") return null;
    const replies = chat.replies(m.id);
    if (replies.length === 0) return null;
    const text = this.look.threads === "panel" ? `Last reply ${timeOf(replies.at(-1).at)}` : chat.threadTitle(m.id);
    return { count: replies.length, text };
  }

  // What a person does.

  async submit(view, { mode, chat, thread, text, file, mention }) {
    const at = { chat: chat.id, thread };
    if (mode?.kind === "edit") return this.ask("edit", { ...at, message: mode.message.id, text });
    const command = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim());
    if (this.look.commands === "native" && command && file === "" && this.commands.some((c) => c.name === command[1])) {
      const answer = await this.ask("invoke", { ...at, command: command[1], argument: (command[2] ?? "").trim() });
      return this.showNotes(answer, chat, thread, "The bot did not react to the command in time.");
    }
    view.list.sticky = true;
    const said = await this.ask("say", { ...at, text, mention, file, replyTo: mode?.message.id ?? "" });
    if (said && thread === "") this.lastSaid = said.id;
    return said;
  }

  async act(view, what, on) {
    const { chat, thread } = view;
    if (what === "jump") view.list.jump(on);
    else if (what === "reply") view.composer.reply(on);
    else if (what === "edit") view.composer.edit(on);
    else if (what === "thread") this.openThread(on.id);
    else if (what === "delete") await this.ask("delete", { chat: chat.id, message: on.id });
    else if (what === "dismiss") {
      chat.notes = chat.notes.filter((n) => n !== on);
      this.redraw();
    } else if (what === "press") await this.press(chat, thread, on);
  }

  async press(chat, thread, { node, data }) {
    node.setAttribute("aria-busy", "true");
    const message = node.closest(".message").dataset.id;
    const answer = await this.ask("press", { chat: chat.id, message, data });
    node.removeAttribute("aria-busy");
    this.showNotes(answer, chat, thread, "The bot did not react to the button in time.");
  }

  // showNotes shows what came back for this person alone.
  showNotes(answer, chat, thread, nothing) {
    if (!answer) return false;
    if (!answer.answered) this.toast(nothing, true);
    for (const text of answer.notes ?? []) {
      if (this.look.toast) this.toast(text);
      else chat.notes.push({ note: true, id: `note-${chat.notes.length}-${Date.now()}`, user: this.user, thread, text, at: new Date() });
    }
    this.redraw();
    return true;
  }

  // ask sends the lab an action and shows what went wrong.
  async ask(endpoint, action) {
    try {
      return await post(endpoint, { platform: this.platform, user: this.user, ...action });
    } catch (err) {
      this.toast(err.message, true);
      return null;
    }
  }

  toast(text, bad = false) {
    const node = el("p", { class: bad ? "toast bad" : "toast", text });
    node.addEventListener("animationend", () => node.remove());
    this.toasts.append(node);
  }
}
