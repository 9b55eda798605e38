package loop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/sessions"
)

func TestTags(t *testing.T) {
	person := func(text string) sessions.Message { return sessions.Message{Role: sessions.RoleUser, Text: text} }
	reply := func(text string, calls ...string) sessions.Message {
		m := sessions.Message{Role: sessions.RoleAssistant, Text: text}
		for _, id := range calls {
			m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{ID: id, Name: "ls", Arguments: "{}"})
		}
		return m
	}
	result := func(id string) sessions.Message {
		return sessions.Message{Role: sessions.RoleTool, ToolCallID: id, Text: strings.Repeat("long ", 80)}
	}
	work := []sessions.Message{reply("", "c1"), result("c1"), reply("", "c2"), result("c2")}
	begun := []sessions.Message{person("the task"), reply("I see.")}
	summary := []sessions.Message{person(summaryBegin + "## Goal\nships" + summaryEnd), reply(summaryTaken)}

	for name, c := range map[string]struct {
		ledger []sessions.Message
		want   []tag // of the units
	}{
		"nothing":              {nil, []tag{}},
		"one exchange":         {begun, []tag{tagTask, tagTask}},
		"an exchange follows":  {slices.Concat(begun, []sessions.Message{person("more"), reply("Done.")}), []tag{tagTask, tagTask, tagRecent, tagRecent}},
		"work":                 {slices.Concat(begun, []sessions.Message{person("old"), reply("Old.", "c0"), result("c0"), reply("So."), person("more")}, work), []tag{tagTask, tagTask, tagOrdinary, tagOrdinary, tagOrdinary, tagTask, tagOrdinary, tagRecent}},
		"a summary":            {slices.Concat(begun, summary, []sessions.Message{person("more")}, work), []tag{tagTask, tagTask, tagSystem, tagSystem, tagTask, tagOrdinary, tagRecent}},
		"no first answer yet":  {slices.Concat([]sessions.Message{person("the task")}, work), []tag{tagTask, tagOrdinary, tagRecent}},
		"as after compressing": {slices.Concat(begun, summary[:1], work), []tag{tagTask, tagTask, tagSystem, tagOrdinary, tagRecent}},
	} {
		if d := cmp.Diff(c.want, tagUnits(units(c.ledger), 50, 100)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestProtectedParts: together they have at most their limit, the whole of what is cut is in a file, and the system's own
// is never cut.
func TestProtectedParts(t *testing.T) {
	long := strings.Repeat("All of this matters. ", 500)
	l := layout{
		first: sessions.Message{Role: sessions.RoleUser, Text: "the task"}, request: &sessions.Message{Role: sessions.RoleUser, Text: "now: " + long},
		tail: []unit{{{Role: sessions.RoleAssistant, Text: "recent: " + long}}},
	}
	messages, tags := l.assemble(long)
	want := []tag{tagTask, tagTask, tagSystem, tagSystem, tagTask, tagRecent}
	if d := cmp.Diff(want, tags); d != "" {
		t.Fatalf("tags (-want +got):\n%s", d)
	}
	whole := slices.Clone(messages)
	limit, work := estimate(messages...)*2/3, t.TempDir()
	protect(messages, tags, limit, work, "x")
	if size := estimate(messages...); size > limit+limit/10 {
		t.Errorf("%d tokens are left of %d", size, limit)
	}
	for i, m := range messages {
		switch cut := m.Text != whole[i].Text; {
		case cut && tags[i] == tagSystem:
			t.Errorf("message %d is the system's own and was cut", i)
		case cut:
			files, _ := filepath.Glob(filepath.Join(work, "*", "x-message*"))
			if !slices.ContainsFunc(files, func(f string) bool { data, _ := os.ReadFile(f); return string(data) == whole[i].Text }) {
				t.Errorf("the whole of message %d is in none of %q", i, files)
			}
		}
	}
}
