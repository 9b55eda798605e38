package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

// flattening says how far a turn's history was simplified.
type flattening int

const (
	asItIs      flattening = iota
	flatForCall            // in requests, to see whether it helps
	flatForGood            // it helped, and the ledger was replaced
)

// flatten returns a ledger without tool calls and without anything that only the provider of an earlier message can read:
// calls and results become notes behind the user message that led to them. It is what is left to try when a provider
// refuses a history that is valid. It reports whether anything is different.
func flatten(messages []sessions.Message) (flat []sessions.Message, changed bool) {
	names := map[string]string{}
	for _, m := range messages {
		plain := sessions.Message{Role: m.Role, Text: printable(m.Text), Pictures: m.Pictures}
		switch {
		case m.Role == sessions.RoleTool:
			note(&flat, "[%s returned: %s]", names[m.ToolCallID], plain.Text)
		case len(m.ToolCalls) > 0:
			if plain.Text != "" {
				note(&flat, "[You said: %s]", plain.Text)
			}
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Name
				note(&flat, "[You called %s with %s]", c.Name, printable(c.Arguments))
			}
		default:
			flat = append(flat, plain)
			changed = changed || plain.Text != m.Text || !isPlain(m)
			continue
		}
		changed = true
	}
	return flat, changed
}

// note adds a line to the last message, which is a user message in every valid ledger that has tool calls.
func note(flat *[]sessions.Message, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if n := len(*flat); n > 0 {
		(*flat)[n-1].Text += "\n\n" + line
		return
	}
	*flat = append(*flat, sessions.Message{Role: sessions.RoleUser, Text: line})
}

// isPlain tells whether a message has nothing but a role and a text.
func isPlain(m sessions.Message) bool {
	return len(m.Reasoning) == 0 && len(m.ToolCalls) == 0 && m.ToolCallID == ""
}

// printable removes what some servers cannot read: control characters and broken encoding.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && !slices.Contains([]rune{'\n', '\t', '\r'}, r) || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
