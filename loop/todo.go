package loop

import (
	"fmt"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

// TodoList writes the list of what is to be done for the model.
func TodoList(list []sessions.Todo) string {
	if len(list) == 0 {
		return "The list is empty."
	}
	var b strings.Builder
	done := 0
	for _, t := range list {
		box := " "
		switch t.Status {
		case sessions.TodoInProgress:
			box = ">"
		case sessions.TodoCompleted:
			box, done = "x", done+1
		}
		fmt.Fprintf(&b, "- [%s] %s: %s\n", box, t.ID, t.Content)
	}
	fmt.Fprintf(&b, "%d of %d completed.", done, len(list))
	return b.String()
}

// todoHint reminds the model of a list that a compaction has taken out of its sight, as long as something on it is left
// to do.
func todoHint(s *sessions.Session) string {
	unfinished := func(t sessions.Todo) bool { return t.Status != sessions.TodoCompleted }
	if s.Compactions == 0 || !slices.ContainsFunc(s.Todos, unfinished) {
		return ""
	}
	return "\n\nYour list of what is to be done:\n" + TodoList(s.Todos)
}
