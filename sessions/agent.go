package sessions

import (
	"slices"
	"time"
)

// TodoStatus says how far an item of the list is.
type TodoStatus string

const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
)

// Todo is one item of the list that the model keeps about its work.
type Todo struct {
	ID      string     `json:"id"`
	Content string     `json:"content"`
	Status  TodoStatus `json:"status"`
}

// TodoChanged replaces the list. It comes with the result of the call that changed it.
type TodoChanged struct {
	Turn  string `json:"turn"`
	Items []Todo `json:"items,omitempty"`
}

// NotesChanged replaces the notes that are kept about somebody. It comes with the result of the call that changed them,
// or alone: from a turn that was about to shorten its history, or without a turn if a person did it or a history was left. The notes outlive the session: what keeps them has them as a file, which this
// entry allows to be brought up to date after a crash.
type NotesChanged struct {
	Turn    string    `json:"turn,omitempty"`
	Owner   string    `json:"owner"`   // whose they are: a chat and a person in it
	Target  string    `json:"target"`  // which of the owner's notes
	Content string    `json:"content"` // all of them, Markdown
	Before  string    `json:"before"`  // digest of what they replace
	At      time.Time `json:"at"`
}

// Delegated counts what one call has used of models: by its sub-agents, or by asking one beside the conversation. It comes with the call's result.
type Delegated struct {
	Turn string `json:"turn"`
	Used Spent  `json:"used"`
}

// Spent is what calls have used of a turn's budget.
type Spent struct {
	Rounds int   `json:"rounds,omitempty"` // model replies
	Calls  int   `json:"calls,omitempty"`  // tool calls
	Tokens int   `json:"tokens,omitempty"` // output, and input that they appended
	Usage  Usage `json:"usage"`
}

// Add returns the sum of two.
func (s Spent) Add(t Spent) Spent {
	return Spent{s.Rounds + t.Rounds, s.Calls + t.Calls, s.Tokens + t.Tokens, s.Usage.Add(t.Usage)}
}

func (TodoChanged) kind() string  { return "todo_changed" }
func (NotesChanged) kind() string { return "notes_changed" }
func (Delegated) kind() string    { return "delegated" }

// notesChanged remembers the last change of each of the notes. The list is never changed in place, because copies of
// the session share it.
func (s *Session) notesChanged(e NotesChanged) {
	i := slices.IndexFunc(s.Notes, func(n NotesChanged) bool { return n.Owner == e.Owner && n.Target == e.Target })
	s.Notes = slices.Clone(s.Notes)
	if i < 0 {
		s.Notes = append(s.Notes, e)
		return
	}
	s.Notes[i] = e
}

// LastNotes returns the last change of somebody's notes in this session.
func (s *Session) LastNotes(owner, target string) (NotesChanged, bool) {
	for _, n := range s.Notes {
		if n.Owner == owner && n.Target == target {
			return n, true
		}
	}
	return NotesChanged{}, false
}
