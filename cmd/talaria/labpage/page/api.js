// Talking to the lab.

// describe loads the panes, people, chats and suggestions.
export async function describe() {
  const response = await fetch("/api/lab");
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

// post asks for an action and returns the answer; an Error's message is meant to be shown.
export async function post(endpoint, action) {
  let response;
  try {
    response = await fetch(`/api/${endpoint}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(action),
    });
  } catch {
    throw new Error("The lab does not answer. Is it still running?");
  }
  const answer = await response.json().catch(() => ({ error: `the lab answered with status ${response.status}` }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

const patience = 5000; // milliseconds without a connection after which it is more than a hiccup

// follow opens the stream of changes. onLink is told "connected", "reconnecting", "silent" if that takes long, and
// "ended", from where there is no way back, since a lab that was started again has another token.
export function follow(onChat, onLink) {
  const source = new EventSource("/api/events");
  let timer;
  const link = (state) => {
    clearTimeout(timer);
    timer = undefined;
    onLink(state);
  };
  source.addEventListener("open", () => link("connected"));
  source.addEventListener("chat", (e) => onChat(JSON.parse(e.data)));
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) return link("ended");
    if (timer !== undefined) return; // one more try that failed
    link("reconnecting");
    timer = setTimeout(() => onLink("silent"), patience);
  });
}
