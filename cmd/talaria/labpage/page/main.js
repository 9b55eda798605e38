// The lab page: loads the description, builds a pane for each platform and follows the changes.

import { describe, follow } from "./api.js";
import { Bar } from "./bar.js";
import { el, icon } from "./dom.js";
import { Pane } from "./pane.js";

const tabs = new Map();
let panes = [];
let bar;

// activate makes a pane the one that the bar concerns and that shows where there is room for one only.
function activate(pane) {
  for (const p of panes) {
    p.node.classList.toggle("active", p === pane);
    tabs.get(p).setAttribute("aria-selected", String(p === pane));
    tabs.get(p).tabIndex = p === pane ? 0 : -1;
  }
  bar.aim(pane);
  pane.read();
}

function makeTab(pane, index) {
  const tab = el("button", {
    type: "button", role: "tab", "aria-controls": pane.node.id, data: { platform: pane.platform },
    on: { click: () => activate(pane), keydown: (e) => moveTab(e, index) },
  }, icon(pane.platform), pane.title, el("span", { class: "badge", hidden: true }));
  tabs.set(pane, tab);
  return tab;
}

function moveTab(e, index) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (!step) return;
  const next = panes[(index + step + panes.length) % panes.length];
  activate(next);
  tabs.get(next).focus();
}

function showUnread(pane) {
  const badge = tabs.get(pane)?.querySelector(".badge");
  if (!badge) return;
  const count = pane.unread();
  badge.hidden = count === 0;
  badge.textContent = String(count);
}

// showLink tells how it stands with the lab. What the panes knew of the moment is no longer true without it.
function showLink(state) {
  const link = document.querySelector(".link");
  link.dataset.state = state;
  link.textContent = { connected: "connected", reconnecting: "connecting again…", silent: "no answer", ended: "ended" }[state];
  showBanner({
    silent: "The lab does not answer: it seems to have ended. Start it again with “talaria lab” and open the address that it prints.",
    ended: "This lab has ended. Start it again with “talaria lab” and open the address that it prints.",
  }[state]);
  if (state !== "connected") for (const pane of panes) pane.disconnected();
}

function showBanner(text = "") {
  const banner = document.querySelector(".banner");
  banner.textContent = text;
  banner.hidden = text === "";
}

async function start() {
  history.replaceState(null, "", "/"); // the token stays in the cookie, not in the address
  const lab = await describe();
  bar = new Bar(document.querySelector(".bar"), lab.suggestions);
  panes = lab.panes.map((p) => new Pane(p, lab.hint, activate, showUnread));
  document.querySelector(".tabs").replaceChildren(...panes.map(makeTab));
  document.querySelector(".panes").replaceChildren(...panes.map((p) => p.node));
  if (panes.length > 0) activate(panes[0]);
  document.addEventListener("keydown", (e) => {
    const pane = e.altKey && panes[Number(e.key) - 1];
    if (!pane) return;
    e.preventDefault();
    activate(pane);
    pane.active.text.focus();
  });
  follow((diff) => panes.find((p) => p.platform === diff.platform)?.apply(diff), showLink);
}

start().catch((err) => {
  showLink("ended");
  showBanner(err.message);
});
