package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// Probed is what a model did with one thing that the loop asks of models.
type Probed struct {
	What  string // "calls a tool"
	Took  time.Duration
	Err   error  // why it does not do that; nil = it does
	Cure  string // what to do about it, if Err is set and the text does not say so itself
	Minor bool   // the loop works without it, only slower
}

const (
	probeSystem = "You test whether your tool calls arrive. Do exactly what you are told, and nothing else."
	probeTool   = "note_down"
	probeTools  = `[{"name":"` + probeTool + `","description":"Notes a text down.","schema":{"type":"object",` +
		`"properties":{"text":{"type":"string","description":"The text."}},"required":["text"],"additionalProperties":false}}]`
	probeOutput = 4_000 // tokens; some models think a while before they call
)

// Probe has a model make one tool call, two in one reply, go on after an empty result, and write long arguments, which come
// in many pieces. Each probe is one model call of at most the given time. If the first cannot be made at all, the others are
// left out. It costs about two thousand tokens.
func Probe(ctx context.Context, model Model, each time.Duration) (all []Probed) {
	for i, p := range []struct {
		what string
		run  func(prober, context.Context) Probed
	}{
		{"calls a tool", prober.one},
		{"calls two tools in one reply", prober.parallel},
		{"goes on after an empty result", prober.empty},
		{"writes long arguments without a mistake", prober.long},
	} {
		within, cancel := context.WithTimeout(ctx, each)
		began := time.Now()
		found := p.run(prober{model}, within)
		late := within.Err() != nil
		cancel()
		found.What, found.Took = p.what, time.Since(began)
		if found.Err != nil && late && ctx.Err() == nil {
			found.Err = fmt.Errorf("no answer within %s", each)
		}
		all = append(all, found)
		var failed *ModelError
		if ctx.Err() != nil || i == 0 && errors.As(found.Err, &failed) {
			return all
		}
	}
	return all
}

// prober makes the calls of a probe.
type prober struct{ model Model }

func (p prober) call(ctx context.Context, messages ...sessions.Message) (sessions.Message, error) {
	reply, err := p.model.Call(ctx, Request{
		System: probeSystem, Tools: json.RawMessage(probeTools), Messages: messages, MaxOutput: probeOutput,
	}, func(string) {})
	return reply.Message, err
}

func asked(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleUser, Text: text}
}

// noted returns the texts of the calls of a reply.
func noted(m sessions.Message) (texts []string, err error) {
	for _, c := range m.ToolCalls {
		var arguments struct {
			Text string `json:"text"`
		}
		if c.Name != probeTool {
			return nil, fmt.Errorf("it called %q, which was not declared", c.Name)
		}
		if err := json.Unmarshal([]byte(c.Arguments), &arguments); err != nil {
			return nil, fmt.Errorf("the arguments of a call are no valid JSON: %w", err)
		}
		texts = append(texts, arguments.Text)
	}
	return texts, nil
}

const wrongModel = "choose a model that is made for tool calls, or a server that passes them on"

func (p prober) one(ctx context.Context) Probed {
	m, err := p.call(ctx, asked(`Call `+probeTool+` once, with the text "Oslo".`))
	if err != nil {
		return Probed{Err: err}
	}
	texts, err := noted(m)
	switch {
	case err != nil:
		return Probed{Err: err, Cure: wrongModel}
	case len(texts) == 0:
		return Probed{Err: errors.New("it answered in words instead"), Cure: wrongModel}
	case texts[0] != "Oslo":
		return Probed{Err: errors.New("the call has other arguments than it was told"), Cure: wrongModel}
	}
	return Probed{}
}

func (p prober) parallel(ctx context.Context) Probed {
	m, err := p.call(ctx, asked(`Call `+probeTool+` twice in this one reply: with the text "Oslo" and with the text "Rome".`))
	if err != nil {
		return Probed{Err: err}
	}
	texts, err := noted(m)
	switch {
	case err != nil:
		return Probed{Err: err, Cure: wrongModel}
	case len(texts) < 2:
		return Probed{
			Err: fmt.Errorf("it made %d", len(texts)), Minor: true, Cure: "nothing has to be done; its work takes more calls one after the other",
		}
	case !strings.Contains(strings.Join(texts, " "), "Oslo") || !strings.Contains(strings.Join(texts, " "), "Rome"):
		return Probed{Err: errors.New("the calls got each other's arguments"), Cure: wrongModel}
	}
	return Probed{}
}

func (p prober) empty(ctx context.Context) Probed {
	m, err := p.call(ctx,
		asked(`Call `+probeTool+` once, with the text "Oslo". When the result is there, say "done".`),
		sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "call_probe1", Name: probeTool, Arguments: `{"text":"Oslo"}`}}},
		sessions.Message{Role: sessions.RoleTool, ToolCallID: "call_probe1"})
	switch {
	case err != nil:
		return Probed{Err: err}
	case m.Blank():
		return Probed{Err: errors.New("it says nothing any more"), Cure: wrongModel}
	}
	return Probed{}
}

func (p prober) long(ctx context.Context) Probed {
	var numbers []string
	for n := range 120 {
		numbers = append(numbers, strconv.Itoa(100+n))
	}
	want := strings.Join(numbers, " ")
	m, err := p.call(ctx, asked(`Call `+probeTool+` once, with exactly this text: "`+want+`"`))
	if err != nil {
		return Probed{Err: err}
	}
	texts, err := noted(m)
	switch {
	case err != nil:
		return Probed{Err: err, Cure: wrongModel}
	case len(texts) == 0:
		return Probed{Err: errors.New("it answered in words instead"), Cure: wrongModel}
	case strings.Join(strings.Fields(texts[0]), " ") != want:
		return Probed{Err: errors.New("the arguments did not arrive as they were told"), Cure: wrongModel}
	}
	return Probed{}
}
