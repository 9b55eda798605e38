package demo

import (
	"net/http"
	"time"
)

// Response is what the model does with a request, whatever the protocol. The zero value is an empty reply.
type Response struct {
	Wait      time.Duration // before anything is answered
	Reasoning string        // streamed first, as the protocol has it
	Text      string        // streamed word by word
	Deltas    []string      // in place of Text: the pieces exactly as they are to be streamed
	Pause     time.Duration // between pieces, if it is to differ from the server's
	Calls     []Call
	Finish    string // the finish reason in the words of chat completions; empty = "tool_calls" if there are calls, else "stop"
	Usage     *Usage // empty = an estimate

	Refusal *Refusal    // in place of a reply: this error
	Header  http.Header // of the HTTP response, for example Retry-After
	Raw     string      // in place of a reply: these bytes, as a stream

	Alive   int      // signs of life before anything else, as many
	Failure *Refusal // after the text and calls: this error, in the stream

	Cut  bool // break the connection after the text and calls
	Hang bool // say nothing any more after the text and calls, until the client goes away
}

// Call is a tool call that the model makes.
type Call struct {
	ID        string // empty = a fresh one
	Name      string
	Arguments string
}

// Usage is what a reply reports about its size, in tokens.
type Usage struct{ Input, Output, Cached, Reasoning int }

// Say returns a reply of text.
func Say(text string) Response { return Response{Text: text} }

// CallTool returns a reply that calls one tool.
func CallTool(name, arguments string) Response {
	return Response{Calls: []Call{{Name: name, Arguments: arguments}}}
}

// Fail returns an error of that HTTP status, in the protocol's shape.
func Fail(status int, message string) Response {
	return Response{Refusal: refusal(status, "", message)}
}

func (r Response) finish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// pieces returns the text as it is streamed.
func (r Response) pieces() []string {
	if r.Deltas != nil {
		return r.Deltas
	}
	return words(r.Text)
}

// words cuts a text after each run of white space.
func words(text string) []string {
	var all []string
	from, space := 0, false
	for i, r := range text {
		isSpace := r == ' ' || r == '\n' || r == '\t'
		if space && !isSpace {
			all = append(all, text[from:i])
			from = i
		}
		space = isSpace
	}
	if from < len(text) {
		all = append(all, text[from:])
	}
	return all
}
