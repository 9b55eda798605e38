package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

// The ledger is the list of messages that goes to a provider. Its invariants, which every provider shares:
//
//  1. It begins with a user message, and no message says nothing.
//  2. User and assistant take turns; results stand between an assistant's calls and whatever follows.
//  3. An assistant message with calls is followed at once by exactly one result a call, in call order.
//  4. The ids of one message's calls are distinct and not empty, the names not empty, the arguments JSON objects.

// CheckLedger returns the first broken invariant, nil if all of them hold. An empty ledger is valid.
func CheckLedger(messages []sessions.Message) error { return checkLedgerFrom(messages, 0) }

// checkLedgerFrom is CheckLedger for a ledger whose first n messages are known to be valid.
func checkLedgerFrom(messages []sessions.Message, n int) error {
	for i := n; i < len(messages); {
		m := messages[i]
		if i == 0 && m.Role != sessions.RoleUser {
			return fmt.Errorf("message 0: the ledger begins with role %s", m.Role)
		}
		if i > 0 && m.Role == messages[i-1].Role {
			return fmt.Errorf("message %d: role %s twice in a row", i, m.Role)
		}
		if err := checkMessage(m); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		i++
		for _, c := range m.ToolCalls {
			if i == len(messages) || messages[i].Role != sessions.RoleTool || messages[i].ToolCallID != c.ID {
				return fmt.Errorf("message %d: not the result of call %q", i, c.ID)
			}
			i++
		}
	}
	return nil
}

// checkMessage checks what a user or assistant message must be on its own.
func checkMessage(m sessions.Message) error {
	switch {
	case m.Role != sessions.RoleUser && m.Role != sessions.RoleAssistant:
		return fmt.Errorf("role %q does not belong here", m.Role)
	case m.Blank():
		return errors.New("it says nothing")
	case m.ToolCallID != "":
		return errors.New("it claims to be a result")
	case m.Role == sessions.RoleUser && len(m.ToolCalls) > 0:
		return errors.New("a user message with tool calls")
	}
	seen := map[string]bool{}
	for _, c := range m.ToolCalls {
		switch {
		case c.ID == "" || seen[c.ID]:
			return fmt.Errorf("call id %q is empty or taken", c.ID)
		case strings.TrimSpace(c.Name) == "":
			return fmt.Errorf("call %q has no name", c.ID)
		case !isObject(c.Arguments):
			return fmt.Errorf("the arguments of call %q are no JSON object", c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// isObject tells whether a text is one JSON object.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
}

// RepairReport says what Repair changed, one short phrase each; empty = the ledger was valid.
type RepairReport []string

func (r *RepairReport) add(format string, args ...any) { *r = append(*r, fmt.Sprintf(format, args...)) }

const (
	lostResult   = "The result of this call is missing: it is not known whether it took effect. Check before repeating it."
	emptyMessage = "(an empty message)"
	lostStart    = "(The beginning of this conversation is missing.)"
)

// Repair returns a ledger that passes CheckLedger and differs as little as possible; a valid one is returned as it is.
// The newest user message is always kept. It is pure and deterministic, and leaves its argument alone.
func Repair(messages []sessions.Message) ([]sessions.Message, RepairReport) {
	if CheckLedger(messages) == nil {
		return messages, nil
	}
	r := repairer{in: messages}
	for r.at < len(r.in) {
		m := r.in[r.at]
		r.at++
		switch m.Role {
		case sessions.RoleUser:
			r.user(m)
		case sessions.RoleAssistant:
			r.assistant(m)
		default:
			r.report.add("dropped a message of role %q that answers no call", m.Role)
		}
	}
	return r.out, r.report
}

type repairer struct {
	in, out []sessions.Message
	at      int // the next message of in
	report  RepairReport
}

func (r *repairer) lastIs(role sessions.Role) bool {
	return len(r.out) > 0 && r.out[len(r.out)-1].Role == role
}

func (r *repairer) user(m sessions.Message) {
	clean := sessions.Message{Role: sessions.RoleUser, Text: m.Text, Pictures: m.Pictures}
	if clean.Blank() {
		clean.Text = emptyMessage
		r.report.add("gave an empty user message a text")
	}
	if len(m.ToolCalls) > 0 || m.ToolCallID != "" {
		r.report.add("removed tool fields from a user message")
	}
	if r.lastIs(sessions.RoleUser) {
		r.report.add("joined two user messages")
		last := &r.out[len(r.out)-1]
		last.Text += "\n\n" + clean.Text
		last.Pictures = append(slices.Clip(last.Pictures), clean.Pictures...)
		return
	}
	r.out = append(r.out, clean)
}

func (r *repairer) assistant(m sessions.Message) {
	results := r.results()
	calls, written := r.calls(m.ToolCalls)
	if m.ToolCallID != "" {
		r.report.add("removed a result's field from an assistant message")
	}
	clean := sessions.Message{Role: sessions.RoleAssistant, Text: m.Text, ToolCalls: calls, Reasoning: m.Reasoning}
	if clean.Blank() {
		r.report.add("dropped an empty assistant message")
		return
	}
	if len(r.out) == 0 {
		r.report.add("put a user message before the first assistant message")
		r.out = append(r.out, sessions.Message{Role: sessions.RoleUser, Text: lostStart})
	}
	if r.lastIs(sessions.RoleAssistant) {
		r.report.add("joined two assistant messages")
		last := &r.out[len(r.out)-1]
		last.Text = strings.TrimSpace(last.Text + "\n\n" + clean.Text)
		last.ToolCalls, last.Reasoning = clean.ToolCalls, nil // neither half is as its provider knows it
	} else {
		r.out = append(r.out, clean)
	}
	for i, c := range clean.ToolCalls {
		result, at := results.take(written[i])
		if at < 0 {
			r.report.add("added the missing result of call %q", c.ID)
		} else if at != i {
			r.report.add("moved the result of call %q to its place", c.ID)
		}
		r.out = append(r.out, sessions.Message{Role: sessions.RoleTool, ToolCallID: c.ID, Text: result})
	}
	if n := results.left(); n > 0 {
		r.report.add("dropped %d results that answer no call", n)
	}
}

// calls returns the calls with what makes a provider refuse them put right, and the id that each had before. Nameless
// ones are dropped.
func (r *repairer) calls(calls []sessions.ToolCall) (out []sessions.ToolCall, written []string) {
	for _, c := range calls {
		if strings.TrimSpace(c.Name) == "" {
			r.report.add("dropped a call without a name")
			continue
		}
		if !isObject(c.Arguments) {
			r.report.add("emptied the unreadable arguments of call %q", c.ID)
			c.Arguments = "{}"
		}
		written = append(written, c.ID)
		taken := func(id string) bool {
			return slices.ContainsFunc(out, func(o sessions.ToolCall) bool { return o.ID == id })
		}
		if id := uniqueID(c.ID, taken); id != c.ID {
			r.report.add("renamed call id %q to %q", c.ID, id)
			c.ID = id
		}
		out = append(out, c)
	}
	return out, written
}

// uniqueID returns id, or one made from it that is not taken.
func uniqueID(id string, taken func(string) bool) string {
	if id == "" {
		id = "call"
	} else if !taken(id) {
		return id
	}
	for n := 2; ; n++ {
		if candidate := fmt.Sprintf("%s_%d", id, n); !taken(candidate) {
			return candidate
		}
	}
}

// foundResults are the tool messages that follow an assistant message in the input.
type foundResults struct {
	messages []sessions.Message
	used     []bool
}

func (r *repairer) results() *foundResults {
	from := r.at
	for r.at < len(r.in) && r.in[r.at].Role == sessions.RoleTool {
		r.at++
	}
	return &foundResults{messages: r.in[from:r.at], used: make([]bool, r.at-from)}
}

// take returns the text of the first unused result of a call and where it stood; -1 if there is none.
func (f *foundResults) take(id string) (text string, at int) {
	for i, m := range f.messages {
		if !f.used[i] && m.ToolCallID == id {
			f.used[i] = true
			return m.Text, i
		}
	}
	return lostResult, -1
}

// left counts the results that nobody took.
func (f *foundResults) left() int {
	n := 0
	for _, used := range f.used {
		if !used {
			n++
		}
	}
	return n
}
