package gateway

import (
	"fmt"
	"slices"

	"github.com/talaria-agent/talaria/sessions"
)

// checklistItems is how many items of the list of things to do are shown; of a longer one, those around the first that
// is not done yet.
const checklistItems = 10

// checklist writes the model's list of what is to be done for a person, a line an item.
func checklist(list []sessions.Todo) []string {
	next := slices.IndexFunc(list, func(t sessions.Todo) bool { return t.Status != sessions.TodoCompleted })
	if next < 0 {
		next = len(list)
	}
	from := max(0, min(next-2, len(list)-checklistItems))
	to := min(len(list), from+checklistItems)
	var rows []string
	if from > 0 {
		rows = append(rows, fmt.Sprintf("… %d earlier", from))
	}
	for _, t := range list[from:to] {
		box := "☐"
		switch t.Status {
		case sessions.TodoInProgress:
			box = "▶️"
		case sessions.TodoCompleted:
			box = "☑️"
		}
		rows = append(rows, box+" "+t.Content)
	}
	if more := len(list) - to; more > 0 {
		rows = append(rows, fmt.Sprintf("… %d more", more))
	}
	return rows
}
