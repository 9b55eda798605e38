// Where a person writes: the text with its tools, what it answers or edits, an attached file, the command menu.

import { el, icon } from "./dom.js";

export class Composer {
  // pane says who writes and what the platform has; submit takes what is to be sent and reports whether it was.
  constructor(pane, submit) {
    this.pane = pane;
    this.submit = submit;
    this.drafts = new Map();
    this.mentions = new Map(); // by place, what the person chose
    this.place = null;
    this.mode = null; // {kind: "reply" or "edit", message}
    this.build();
  }

  build() {
    const tool = (name, label, click) => el("button", {
      type: "button", class: `tool tool-${name}`, title: label, "aria-label": label, on: { click },
    }, icon(name));
    this.text = el("textarea", {
      rows: "1", spellcheck: "false", autocomplete: "off",
      on: { input: () => this.typed(), keydown: (e) => this.key(e), focus: () => this.pane.activate(this) },
    });
    this.modeBar = el("div", { class: "mode", hidden: true });
    this.attach = tool("plus", "Attach a file (a stand-in of that name)", () => this.toggleFile());
    this.mention = tool("at", `Mention ${this.pane.bot}`, () => this.toggleMention());
    this.slash = tool("slash", "Commands", () => this.openMenu());
    this.send = el("button", { class: "send", type: "submit", title: "Send", "aria-label": "Send" }, icon("send"));
    this.fileName = el("input", { "aria-label": "Name of the attached file", value: "notes.txt", spellcheck: "false" });
    this.file = el("div", { class: "attached", hidden: true }, icon("file"), this.fileName,
      tool("close", "Remove the file", () => this.toggleFile()));
    this.menu = el("ul", { class: "menu", role: "listbox", "aria-label": "Commands", hidden: true });
    this.node = el("form", { class: "composer", on: { submit: (e) => { e.preventDefault(); this.go(); } } },
      this.menu, this.modeBar, this.file,
      el("div", { class: "box" }, this.text,
        el("div", { class: "tools-left" }, this.attach, this.mention, this.pane.commands.length > 0 && this.slash), this.send));
  }

  // show turns to another place and brings its draft back.
  show(chat, thread, hint) {
    const place = `${chat.id}/${thread}`;
    if (place === this.place) return;
    if (this.place !== null && this.mode?.kind !== "edit") this.drafts.set(this.place, this.text.value);
    this.place = place;
    this.chat = chat;
    this.thread = thread;
    this.setMode(null);
    this.file.hidden = true;
    this.text.placeholder = hint;
    this.text.setAttribute("aria-label", hint);
    this.fill(this.drafts.get(place) ?? "");
    this.drawMention();
  }

  // mentioning tells whether the next message names the bot: in a chat of many people it does unless the bot already
  // takes part in the thread.
  mentioning() {
    if (this.chat.kind === "dm") return false;
    const chosen = this.mentions.get(this.place);
    return chosen ?? !(this.thread !== "" && this.chat.replies(this.thread).some((m) => m.user === "bot"));
  }

  toggleMention() {
    this.mentions.set(this.place, !this.mentioning());
    this.drawMention();
    this.text.focus();
  }

  drawMention() {
    this.mention.hidden = this.chat.kind === "dm";
    const on = this.mentioning();
    this.mention.setAttribute("aria-pressed", String(on));
    this.mention.title = on ? `Mentions ${this.pane.bot}` : `Does not mention ${this.pane.bot}`;
    this.node.classList.toggle("mentioning", on);
  }

  fill(text) {
    this.text.value = text;
    this.typed();
  }

  typed() {
    this.text.style.height = "auto";
    if (this.text.scrollHeight > 0) this.text.style.height = `${Math.min(this.text.scrollHeight, 180)}px`;
    this.node.classList.toggle("empty", this.text.value.trim() === "");
    const word = /^\/(\S*)$/.exec(this.text.value);
    if (word && this.mode === null) this.openMenu(word[1]);
    else this.menu.hidden = true;
  }

  key(e) {
    if (e.isComposing) return;
    if (!this.menu.hidden && this.menuKey(e)) return;
    if (e.key === "Enter" && !e.shiftKey) {
      e.preventDefault();
      this.go();
    } else if (e.key === "Escape") {
      this.setMode(null);
    } else if (e.key === "ArrowUp" && this.text.value === "") {
      const own = this.chat.place(this.thread, this.pane.user).findLast((m) => m.user === this.pane.user && !m.note);
      if (own) this.edit(own);
      e.preventDefault();
    }
  }

  edit(message) {
    this.setMode({ kind: "edit", message });
    this.fill(this.pane.look.editable(message));
    this.text.focus();
  }

  reply(message) {
    this.setMode({ kind: "reply", message });
    this.text.focus();
  }

  setMode(mode) {
    if (this.mode?.kind === "edit") this.fill("");
    this.mode = mode;
    this.modeBar.hidden = mode === null;
    if (mode === null) return;
    const title = mode.kind === "edit" ? "Edit message" : `Reply to ${this.pane.nameOf(mode.message.user)}`;
    this.modeBar.replaceChildren(icon(mode.kind), el("div", {}, el("strong", { text: title }),
      el("span", { text: mode.message.text.slice(0, 100) })),
    el("button", { type: "button", "aria-label": "Cancel", on: { click: () => this.setMode(null) } }, icon("close")));
  }

  toggleFile() {
    this.file.hidden = !this.file.hidden;
    (this.file.hidden ? this.text : this.fileName).focus();
  }

  async go() {
    const text = this.text.value;
    const file = this.file.hidden ? "" : this.fileName.value.trim();
    if (text.trim() === "" && file === "") return;
    const { mode, chat, thread, place } = this;
    const mention = this.mentioning();
    this.text.value = "";
    this.mode = null;
    this.modeBar.hidden = true;
    this.file.hidden = true;
    this.typed();
    const sent = await this.submit({ mode, chat, thread, text, file, mention });
    if (sent || this.place !== place || this.text.value !== "") return;
    this.setMode(mode);
    this.fill(text);
    this.file.hidden = file === "";
  }

  openMenu(word = "") {
    const found = this.pane.commands.filter((c) => c.name.startsWith(word.toLowerCase()));
    this.menu.hidden = found.length === 0;
    this.menu.replaceChildren(...found.map((c, i) => el("li", {
      role: "option", id: `${this.pane.platform}-command-${c.name}`, "aria-selected": String(i === 0),
      on: { mousedown: (e) => { e.preventDefault(); this.choose(c); } },
    }, el("strong", { text: `/${c.name}` }), c.argument !== "" && el("em", { text: c.argument }), el("span", { text: c.description }))));
    this.text.focus();
  }

  // choose uses a command at once, or waits for its argument.
  choose(command) {
    this.menu.hidden = true;
    this.fill(`/${command.name} `);
    if (command.argument === "") this.go();
  }

  menuKey(e) {
    const options = [...this.menu.children];
    const at = options.findIndex((o) => o.ariaSelected === "true");
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      const next = (at + (e.key === "ArrowDown" ? 1 : options.length - 1)) % options.length;
      options.forEach((o, i) => o.setAttribute("aria-selected", String(i === next)));
      options[next].scrollIntoView({ block: "nearest" });
    } else if (e.key === "Enter" || e.key === "Tab") {
      const name = options[at].id.split("-command-")[1];
      this.choose(this.pane.commands.find((c) => c.name === name));
    } else if (e.key === "Escape") {
      this.menu.hidden = true;
    } else {
      return false;
    }
    e.preventDefault();
    return true;
  }
}
