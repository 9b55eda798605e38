package loop

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

// What stands around a summary in the ledger. The next compression finds the summary by these, so that it can be
// updated instead of being summarised again.
const (
	summaryBegin = "[Summary of what came before, written by the program. It is for reference: nothing in it is a new " +
		"request, and what it calls done must not be done again.]\n\n"
	summaryEnd   = "\n\n[End of the summary. The newest messages follow as they were.]"
	summaryTaken = "I have read the summary."
	stepsFollow  = "(The steps up to here are in the summary that follows.)"
)

// unit is messages that must stay together: one user message, or one assistant message with its results.
type unit []sessions.Message

func (u unit) role() sessions.Role { return u[0].Role }

// layout is a ledger taken apart for compression.
type layout struct {
	first   sessions.Message  // the first user message
	reply   sessions.Message  // the answer to it; blank if the first turn has none yet
	earlier string            // the summary of the compression before this one
	middle  []unit            // what is to be summarised
	request *sessions.Message // the newest user message, if it stands neither at the beginning nor in the tail
	tail    []unit            // what stays, from the newest user or assistant message on at the latest
}

// units takes a valid ledger apart.
func units(messages []sessions.Message) []unit {
	var out []unit
	for i := 0; i < len(messages); {
		n := 1 + len(messages[i].ToolCalls)
		out = append(out, unit(slices.Clone(messages[i:i+n])))
		i += n
	}
	return out
}

// layOut plans the compression of a valid ledger by the tags of its units.
func layOut(messages []sessions.Message, budget, most int) (l layout) {
	all := units(messages)
	for i, t := range tagUnits(all, budget, most) {
		u := all[i]
		switch {
		case t == tagOrdinary:
			l.middle = append(l.middle, u)
		case t == tagRecent:
			l.tail = append(l.tail, u)
		case t == tagSystem:
			if text, ok := strings.CutPrefix(u[0].Text, summaryBegin); ok {
				l.earlier, _ = strings.CutSuffix(text, summaryEnd)
			}
		case i == 0:
			l.first = u[0]
		case u.role() == sessions.RoleAssistant:
			l.reply = u[0]
		default:
			l.request = &u[0]
		}
	}
	return l
}

func lastOf(all []unit, role sessions.Role) int {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].role() == role {
			return i
		}
	}
	return -1
}

func estimateUnits(all []unit) int {
	n := 0
	for _, u := range all {
		n += estimate(u...)
	}
	return n
}

// cutResults shortens the tool results in units to limit tokens each and tells whether it found one to shorten.
func cutResults(all []unit, limit int) bool {
	found := false
	for _, u := range all {
		for i := range u {
			if u[i].Role == sessions.RoleTool && estimateText(u[i].Text) > limit {
				u[i].Text = cutTokens(u[i].Text, limit)
				found = true
			}
		}
	}
	return found
}

// cutTokens leaves out the middle of a text that has more than about limit tokens.
func cutTokens(text string, limit int) string {
	tokens := estimateText(text)
	if tokens <= limit {
		return text
	}
	size := int(int64(len(text)) * int64(limit) / int64(tokens))
	head, tail := cut(text, math.MaxInt, 0, size)
	omitted := len(text) - len(head) - len(tail)
	return fmt.Sprintf("%s\n[... %d bytes are left out here to save room ...]\n%s", head, omitted, tail)
}

// assemble returns the shorter ledger and what each message is: the first exchange, the summary as a user message, the
// newest messages.
func (l layout) assemble(summary string) (messages []sessions.Message, tags []tag) {
	add := func(t tag, m ...sessions.Message) {
		for range m {
			tags = append(tags, t)
		}
		messages = append(messages, m...)
	}
	user := func(text string) sessions.Message { return sessions.Message{Role: sessions.RoleUser, Text: text} }
	assistant := func(text string) sessions.Message { return sessions.Message{Role: sessions.RoleAssistant, Text: text} }

	add(tagTask, user(cutTokens(l.first.Text, maxFirst)))
	if l.reply.Blank() {
		add(tagTask, assistant(stepsFollow))
	} else {
		add(tagTask, assistant(cutTokens(l.reply.Text, maxFirst)))
	}
	add(tagSystem, user(summaryBegin+summary+summaryEnd))
	if l.request != nil || len(l.tail) > 0 && l.tail[0].role() == sessions.RoleUser {
		add(tagSystem, assistant(summaryTaken))
	}
	if l.request != nil {
		add(tagTask, *l.request)
	}
	for _, u := range l.tail {
		add(tagRecent, u...)
	}
	return messages, tags
}

// isSummary tells whether a message is a summary that an earlier compression wrote.
func isSummary(m sessions.Message) bool {
	return m.Role == sessions.RoleUser && strings.HasPrefix(m.Text, summaryBegin)
}

// newestRequest returns where the newest message of a person stands in a ledger that may hold a summary.
func newestRequest(messages []sessions.Message) int {
	for i := len(messages) - 1; i > 0; i-- {
		if messages[i].Role == sessions.RoleUser && !isSummary(messages[i]) {
			return i
		}
	}
	return 0
}
