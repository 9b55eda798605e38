package openai

import (
	"bytes"
	"encoding/json"

	"github.com/talaria-agent/talaria/loop/provider"
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
