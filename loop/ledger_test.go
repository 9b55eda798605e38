package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// ledger reads messages from a short notation, one a word: "u" user, "a" assistant text, "a:x,y" assistant with calls
// x and y, "t:x" the result of x. A word that ends in "!" is blank, or has arguments that are no JSON.
func ledger(notation string) []sessions.Message {
	var out []sessions.Message
	for i, word := range strings.Fields(notation) {
		word, bad := strings.CutSuffix(word, "!")
		kind, ids, _ := strings.Cut(word, ":")
		m := sessions.Message{Text: fmt.Sprintf("%s%d", kind, i)}
		if bad {
			m.Text = " "
		}
		switch kind {
		case "u":
			m.Role = sessions.RoleUser
		case "a":
			m.Role = sessions.RoleAssistant
			for id := range strings.SplitSeq(ids, ",") {
				if word == "a" {
					break
				}
				c := sessions.ToolCall{ID: id, Name: "tool", Arguments: `{"a":1}`}
				if bad {
					c.Arguments = `{"a":`
				}
				m.ToolCalls = append(m.ToolCalls, c)
			}
		case "t":
			m.Role, m.ToolCallID = sessions.RoleTool, ids
		default:
			m.Role = sessions.Role(kind)
		}
		out = append(out, m)
	}
	return out
}

func TestLedger(t *testing.T) {
	for notation, changes := range map[string][]string{
		"":                          nil,
		"u a u":                     nil,
		"u a:x,y t:x t:y a:x t:x a": nil,
		"u a:x t:x u":               nil,
		"a u":                       {"put a user message before the first assistant message"},
		"u u a":                     {"joined two user messages"},
		"u a a u":                   {"joined two assistant messages"},
		"u a! u":                    {"dropped an empty assistant message", "joined two user messages"},
		"u a:x u":                   {`added the missing result of call "x"`},
		"u a:x,y t:y t:x a":         {`moved the result of call "x" to its place`, `moved the result of call "y" to its place`},
		"u a:x t:x t:x a":           {"dropped 1 results that answer no call"},
		"u t:x a":                   {`dropped a message of role "tool" that answers no call`},
		"u a:x,x t:x t:x a":         {`renamed call id "x" to "x_2"`},
		"u a:x! t:x a":              {`emptied the unreadable arguments of call "x"`},
		"u system a":                {`dropped a message of role "system" that answers no call`},
		"u!":                        {"gave an empty user message a text"},
		"t:1 t:2 u":                 {`dropped a message of role "tool" that answers no call`, `dropped a message of role "tool" that answers no call`},
	} {
		t.Run(notation, func(t *testing.T) {
			in := ledger(notation)
			if valid := loop.CheckLedger(in) == nil; valid != (changes == nil) {
				t.Errorf("valid: %v, %v", valid, loop.CheckLedger(in))
			}
			out, report := loop.Repair(in)
			if diff := cmp.Diff(changes, []string(report)); diff != "" {
				t.Error(diff)
			}
			if err := loop.CheckLedger(out); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(ledger(notation), in); diff != "" {
				t.Errorf("the argument was changed: %s", diff)
			}
		})
	}
}

// checkRepair is what must hold for any list of messages.
func checkRepair(t interface {
	Errorf(format string, args ...any)
}, in []sessions.Message,
) {
	out, report := loop.Repair(in)
	if err := loop.CheckLedger(out); err != nil {
		t.Errorf("repaired ledger: %v", err)
	}
	if again, second := loop.Repair(out); len(second) > 0 || !cmp.Equal(again, out) {
		t.Errorf("repairing twice changes more: %v", second)
	}
	if (loop.CheckLedger(in) == nil) != (len(report) == 0) {
		t.Errorf("report %v for a ledger with %v", report, loop.CheckLedger(in))
	}
	newest, kept := "", ""
	for _, m := range in {
		if m.Role == sessions.RoleUser && strings.TrimSpace(m.Text) != "" {
			newest = m.Text
		}
	}
	for _, m := range out {
		if m.Role == sessions.RoleUser {
			kept += m.Text
		}
	}
	if !strings.Contains(kept, newest) {
		t.Errorf("the newest user message %q is gone", newest)
	}
}

func TestRepairProperties(t *testing.T) {
	id := rapid.SampledFrom([]string{"", "a", "b", "a_2"})
	message := rapid.Custom(func(t *rapid.T) sessions.Message {
		m := sessions.Message{
			Role: rapid.SampledFrom([]sessions.Role{"user", "assistant", "assistant", "tool", "tool", "system", ""}).Draw(t, "role"),
			Text: rapid.SampledFrom([]string{"", " ", "hello", "你好"}).Draw(t, "text"),
		}
		if m.Role != sessions.RoleUser || rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			m.ToolCallID = id.Draw(t, "answers")
		}
		if m.Role == sessions.RoleAssistant || rapid.IntRange(0, 9).Draw(t, "odd calls") == 0 {
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{
					ID:        id.Draw(t, "id"),
					Name:      rapid.SampledFrom([]string{"read", "", " "}).Draw(t, "name"),
					Arguments: rapid.SampledFrom([]string{`{}`, ``, `null`, `[1]`, `{"a":`, ` {"a":1} `, `{}{}`}).Draw(t, "arguments"),
				})
			}
		}
		return m
	})
	rapid.Check(t, func(t *rapid.T) { checkRepair(t, rapid.SliceOfN(message, 0, 12).Draw(t, "messages")) })
}

func FuzzRepair(f *testing.F) {
	f.Add("u a:x,y t:x t:y a u")
	f.Add("t:x a! a:x! u a:x,x t:x t:x")
	f.Add("a a u! u system t:")
	f.Fuzz(func(t *testing.T, notation string) { checkRepair(t, ledger(notation)) })
}
