// The messages of one place, oldest first. New ones are scrolled to only if the end was in sight before; otherwise a
// button tells that there is more below.

import { dayOf, el, icon, timeOf } from "./dom.js";
import { MessageElement } from "./message.js";

const near = 60; // pixels from the end that still count as being there
const pause = 5 * 60 * 1000; // after this the same author is named again

export class MessageList {
  // hint shows as long as there are no messages.
  constructor(label, hint) {
    this.shown = new Map(); // MessageElement or plain element, by key
    this.list = el("ol", { class: "messages" });
    this.scroller = el("div", { class: "scroller", role: "log", "aria-live": "polite", "aria-label": label, tabindex: "0" },
      this.list, el("p", { class: "nothing" }, "No messages here yet", hint !== "" && el("strong", { text: hint })));
    this.down = el("button", { class: "down", type: "button", "aria-label": "To the latest message", hidden: true },
      icon("down"), el("span", { class: "badge" }));
    this.node = el("div", { class: "list" }, this.scroller, this.down);
    this.below = 0;
    this.down.addEventListener("click", () => this.toEnd());
    this.scroller.addEventListener("scroll", () => this.atEnd() && this.caughtUp());
    this.scroller.addEventListener("keydown", (e) => this.walk(e));
    // A frame that shrinks (the composer grows, the window changes) must not hide the end.
    this.sticky = true;
    new ResizeObserver(() => this.sticky && this.toEnd()).observe(this.scroller);
  }

  atEnd() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.sticky = scrollHeight - scrollTop - clientHeight < near;
    return this.sticky;
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.sticky = true;
    this.caughtUp();
  }

  caughtUp() {
    this.below = 0;
    this.down.hidden = true;
  }

  clear() {
    this.shown.clear();
    this.list.replaceChildren();
    this.caughtUp();
    this.sticky = true;
  }

  // update shows items: messages and notes. context is handed to each message.
  update(items, context) {
    const stay = this.sticky;
    const wanted = new Set();
    let added = 0;
    let last = null;
    let cursor = this.list.firstChild;
    const put = (node) => {
      if (node === cursor) cursor = cursor.nextSibling;
      else this.list.insertBefore(node, cursor);
    };
    for (const item of items) {
      const day = item.at.toDateString();
      if (last?.at.toDateString() !== day) {
        wanted.add(day);
        put(this.keep(day, () => el("li", { class: "day", role: "separator" }, el("span", { text: dayOf(item.at) }))));
      }
      wanted.add(item.id);
      if (item.note) {
        put(this.keep(item.id, () => noteElement(item, context)));
        last = { at: item.at };
        continue;
      }
      let element = this.shown.get(item.id);
      if (!element) {
        element = new MessageElement(item.id);
        this.shown.set(item.id, element);
        if (item.user !== context.pane.user) added++;
      }
      const first = last?.user !== item.user || item.at - last.at > pause || item.replyTo !== "";
      put(element.draw({ ...context, message: item, first }));
      last = item;
    }
    for (const [key, element] of this.shown) {
      if (wanted.has(key)) continue;
      (element.node ?? element).remove();
      this.shown.delete(key);
    }
    if (stay) this.toEnd();
    else if (added > 0) this.more(added);
  }

  keep(key, build) {
    if (!this.shown.has(key)) this.shown.set(key, build());
    return this.shown.get(key);
  }

  more(count) {
    this.below += count;
    this.down.querySelector(".badge").textContent = String(this.below);
    this.down.hidden = false;
  }

  // jump shows a message and lights it up for a moment.
  jump(id) {
    const node = this.shown.get(id)?.node;
    if (!node) return;
    node.scrollIntoView({ block: "center" });
    node.focus({ preventScroll: true });
    node.classList.add("lit");
    node.addEventListener("animationend", () => node.classList.remove("lit"), { once: true });
  }

  // walk moves the focus from message to message with the arrow keys; their actions are then a Tab away.
  walk(e) {
    if (e.key !== "ArrowUp" && e.key !== "ArrowDown") return;
    const all = [...this.list.querySelectorAll(".message")];
    const at = all.indexOf(document.activeElement.closest?.(".message"));
    const next = at < 0 ? all.at(-1) : all[at + (e.key === "ArrowUp" ? -1 : 1)];
    if (!next) return;
    e.preventDefault();
    next.focus();
  }
}

// noteElement shows what the platform tells one person alone.
function noteElement(note, { pane, act }) {
  return el("li", { class: "note" },
    el("span", { class: "note-mark", text: pane.look.noteMark }),
    el("div", { class: "body", text: note.text }),
    el("span", { class: "note-time", text: timeOf(note.at) }),
    el("button", { type: "button", class: "dismiss", text: "Dismiss", on: { click: () => act("dismiss", note) } }));
}
