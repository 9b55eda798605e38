// A place as it shows: its head, its messages, who types, and where to write.

import { el, icon } from "./dom.js";
import { Composer } from "./composer.js";
import { MessageList } from "./messagelist.js";

export class PlaceView {
  // onClose makes it a panel that can be closed.
  constructor(pane, onClose) {
    this.pane = pane;
    this.list = new MessageList(`Messages on ${pane.title}`, pane.firstHint);
    this.composer = new Composer(pane, (what) => pane.submit(this, what));
    this.title = el("h3", {});
    this.subtitle = el("p", { class: "subtitle" });
    this.typing = el("p", { class: "typing", "aria-live": "polite" });
    this.head = el("header", { class: "head" }, el("div", { class: "titles" }, this.title, this.subtitle),
      onClose && el("button", { type: "button", class: "close", "aria-label": "Close the thread", on: { click: onClose } }, icon("close")));
    this.node = el("div", { class: "place" }, this.head, this.list.node, this.typing, this.composer.node);
  }

  show(chat, thread) {
    if (this.chat !== chat || this.thread !== thread || this.user !== this.pane.user) this.list.clear();
    this.chat = chat;
    this.thread = thread;
    this.user = this.pane.user;
    this.node.dataset.kind = chat.kind;
    this.composer.show(chat, thread, this.pane.hint(chat, thread));
    this.update();
  }

  update() {
    const { chat, thread, pane } = this;
    const typing = chat.typing.has(thread);
    const { title, subtitle } = pane.heading(chat, thread);
    this.title.replaceChildren(...title);
    this.subtitle.textContent = subtitle;
    this.node.classList.toggle("is-typing", typing);
    this.typing.replaceChildren(...(typing
      ? [el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i")), el("strong", { text: pane.bot }), " is typing…"]
      : []));
    this.list.update(chat.place(thread, pane.user), { pane, chat, thread, act: (what, on) => pane.act(this, what, on) });
    this.composer.drawMention();
  }
}
