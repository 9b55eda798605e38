package sessions

import (
	"errors"
	"slices"
	"time"
)

// Asked is a question to a person that a call waits with: for permission, or one of the model's own. It is written before
// the question is shown, and again when it is. Such a call has done nothing yet, so it can be made again after a restart.
type Asked struct {
	Turn      string    `json:"turn"`
	Call      string    `json:"call"`           // who waits: a call of the turn, or "<turn>/<call>" of a sub-agent
	ID        string    `json:"id"`             // what its buttons carry; the same whenever this call asks
	Tool      string    `json:"tool,omitempty"` // what permission is asked for; empty = it is the model's question
	Rule      string    `json:"rule,omitempty"` // names exactly this call; empty = it can be allowed only once
	Always    bool      `json:"always,omitempty"`
	Preview   string    `json:"preview,omitempty"` // of the call
	Judged    string    `json:"judged,omitempty"`  // why a model that was asked first has left it to the person
	Choices   []string  `json:"choices,omitempty"` // of the model's question
	Text      string    `json:"text"`              // as it is shown, Markdown
	MessageID string    `json:"message_id,omitempty"`
	Shown     time.Time `json:"shown,omitzero"`
	At        time.Time `json:"at"`
}

// Decided is what came of a question, or who else has allowed a call that would have been asked about. It is written
// before the call goes on. There is one for each question.
type Decided struct {
	Turn    string    `json:"turn"`
	Call    string    `json:"call"`
	Tool    string    `json:"tool,omitempty"`
	Allowed bool      `json:"allowed,omitempty"`
	Extent  string    `json:"extent,omitempty"` // of a permission: once, session, always
	Answer  string    `json:"answer,omitempty"` // to the model's question
	Item    ItemID    `json:"item,omitempty"`   // the message with that answer
	Note    string    `json:"note,omitempty"`   // why not, or on what ground
	By      string    `json:"by,omitempty"`     // stable id of the person; empty = nobody has decided
	At      time.Time `json:"at"`
}

// ErrDecided is why a second Decided of a question is refused.
var ErrDecided = errors.New("the question has been decided")

// Question is a question of an open turn.
type Question struct {
	Asked
	Decided *Decided `json:"decided,omitempty"` // nil = it waits
}

func (Asked) kind() string   { return "asked" }
func (Decided) kind() string { return "decided" }

// Question returns the question of the open turn that has an id.
func (s *Session) Question(id string) (Question, bool) {
	return s.question(func(q Question) bool { return q.ID == id })
}

// Waiting returns the question of the open turn that waits: for permission, or the model's own.
func (s *Session) Waiting(permission bool) (Question, bool) {
	return s.question(func(q Question) bool { return q.Decided == nil && (q.Tool != "") == permission })
}

func (s *Session) question(is func(Question) bool) (Question, bool) {
	if s.Turn == nil {
		return Question{}, false
	}
	i := slices.IndexFunc(s.Turn.Questions, is)
	if i < 0 {
		return Question{}, false
	}
	return s.Turn.Questions[i], true
}

// asked remembers a question. The list is never changed in place, because copies of the session share it.
func (t *Turn) asked(e Asked) {
	t.Questions = slices.Clone(t.Questions)
	if i := slices.IndexFunc(t.Questions, func(q Question) bool { return q.Call == e.Call }); i >= 0 {
		t.Questions[i].Asked = e // it may have been decided before it was known to be shown
		return
	}
	t.Questions = append(t.Questions, Question{Asked: e})
}

// decided remembers what came of a question, and of a call that was not asked about, too.
func (t *Turn) decided(e Decided) error {
	t.Questions = slices.Clone(t.Questions)
	i := slices.IndexFunc(t.Questions, func(q Question) bool { return q.Call == e.Call })
	switch {
	case i < 0:
		t.Questions = append(t.Questions, Question{Asked{Turn: e.Turn, Call: e.Call, Tool: e.Tool, At: e.At}, &e})
	case t.Questions[i].Decided != nil:
		return ErrDecided
	default:
		t.Questions[i].Decided = &e
	}
	return nil
}

// answered forgets the question of a call that has its result.
func (t *Turn) answered(call string) {
	t.Questions = slices.DeleteFunc(slices.Clone(t.Questions), func(q Question) bool { return q.Call == call })
}
