package tools

import "context"

// Asker puts a question to the person who is worked for. It is implemented by the gateway, which asks in the chat.
type Asker interface {
	// Ask blocks until the person has answered or declined, the wait is over, or the context ends (an error).
	Ask(ctx context.Context, question Question) (Answer, error)
}

// Question is what the person is asked. An answer may be one of the choices, if there are any, or free text.
type Question struct {
	Scope   Scope
	Text    string
	Choices []string // at most four
}

// Answer is what came of a Question.
type Answer struct {
	Text string // the choice or the person's own words; empty if there is no answer
	Note string // then, why not: "the person declined to answer", "nobody answered within an hour"
}
