// The simulators draw a message as HTML. It is parsed into a document that runs and loads nothing, and built anew from
// the elements, classes and addresses listed here; of everything else only the text stays.

const elements = new Set([
  "A", "B", "BLOCKQUOTE", "BR", "CODE", "DEL", "DIV", "EM", "H1", "H2", "H3", "H4", "H5", "H6", "HR", "I", "INS", "LI",
  "OL", "P", "PRE", "S", "SMALL", "SPAN", "STRIKE", "STRONG", "SUB", "SUP", "TABLE", "TBODY", "TD", "TH", "THEAD", "TR",
  "U", "UL",
]);
const dropped = new Set(["SCRIPT", "STYLE", "TEMPLATE", "IFRAME", "OBJECT", "NOSCRIPT", "SVG", "MATH"]);
const classes = /^(spoiler|mention|channel|subtext|timestamp|emoji|language-[\w+#-]{1,30})$/;

// sanitized returns a fragment with the safe part of a message's HTML.
export function sanitized(html) {
  const fragment = document.createDocumentFragment();
  copyChildren(new DOMParser().parseFromString(html, "text/html").body, fragment, 0);
  return fragment;
}

function copyChildren(from, to, depth) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      to.append(node.data);
    } else if (node.nodeType === Node.ELEMENT_NODE && !dropped.has(node.nodeName.toUpperCase())) {
      const copy = depth < 60 && elements.has(node.nodeName) ? copyElement(node) : document.createDocumentFragment();
      copyChildren(node, copy, depth + 1);
      to.append(copy);
    }
  }
}

function copyElement(node) {
  const copy = document.createElement(node.nodeName);
  const kept = [...node.classList].filter((c) => classes.test(c));
  if (kept.length > 0) copy.className = kept.join(" ");
  if (node.nodeName === "A") {
    const address = safeAddress(node.getAttribute("href"));
    if (address !== null) copy.href = address;
    copy.target = "_blank";
    copy.rel = "noopener noreferrer";
  }
  if (node.nodeName === "OL" && /^\d{1,6}$/.test(node.getAttribute("start") ?? "")) copy.start = node.getAttribute("start");
  return copy;
}

function safeAddress(href) {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
