package openai

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// chunk is a piece of a stream, read as leniently as its senders are strict.
type chunk struct {
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	Groq    struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        delta  `json:"delta"`
	Message      delta  `json:"message"` // in place of the delta, from servers that do not stream
	FinishReason string `json:"finish_reason"`
	Usage        *usage `json:"usage"` // Moonshot's place for it
}

type delta struct {
	Content   text        `json:"content"`
	Refusal   text        `json:"refusal"` // the model's own words to the person
	ToolCalls []callDelta `json:"tool_calls"`
	reasoning
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// text is a string, a list of parts with text in them, or nothing.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	s, ok := plainString(raw)
	if ok || json.Unmarshal(raw, &s) == nil {
		*t = text(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		*t += text(part.Text)
	}
	return nil
}

// plainString returns a valid JSON string that needs no decoding. Most pieces of a stream are such.
func plainString(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 || !utf8.Valid(raw) {
		return "", false
	}
	return string(raw[1 : len(raw)-1]), true
}

// arguments are a string with JSON in it or, against the protocol, the JSON itself.
type arguments string

func (a *arguments) UnmarshalJSON(raw []byte) error {
	s, ok := plainString(raw)
	if ok || bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, &s) == nil {
		*a = arguments(s)
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return err
	}
	*a = arguments(compact.String())
	return nil
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	CacheHit   int `json:"prompt_cache_hit_tokens"` // DeepSeek's name
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Output struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u usage) internal() sessions.Usage {
	return sessions.Usage{
		Input: u.Prompt, Output: u.Completion, Cached: max(u.Details.Cached, u.CacheHit), Reasoning: u.Output.Reasoning,
	}
}

// assembly puts a reply together from the chunks of a stream.
type assembly struct {
	*provider.Builder
	chunk     chunk // that was read last, so that its room is used again
	calls     []*partialCall
	reasoning reasoning
}

type partialCall struct {
	*provider.Call
	index *int
}

// add takes the next chunk.
func (a *assembly) add(raw []byte) error {
	c := &a.chunk
	clear(c.Choices)
	*c = chunk{Choices: c.Choices[:0]}
	if err := json.Unmarshal(raw, c); err != nil {
		return provider.Network(provider.ErrGarbled)
	}
	finish := ""
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		a.addDelta(&choice.Delta)
		a.addDelta(&choice.Message)
		finish = choice.FinishReason
		a.report(choice.Usage)
	}
	a.report(c.Groq.Usage)
	a.report(c.Usage)
	switch finish {
	case "":
	case "error": // OpenRouter's word for a provider that broke off
		return &loop.ModelError{Class: loop.ModelOverloaded, Err: provider.ErrCut}
	case "length", "max_tokens":
		a.Finish(loop.FinishLength)
	case "content_filter":
		a.Finish(loop.FinishFiltered)
	default:
		a.Finish(loop.FinishStop)
	}
	return nil
}

func (a *assembly) addDelta(d *delta) {
	a.reasoning.add(d.reasoning)
	a.Text(string(d.Content))
	a.Text(string(d.Refusal))
	for _, call := range d.ToolCalls {
		a.addCall(call)
	}
}

func (a *assembly) report(u *usage) {
	if u != nil {
		a.Usage = u.internal()
	}
}

func (a *assembly) addCall(d callDelta) {
	call := a.find(d)
	if call == nil {
		call = &partialCall{Call: a.Call(d.ID, ""), index: d.Index}
		a.calls = append(a.calls, call)
	}
	if call.Name == "" {
		call.Name = d.Function.Name
	}
	call.Arguments(string(d.Function.Arguments))
}

// find returns the call that a delta continues, nil if it begins one. The protocol says that the index tells, but
// there are servers that send none, or the same one for all calls, each with an id of its own.
func (a *assembly) find(d callDelta) *partialCall {
	for i := len(a.calls) - 1; i >= 0; i-- {
		call := a.calls[i]
		switch {
		case d.Index != nil && call.index != nil && *d.Index != *call.index:
			continue
		case d.ID != "" && d.ID != call.ID && call.ID != "":
			continue
		case d.ID == "" && d.Index == nil && d.Function.Name != "" && call.Name != "":
			continue // neither id nor index: a name begins a call
		}
		if call.ID == "" {
			call.ID = d.ID
		}
		return call
	}
	return nil
}
