package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// BenchmarkCompress compresses a turn of 30 rounds, each a call with a result of about 2,000 tokens, and prints how much
// of the prompt is left.
func BenchmarkCompress(b *testing.B) {
	s := &sessions.Session{Key: "bench", Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "Find out why the tests fail."}}}
	for i := range 30 {
		id := fmt.Sprintf("call_%d", i)
		s.Messages = append(s.Messages,
			sessions.Message{Role: sessions.RoleAssistant, Text: "I look further.", ToolCalls: []sessions.ToolCall{
				{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":"src/part%d.go"}`, i)},
			}},
			sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Text: strings.Repeat(fmt.Sprintf("line of part %d\n", i), 500)})
	}
	c := loop.NewCompressor(nil, 100_000, 0)
	left := 0.0
	for b.Loop() {
		out, err := c.Compress(context.Background(), s, loop.Aim{})
		if err != nil {
			b.Fatal(err)
		}
		left = float64(out.After) / float64(out.Before)
	}
	b.ReportMetric(left, "left/prompt")
}
