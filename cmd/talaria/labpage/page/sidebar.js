// The list of a person's chats, with the threads and topics below them.

import { avatar, el, icon } from "./dom.js";

export class Sidebar {
  constructor(pane) {
    this.pane = pane;
    this.list = el("ul", { class: "chats" });
    this.node = el("nav", { class: "side", "aria-label": `Chats on ${pane.title}` },
      el("p", { class: "workspace", text: pane.look.threads === "" ? "Chats" : `${pane.bot} lab` }), this.list);
  }

  update() {
    const { pane } = this;
    const all = pane.visibleChats();
    const groups = pane.look.mixedList ? [["", all]] : [
      ["Channels", all.filter((c) => c.kind !== "dm")],
      ["Direct messages", all.filter((c) => c.kind === "dm")],
    ];
    const rows = [];
    for (const [name, chats] of groups) {
      if (name !== "" && chats.length > 0) rows.push(el("li", { class: "group", text: name }));
      for (const chat of chats) {
        rows.push(el("li", {}, this.entry(chat, "", chat.title)));
        if (pane.look.threads === "panel") continue;
        for (const t of chat.allThreads()) rows.push(el("li", { class: "sub" }, this.entry(chat, t.id, t.title)));
      }
    }
    const focused = document.activeElement?.dataset?.place;
    this.list.replaceChildren(...rows);
    if (focused) this.list.querySelector(`[data-place="${CSS.escape(focused)}"]`)?.focus();
  }

  entry(chat, thread, title) {
    const { pane } = this;
    const here = pane.chat === chat && (pane.thread === thread || pane.look.threads === "panel");
    const unread = pane.look.threads === "panel" ? chat.unreadTotal() : chat.unread.get(thread) ?? 0;
    const last = thread === "" ? chat.last() : null;
    return el("button", {
      type: "button", class: "chat", title, "aria-current": here ? "true" : null, data: { place: `${chat.id}/${thread}` },
      on: { click: () => pane.open(chat, thread) },
    },
    this.symbol(chat, thread),
    el("span", { class: "label" }, el("span", { class: "title", text: title }),
      el("span", { class: "preview", text: last ? `${last.user === pane.user ? "You: " : ""}${last.text.slice(0, 60)}` : "" })),
    unread > 0 && el("span", { class: "badge", "aria-label": `${unread} unread`, text: String(unread) }));
  }

  symbol(chat, thread) {
    if (thread !== "") return el("span", { class: "symbol" }, icon("thread"));
    if (chat.kind === "dm") return avatar("bot", this.pane.bot, true);
    if (this.pane.look.threads === "") return avatar(chat.id, chat.title, false);
    return el("span", { class: "symbol" }, icon("hash"));
  }
}
