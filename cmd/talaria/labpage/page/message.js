// One message in a list. The element stays the same as long as the message exists; each part of it is rebuilt only when
// that part has changed, so that a button does not vanish under the mouse while the text above it changes.

import { avatar, el, hue, icon, timeOf } from "./dom.js";
import { sanitized } from "./sanitize.js";

export class MessageElement {
  constructor(id) {
    this.parts = new Map();
    this.node = el("li", { class: "message", tabindex: "-1", data: { id } });
    this.column = el("div", { class: "column" });
    this.bubble = el("div", { class: "bubble" });
  }

  // draw shows a message. The context says how it is seen: pane, chat, thread (of the list), message, first (of a
  // group by one author), and act, which takes what the person wants done with the message.
  draw(context) {
    const { message: m, pane, first } = context;
    const own = m.user === pane.user;
    const bot = m.user === "bot";
    this.node.className = ["message", own ? "own" : "other", bot ? "by-bot" : "", first ? "first" : "grouped"].join(" ");
    const name = pane.nameOf(m.user);
    const quoted = m.replyTo === "" ? null : quote(context);
    this.part("avatar", this.node, `${m.user}`, () => avatar(m.user, name, bot));
    this.part("column", this.node, "", () => this.column);
    this.part("above", this.column, JSON.stringify(quoted), () => quoted && quoteElement(quoted, context, "reference"));
    this.part("bubble", this.column, "", () => this.bubble);
    this.part("by", this.bubble, `${name}${m.at}`, () => byline(m, name, bot));
    this.part("quote", this.bubble, JSON.stringify(quoted), () => quoted && quoteElement(quoted, context, "quote"));
    this.part("body", this.bubble, m.html, () => body(m));
    this.part("file", this.bubble, m.file, () => m.file !== "" && fileElement(m.file));
    this.part("meta", this.bubble, `${m.edited}${m.silent}${m.at}`, () => meta(m));
    this.part("wire", this.column, m.wire, () => bot && this.wire(m));
    this.part("buttons", this.column, JSON.stringify(m.buttons), () => m.buttons.length > 0 && buttons(context));
    this.part("reactions", this.column, m.reactions.join(), () => m.reactions.length > 0 && reactions(m, pane.look));
    const replies = context.thread === "" ? pane.repliesTo(context.chat, m) : null;
    this.part("replies", this.column, JSON.stringify(replies), () => replies && repliesElement(replies, context));
    this.part("tools", this.node, `${own}${bot}${context.thread}`, () => tools(context, own, bot, this.node));
    return this.node;
  }

  // part builds a part anew if its signature has changed, at the place where it was first put.
  part(name, parent, signature, build) {
    const last = this.parts.get(name);
    if (last?.signature === signature) return;
    const node = build() || document.createComment(name);
    if (last) last.node.replaceWith(node);
    else parent.append(node);
    this.parts.set(name, { signature, node });
  }

  wire(m) {
    return el("pre", { class: "wire", "aria-label": "as sent", text: m.wire });
  }
}

function byline(m, name, bot) {
  return el("div", { class: "by" },
    el("span", { class: `name name-${hue(m.user)}`, text: name }),
    bot && el("span", { class: "app", text: "APP" }),
    el("time", { datetime: m.at.toISOString(), text: timeOf(m.at) }));
}

function body(m) {
  const node = el("div", { class: "body" });
  node.append(m.html === "" ? m.text : sanitized(m.html));
  for (const spoiler of node.querySelectorAll(".spoiler")) {
    const reveal = () => spoiler.classList.add("revealed");
    spoiler.tabIndex = 0;
    spoiler.role = "button";
    spoiler.ariaLabel = "spoiler";
    spoiler.addEventListener("click", reveal);
    spoiler.addEventListener("keydown", (e) => e.key === "Enter" && reveal());
  }
  return node;
}

function meta(m) {
  return el("div", { class: "meta" },
    m.silent && el("span", { class: "silent", title: "sent without a sound", text: "silent" }),
    m.edited && el("span", { class: "edited", text: "edited" }),
    el("time", { datetime: m.at.toISOString(), text: timeOf(m.at) }));
}

function fileElement(name) {
  return el("div", { class: "file" }, icon("file"), el("span", { text: name }));
}

function reactions(m, look) {
  return el("ul", { class: "reactions", "aria-label": "reactions" }, ...m.reactions.map((r) => el("li", { text: look.reactions?.[r] ?? r })));
}

function quote({ chat, pane, message }) {
  const target = chat.messages.get(message.replyTo);
  if (!target) return { name: "", text: "Message deleted", id: "" };
  return { name: pane.nameOf(target.user), user: target.user, text: target.text.slice(0, 120) || target.file, id: target.id };
}

function quoteElement(q, { act }, kind) {
  return el("button", { class: `${kind} quote-${hue(q.user ?? "")}`, type: "button", on: { click: () => act("jump", q.id) } },
    el("strong", { text: q.name }), " ", el("span", { text: q.text }));
}

function buttons({ message, act }) {
  const rows = message.buttons.map((row) => el("div", { class: "row" }, ...row.map((b) => el("button", {
    type: "button",
    text: b.label,
    data: { press: b.data },
    on: { click: (e) => act("press", { node: e.currentTarget, data: b.data }) },
  }))));
  return el("div", { class: "buttons" }, ...rows);
}

function repliesElement({ count, text }, { act, message }) {
  return el("button", { class: "replies", type: "button", on: { click: () => act("thread", message) } },
    el("strong", { text: `${count} ${count === 1 ? "reply" : "replies"}` }), el("span", { text }));
}

// tools are the actions that show on hover or while the message has the focus.
function tools({ message, pane, chat, thread, act }, own, bot, node) {
  const tool = (name, label, action) => el("button", {
    type: "button", title: label, "aria-label": label, data: { tool: name }, on: { click: action },
  }, icon(name));
  return el("div", { class: "tools" },
    pane.look.replies && tool("reply", "Reply", () => act("reply", message)),
    pane.canThread(chat, thread) && tool("thread", pane.look.threadLabel, () => act("thread", message)),
    own && tool("edit", "Edit", () => act("edit", message)),
    own && tool("trash", "Delete", () => act("delete", message)),
    bot && tool("code", "As sent", () => {
      if (node.classList.toggle("show-wire")) node.querySelector(".wire").scrollIntoView({ block: "nearest" });
    }));
}
