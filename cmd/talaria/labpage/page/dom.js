// Building elements. Nothing here or elsewhere on the page turns text into HTML.

// el makes an element. Properties: class, text, on (event listeners), data (data attributes); any other name is an
// attribute: true sets it empty, false and null leave it out.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else if (name === "data") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

// Outlines on a 24 by 24 grid, drawn with the text's colour.
const outlines = {
  at: "M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0zm0 0v1.5a2.5 2.5 0 0 0 5 0V12a9 9 0 1 0-3.5 7.1",
  close: "M6 6l12 12M18 6L6 18",
  code: "M9 7l-5 5 5 5M15 7l5 5-5 5",
  down: "M6 10l6 6 6-6",
  edit: "M4 20l1-4.5L16 4.5a2 2 0 0 1 3 0l.5.5a2 2 0 0 1 0 3L8.5 19 4 20zM14 6.5l3.5 3.5",
  file: "M7 3h7l5 5v13H7zM14 3v5h5",
  hash: "M9.5 4L8 20M16 4l-1.5 16M5 9h15M4 15h15",
  lock: "M12 8v5M12 16.5v.1M12 3l9.5 17h-19z",
  message: "M4 5h16v11H10l-5 4v-4H4z",
  people: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-4 2.5-6 6.5-6s6.5 2 6.5 6M16 4.5a3.5 3.5 0 0 1 0 6M18 14.5c2.3.7 3.5 2.5 3.5 5.5",
  plus: "M12 5v14M5 12h14",
  reply: "M10 6L4 12l6 6M4 12h9c4.5 0 7 2 7 7",
  send: "M4 12L3 4l18 8-18 8 1-8zm0 0h9",
  slash: "M15 5L9 19",
  thread: "M4 5h16v9H9l-4 4v-4H4zM8 9.5h8",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.5 11v5.5M13.5 11v5.5",
  telegram: "M3 11.5L21 4l-3 16-6-4.5L9 19l-.5-5.5L18 6.5l-11 6z",
  slack: "M10 3v18M14.5 3v18M3 9.5h18M3 14.5h18",
  discord: "M8 6c2.5-.8 5.5-.8 8 0 2.3 3 3.5 6.5 3.5 10.5-1.5 1.2-2.7 1.7-4 2l-1-2c-1.6.4-3.4.4-5 0l-1 2c-1.3-.3-2.5-.8-4-2C4.5 12.5 5.7 9 8 6zM9.5 12.5v.6M14.5 12.5v.6",
};

// icon draws one of the outlines. It is decoration: what it stands for is said by the label of what holds it.
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", outlines[name]);
  svg.append(path);
  return svg;
}

// avatar shows a name's initials in a colour that goes with the id.
export function avatar(id, name, bot) {
  if (bot) {
    return el("span", { class: "avatar of-bot", "aria-hidden": "true" }, el("img", { src: "/icon.svg", alt: "" }));
  }
  const initials = name.split(/\s+/).map((w) => [...w][0] ?? "").join("").slice(0, 2).toUpperCase();
  return el("span", { class: `avatar hue-${hue(id)}`, "aria-hidden": "true", text: initials });
}

// hue gives every id one of seven colours.
export function hue(id) {
  let sum = 0;
  for (const c of id) sum = (sum * 31 + c.codePointAt(0)) % 9973;
  return sum % 7;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const calendar = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });

export const timeOf = (at) => clock.format(at);
export const dayOf = (at) => (at.toDateString() === new Date().toDateString() ? "Today" : calendar.format(at));
