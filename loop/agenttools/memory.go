package agenttools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

type memoryArguments struct {
	Action  string `json:"action" jsonschema:"add, replace, remove or read"`
	Target  string `json:"target" jsonschema:"memory or user"`
	Content string `json:"content,omitempty" jsonschema:"the note, for add and replace"`
	OldText string `json:"old_text,omitempty" jsonschema:"a piece of the note that is meant, for replace and remove; it must be in no other note"`
}

// NewMemory returns the tool memory, which changes the notes about the person whose turn it is.
func NewMemory(notes *Notes) ([]tools.Tool, error) {
	tool, err := newTool(tools.Spec{
		Name: "memory", Toolset: "memory", Description: memoryDescription, Risk: tools.Writes,
		Check: checkMemory,
		Preview: func(arguments json.RawMessage) string {
			var a memoryArguments
			_ = json.Unmarshal(arguments, &a)
			return strings.TrimSpace(a.Action + " " + a.Content)
		},
	}, map[string][]any{"action": {"add", "replace", "remove", "read"}, "target": {TargetMemory, TargetUser}}, notes.change)
	if err != nil {
		return nil, err
	}
	return []tools.Tool{tool}, nil
}

func checkMemory(arguments json.RawMessage) (found []tools.Problem) {
	var a memoryArguments
	if json.Unmarshal(arguments, &a) != nil {
		return nil
	}
	if (a.Action == "add" || a.Action == "replace") && strings.TrimSpace(a.Content) == "" {
		found = append(found, tools.Problem{Argument: "content", Problem: "it is missing", Expected: "the note, for " + a.Action})
	}
	if (a.Action == "replace" || a.Action == "remove") && strings.TrimSpace(a.OldText) == "" {
		found = append(found, tools.Problem{Argument: "old_text", Problem: "it is missing", Expected: "a piece of the note that is meant"})
	}
	return found
}

// change does one call. What it changes stands in the entry; the file follows when that is committed.
func (n *Notes) change(_ context.Context, call loop.SessionCall, a memoryArguments) (tools.Result, []sessions.Entry, error) {
	owner := call.Scope.Person()
	if owner == "" {
		return tools.Wrongf("There is nobody here about whom something could be noted."), nil, nil
	}
	old, err := n.current(call.Session, owner, a.Target)
	if err != nil {
		return tools.Result{}, nil, err
	}
	if a.Action == "read" {
		return tools.Result{Text: n.usage(a.Target, old) + "\n" + old}, nil, nil
	}
	if why := loop.SuspiciousNote(a.Content); why != "" {
		return tools.Wrongf("This was not noted: %s. Notes become part of your instructions, so they hold plain facts only.", why), nil, nil
	}
	text, problem := a.apply(old)
	switch {
	case problem != "":
		return tools.Wrongf("%s", problem), nil, nil
	case text == old:
		return tools.Result{Text: "That is noted already. " + n.usage(a.Target, old)}, nil, nil
	case len([]rune(text)) > n.limits[a.Target] && len([]rune(text)) > len([]rune(old)):
		return tools.Wrongf("This does not fit: %s Replace or remove notes first, or be shorter. The notes are:\n%s",
			n.usage(a.Target, text), old), nil, nil
	}
	return tools.Result{Text: "Done. " + n.usage(a.Target, text)}, []sessions.Entry{sessions.NotesChanged{
		Turn: call.Scope.Turn, Owner: owner, Target: a.Target, Content: text, Before: digest(old), At: time.Now(),
	}}, nil
}

// apply returns the notes after an action, or what speaks against it.
func (a memoryArguments) apply(old string) (text, problem string) {
	notes := blocks(old)
	note := "- " + strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(a.Content), "- ")), "\n", "\n  ")
	if a.Action == "add" {
		if slices.Contains(notes, note) {
			return old, ""
		}
		return strings.Join(append(notes, note), "\n"), ""
	}
	var at []int
	for i, b := range notes {
		if strings.Contains(b, strings.TrimSpace(a.OldText)) {
			at = append(at, i)
		}
	}
	switch {
	case len(at) == 0:
		return old, fmt.Sprintf("No note contains %q. The notes are:\n%s", clip(a.OldText, 100), old)
	case len(at) > 1:
		return old, fmt.Sprintf("%d notes contain %q; give a longer piece of the one that is meant. The notes are:\n%s", len(at), clip(a.OldText, 100), old)
	case a.Action == "replace":
		notes[at[0]] = note
	default:
		notes = slices.Delete(notes, at[0], at[0]+1)
	}
	return strings.TrimSpace(strings.Join(notes, "\n")), ""
}

// usage says how full notes are.
func (n *Notes) usage(target, text string) string {
	return fmt.Sprintf("%s has %d of %d characters.", target, len([]rune(text)), n.limits[target])
}
