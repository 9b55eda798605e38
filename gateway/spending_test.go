package gateway

import (
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
)

func TestSpending(t *testing.T) {
	first, second := &sessions.Segment{Number: 1}, &sessions.Segment{Number: 2}
	reply := func(model string, in, out int) sessions.Record {
		return sessions.Record{Entries: []sessions.Entry{sessions.AssistantMessage{
			Model: model, Usage: sessions.Usage{Input: in, Output: out, Cached: in / 2},
			Message: sessions.Message{ToolCalls: make([]sessions.ToolCall, 1)},
		}}}
	}
	s := spending{}
	s.add(nil, reply("known", 1, 1)) // an empty log has no session
	s.add(first, sessions.Record{Entries: []sessions.Entry{sessions.TurnStarted{}}})
	s.add(first, reply("known", 100, 10))
	s.add(first, sessions.Record{Entries: []sessions.Entry{sessions.Delegated{Used: sessions.Spent{Rounds: 2, Calls: 3, Usage: sessions.Usage{Input: 50}}}}})
	s.add(second, sessions.Record{Entries: []sessions.Entry{sessions.TurnStarted{}}})
	s.add(second, reply("strange", 1000, 1))
	price := func(model string, u sessions.Usage) (float64, bool) { return float64(u.Input) / 100, model == "known" }
	free := func(string, sessions.Usage) (float64, bool) { return 0, true }
	for name, c := range map[string]struct {
		of    *spent
		price func(string, sessions.Usage) (float64, bool)
		want  []string
	}{
		"known":   {s[1], price, []string{"1 turn, 3 replies, 4 tool calls", "Input: 150 tokens, 50 of them from", "Output: 10 tokens\n", "Cost: about $1.5000\n"}},
		"unknown": {s[2], func(string, sessions.Usage) (float64, bool) { return 0, false }, []string{"1 turn, 1 reply, 1 tool call", "Cost: unknown price (`strange`)"}},
		"both":    {s.sum(), price, []string{"2 turns, 4 replies, 5 tool calls", "Input: 1150 tokens", "about $1.5000 and an unknown price (`strange`)"}},
		"free":    {s.sum(), free, []string{"Cost: about $0.0000\n"}},
		"nobody":  {s[1], nil, []string{"unknown price (`known`)"}},
	} {
		got := c.of.describe(c.price)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, got)
			}
		}
	}
}
