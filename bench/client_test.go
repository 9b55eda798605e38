package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// client is the least program that works with a model. It keeps the messages, words all of them for each call, reads the
// stream chunk by chunk, puts the reply together and answers the calls in it. It checks nothing, stores nothing, watches
// over nothing and tells nobody.
type client struct {
	http *http.Client
	url  string
	opening
	note string // what stands at the end of each request and is not kept
}

// opening is what a conversation begins with, as it stands in a request.
type opening struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	Messages []message       `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
}

type message struct {
	Role       string `json:"role"`
	Content    string `json:"content,omitempty"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	Index    int    `json:"index,omitempty"` // in a piece of a stream only
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// newClient returns a client that begins as a turn did, whose first request is given. It makes the same requests.
func (p *provider) newClient(b *testing.B, first []byte) client {
	c := client{http: p.server.Client(), url: p.server.URL + "/v1/chat/completions"}
	if err := json.Unmarshal(first, &c.opening); err != nil {
		b.Fatal(err)
	}
	const mark = "\n\n[Note "
	user := &c.Messages[len(c.Messages)-1]
	text, note, ok := strings.Cut(user.Content, mark)
	if !ok {
		b.Fatalf("there is no note in %q", user.Content)
	}
	user.Content, c.note = text, mark+note
	return c
}

// body words the next request.
func (c client) body(b *testing.B) []byte {
	o := c.opening
	if last := len(o.Messages) - 1; o.Messages[last].Role == "user" {
		o.Messages = slices.Clone(o.Messages)
		o.Messages[last].Content += c.note
	} else {
		o.Messages = append(o.Messages, message{Role: "user", Content: strings.TrimSpace(c.note)})
	}
	body, err := json.Marshal(o)
	if err != nil {
		b.Error(err)
	}
	return body
}

// turn makes calls until the model is done, and returns how many. After each it calls between.
func (c client) turn(b *testing.B, between func()) (calls int) {
	for {
		reply := c.ask(b, c.body(b))
		calls++
		between()
		c.Messages = append(c.Messages, reply)
		if len(reply.ToolCalls) == 0 {
			return calls
		}
		for _, called := range reply.ToolCalls {
			var args struct{ Text string }
			if err := json.Unmarshal([]byte(called.Function.Arguments), &args); err != nil {
				b.Fatal(err)
			}
			c.Messages = append(c.Messages, message{Role: "tool", ToolCallID: called.ID, Content: args.Text})
		}
	}
}

// ask makes one call.
func (c client) ask(b *testing.B, body []byte) message {
	res, err := c.http.Post(c.url, "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		b.Fatal(res.Status)
	}
	reply := message{Role: "assistant"}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta message }
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			b.Fatal(err)
		}
		for _, choice := range chunk.Choices {
			reply.add(choice.Delta)
		}
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
	return reply
}

// add adds a piece of a reply.
func (m *message) add(delta message) {
	m.Content += delta.Content
	for _, piece := range delta.ToolCalls {
		if piece.Index == len(m.ToolCalls) {
			m.ToolCalls = append(m.ToolCalls, call{ID: piece.ID, Type: "function"})
		}
		f := &m.ToolCalls[piece.Index].Function
		f.Name += piece.Function.Name
		f.Arguments += piece.Function.Arguments
	}
}

// resend sends the requests of a turn once more and throws away what comes back. No program could work like that; it is
// what the calls cost by themselves.
func (p *provider) resend(b *testing.B, bodies [][]byte, between func()) {
	client := p.server.Client()
	for _, body := range bodies {
		res, err := client.Post(p.server.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
		between()
	}
}
