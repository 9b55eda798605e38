package recording_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/recording"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// BenchmarkRound is what a recording costs a round of a long conversation: one request and its reply.
func BenchmarkRound(b *testing.B) {
	for _, messages := range []int{50, 5000} {
		b.Run(fmt.Sprintf("behind %d messages", messages), func(b *testing.B) {
			s := &sessions.Session{Key: key}
			for i := range messages {
				s.Messages = append(s.Messages, sessions.Message{Role: sessions.RoleUser, Text: fmt.Sprint(i, strings.Repeat(" word", 40))})
			}
			work, _ := recording.Record(context.Background(), io.Discard, 1<<40, "test", loop.Setup{}, loop.Turn{ID: turnID, Journal: &rig{session: s}, Tools: &tools.Registry{}})
			m := steps()
			m.call = func(context.Context, int, loop.Request, func(string)) (loop.Reply, error) { return says("Yes."), nil }
			s.Messages = slices.Grow(s.Messages, 1)
			for b.Loop() {
				req := loop.Request{Messages: append(s.Messages, sessions.Message{Role: sessions.RoleTool, Text: strings.Repeat("line\n", 70)})}
				if _, err := work.Tape.Model(context.Background(), "", m, req, func(string) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
