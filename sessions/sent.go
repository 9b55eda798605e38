package sessions

// MessageSent records that a turn sends something to a chat beside its answer. A row of the same record's outbox delivers
// it.
type MessageSent struct {
	Turn     string `json:"turn"`
	Call     string `json:"call"` // the tool call that it is from
	Platform string `json:"platform"`
	Account  string `json:"account"`
	Chat     string `json:"chat"`
	Thread   string `json:"thread,omitempty"`
	Text     string `json:"text"` // Markdown
}

func (MessageSent) kind() string { return "message_sent" }
