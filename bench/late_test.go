package bench

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// BenchmarkRoundLateInSession: a turn at message 5,000 of a session against one at message 50; the model is not behind
// HTTP here, so that the request's own size does not count. Goal: at most 1.2.
func BenchmarkRoundLateInSession(b *testing.B) {
	registry := equip(b)
	p := &provider{model: instant{}}
	turnAt := func(n int) func() func() {
		before := filled(b, n)
		return func() func() {
			j := newJournal(b, memory.New(), "bench/late")
			s := *before
			s.Revision, s.Answered = 0, slices.Clone(s.Answered)
			s.Messages = slices.Grow(slices.Clone(s.Messages), 2*rounds) // it grows once in hundreds of messages only
			j.session = &s
			return func() { p.run(b, open(b, j, registry)) }
		}
	}
	prepared(b, 101, turnAt(5000), turnAt(50))
}

// filled returns a conversation of n messages.
func filled(b *testing.B, n int) *sessions.Session {
	j := volatile{&sessions.Session{Key: "bench/late"}}
	for i := range n / 2 {
		id := "f" + strconv.Itoa(i)
		err := j.Append(context.Background(),
			sessions.TurnStarted{Turn: id, Requester: "1"},
			sessions.UserMessage{Turn: id, Message: sessions.Message{Role: sessions.RoleUser, Text: "What about this?"}},
			sessions.AssistantMessage{Turn: id, Message: sessions.Message{Role: sessions.RoleAssistant, Text: "This is so."}, Usage: sessions.Usage{Input: 10 * i, Output: 5}},
			sessions.TurnEnded{Turn: id, Reason: "answered"})
		if err != nil {
			b.Fatal(err)
		}
	}
	return j.session
}

// instant answers from memory: a tool call a round, and a text in the last.
type instant struct{}

func (instant) Name() string { return "instant" }

func (instant) Call(_ context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	n := 0
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role != sessions.RoleUser; i-- {
		if req.Messages[i].Role == sessions.RoleAssistant {
			n++
		}
	}
	reply := loop.Reply{Finish: loop.FinishStop, Message: sessions.Message{Role: sessions.RoleAssistant, Text: "Done."}}
	if n < rounds-1 {
		reply.Finish, reply.Message.Text = loop.FinishTools, ""
		reply.Message.ToolCalls = []sessions.ToolCall{{ID: "c" + strconv.Itoa(n), Name: "echo", Arguments: `{"text":"` + strconv.Itoa(n) + `"}`}}
		return reply, nil
	}
	onText(reply.Message.Text)
	return reply, nil
}
