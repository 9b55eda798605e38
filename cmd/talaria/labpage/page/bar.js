// The bar at the bottom: things to try, and what can go wrong next. Both concern the pane that was used last.

import { el, icon } from "./dom.js";

const faults = [
  { name: "429", label: "429", title: "the platform says: too many requests, wait 3 s" },
  { name: "500", label: "500", title: "the platform answers with an internal error" },
  { name: "lost", label: "lost answer", title: "the platform does it, but the answer never arrives" },
  { name: "cut", label: "cut", title: "the connection breaks before anything is done" },
];
const targetNames = { message: "next message", edit: "next edit", anything: "next call" };

export class Bar {
  constructor(node, suggestions) {
    this.targets = el("select", { "aria-label": "What goes wrong" });
    this.where = el("span", { class: "where" });
    const chips = suggestions.map((text) => el("button", {
      type: "button", class: "chip", text, on: { click: () => this.fill(text) },
    }));
    const knobs = faults.map((f) => el("button", {
      type: "button", class: "knob", text: f.label, title: f.title, data: { fault: f.name }, on: { click: () => this.add(f) },
    }));
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Things to try" }, ...chips);
    this.more = el("button", { type: "button", class: "more", title: "More to try", "aria-label": "More to try", on: { click: () => this.turn() } },
      icon("down"));
    new ResizeObserver(() => this.showMore()).observe(this.chips);
    this.chips.addEventListener("scroll", () => this.showMore());
    node.replaceChildren(
      this.where,
      el("div", { class: "shelf" }, this.chips, this.more),
      el("div", { class: "knobs", role: "group", "aria-label": "Faults" }, el("span", { text: "Break the" }), this.targets, ...knobs,
        el("button", { type: "button", class: "knob calm", text: "clear", title: "no faults any more", on: { click: () => this.calm() } })));
  }

  // aim turns the bar to a pane.
  aim(pane) {
    if (this.pane === pane) return;
    this.pane = pane;
    this.where.textContent = pane.title;
    this.where.dataset.platform = pane.platform;
    this.targets.replaceChildren(...pane.targets.map((t) => el("option", { value: t, text: targetNames[t] ?? t })));
  }

  // showMore offers the way to the suggestions that do not fit, and back.
  showMore() {
    const { scrollLeft, scrollWidth, clientWidth } = this.chips;
    this.more.hidden = scrollWidth <= clientWidth;
    this.atEnd = scrollLeft + clientWidth >= scrollWidth - 2;
    this.more.classList.toggle("back", this.atEnd);
    this.chips.classList.toggle("cut", !this.atEnd);
  }

  turn() {
    this.chips.scrollTo({ left: this.atEnd ? 0 : this.chips.scrollLeft + this.chips.clientWidth * 0.8, behavior: "smooth" });
  }

  fill(text) {
    this.pane.active.fill(text);
    this.pane.active.text.focus();
  }

  async add(fault) {
    const target = this.targets.value;
    if (await this.pane.ask("fault", { fault: fault.name, target })) {
      this.pane.toast(`${targetNames[target] ?? target}: ${fault.title}`);
    }
  }

  async calm() {
    if (await this.pane.ask("calm", {})) this.pane.toast("no faults any more");
  }
}
