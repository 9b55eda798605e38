// In what the platforms differ, as far as it is not a matter of style sheets.

export const looks = {
  telegram: {
    replies: true, // a message can answer another one
    commands: "text", // a command of the menu is a message like any other, or "native"
    threads: "", // where threads show: "panel", "place" or nowhere
    mixedList: true, // direct messages and groups stand in one list
    toast: true, // what a button press brings shows for a moment instead of staying
    noteMark: "",
    editable: (m) => m.text, // what a person gets to edit of a message
    threadLabel: "",
  },
  slack: {
    commands: "native",
    replies: false,
    threads: "panel",
    mixedList: false,
    toast: false,
    noteMark: "Only visible to you",
    reactions: { eyes: "👀" }, // how those look that come by name
    editable: (m) => (m.wire.startsWith("<@") ? m.text.replace(/^@\S+\s*/, "") : m.text), // the mention stays
    threadLabel: "Reply in thread",
  },
  discord: {
    commands: "native",
    replies: true,
    threads: "place",
    mixedList: false,
    toast: false,
    noteMark: "Only you can see this",
    editable: (m) => m.wire,
    threadLabel: "Open a thread",
  },
};
