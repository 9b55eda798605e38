package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// reasoning is what chat completions may say about reasoning. The protocol has no word for it: OpenRouter sends details
// that it wants back as they are, DeepSeek a text that some of its models want back and others refuse.
type reasoning struct {
	Content text    `json:"reasoning_content,omitempty"`
	Details details `json:"reasoning_details,omitempty"`
}

// details are a list; whatever else is sent under the name is nothing that can be sent back.
type details []json.RawMessage

func (d *details) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		*d = list
	}
	return nil
}

// add takes what a chunk brings.
func (r *reasoning) add(next reasoning) {
	r.Content += next.Content
	for _, detail := range next.Details {
		if last := len(r.Details) - 1; last < 0 || !join(&r.Details[last], detail) {
			r.Details = append(r.Details, detail)
		}
	}
}

// join appends a detail to the one before it, if it is the next piece of the same. The texts of pieces are joined; of
// anything else the later piece knows best.
func join(to *json.RawMessage, piece json.RawMessage) bool {
	var whole, next map[string]json.RawMessage
	if json.Unmarshal(*to, &whole) != nil || json.Unmarshal(piece, &next) != nil ||
		!bytes.Equal(whole["type"], next["type"]) || !bytes.Equal(whole["index"], next["index"]) || next["data"] != nil {
		return false
	}
	for name, value := range next {
		var before, after string
		switch {
		case string(value) == "null":
			continue
		case name != "text" && name != "summary":
		case json.Unmarshal(whole[name], &before) == nil && json.Unmarshal(value, &after) == nil:
			value, _ = json.Marshal(before + after) // strings always can be marshalled
		}
		whole[name] = value
	}
	joined, err := json.Marshal(whole)
	if err != nil {
		return false
	}
	*to = joined
	return true
}

// keep stores what the provider will want back: details always, plain text only if it is known to.
func (r reasoning) keep(b *provider.Builder, plain bool) {
	if !plain || len(r.Details) > 0 {
		r.Content = ""
	}
	if r.Content == "" && len(r.Details) == 0 {
		return
	}
	if raw, err := json.Marshal(r); err == nil {
		b.Reasoning(raw)
	}
}

// replaying sends requests with the reasoning of earlier replies in them, for which go-openai's messages have no place.
type replaying struct {
	x        *provider.Exchange
	messages []sessions.Message
}

// Do implements chat.HTTPDoer.
func (r replaying) Do(req *http.Request) (*http.Response, error) {
	if slices.ContainsFunc(r.messages, func(m sessions.Message) bool { return len(m.Reasoning) > 0 }) {
		body, err := io.ReadAll(req.Body)
		if err == nil {
			body, err = r.insert(body)
		}
		if err != nil {
			return nil, provider.BadRequest("put reasoning into the request: %w", err)
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return r.x.Do(req)
}

// insert puts the fields that were kept at the end of the messages that they belong to.
func (r replaying) insert(body []byte) ([]byte, error) {
	var request map[string]json.RawMessage
	var wire []json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(request["messages"], &wire); err != nil {
		return nil, err
	}
	system := len(wire) - len(r.messages) // the prompt stands before the history
	for i, m := range r.messages {
		for _, o := range m.Reasoning {
			fields, ok := bytes.CutPrefix(o.Data, []byte("{"))
			if !ok {
				return nil, fmt.Errorf("message %d has reasoning of another kind", i)
			}
			message := bytes.TrimSuffix(wire[system+i], []byte("}"))
			wire[system+i] = slices.Concat(message, []byte(","), fields)
		}
	}
	messages, err := json.Marshal(wire)
	if err != nil {
		return nil, err
	}
	request["messages"] = messages
	return json.Marshal(request)
}
