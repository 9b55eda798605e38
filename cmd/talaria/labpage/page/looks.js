// In what the platforms differ, as far as it is not a matter of style sheets.

export const looks = {
  telegram: {
    replies: true, // a message can answer another one
    threads: "", // where threads show: "panel", "place" or nowhere
    mixedList: true, // direct messages and groups stand in one list
    toast: true, // what a button press brings shows for a moment instead of staying
    noteMark: "",
    editsWire: false,
    threadLabel: "",
  },
  slack: {
    replies: false,
    threads: "panel",
    mixedList: false,
    toast: false,
    noteMark: "Only visible to you",
    editsWire: false,
    threadLabel: "Reply in thread",
  },
  discord: {
    replies: true,
    threads: "place",
    mixedList: false,
    toast: false,
    noteMark: "Only you can see this",
    editsWire: true,
    threadLabel: "Open a thread",
  },
};
