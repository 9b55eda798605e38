package sessions

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

// Session is the folded state of a conversation since its last reset: what is needed to go on. It is a plain value
// that belongs to one goroutine.
type Session struct {
	Key      Key
	Revision Revision
	Base     Revision  // of the record that folding began at, or can
	ID       string    // names the segment since the last reset: key@revision of its first record
	Started  time.Time // of the segment
	Messages []Message // the ledger, as it goes to the model after the system prompt
	Prompt   *PromptBuilt
	Turn     *Turn          // the open turn, nil if there is none
	Todos    []Todo         // the model's list of what is to be done
	Notes    []NotesChanged // the last change of each of the notes in this session
	// Approvals are the permissions that reach further than one call.
	Approvals []Approved
	Settings  []SettingChanged // what people have set for this conversation, the newest last
	Exchanges []Exchange       // the turns that can be taken back, the newest last; bounded
	Answered  []ItemID         // what the turns that ended since folding can begin had claimed, the newest last; bounded

	// Measured is the size of the prompt plus the reply of the last model call, in tokens as the provider counted
	// them, and MeasuredTo how many Messages it covers. Zero until a provider has reported.
	Measured   int
	MeasuredTo int

	Asides      []Aside         // what the next turn has to say first
	Undelivered *DeliveryFailed // the last answer of this segment that did not reach its chat, nil if all did

	Compactions int   // of this segment
	Ineffective int   // compactions in a row, the last one included, after which the prompt was measured hardly smaller
	Unjudged    int   // size before the last compaction, as long as no provider has measured what became of it
	Total       Usage // of the ended turns since folding started
}

// mostAnswered bounds Session.Answered.
const mostAnswered = 200

// Turn is an open turn.
type Turn struct {
	ID        string     `json:"id"`
	Inputs    []ItemID   `json:"inputs,omitempty"`
	Requester string     `json:"requester"`
	About     []ItemID   `json:"about,omitempty"` // messages beside the inputs a change of which concerns it: see TurnStarted, and answers to its questions
	Started   time.Time  `json:"started"`
	Rounds    int        `json:"rounds"`  // model replies so far
	Calls     int        `json:"calls"`   // tool calls so far
	Resumed   int        `json:"resumed"` // how often it went on after a crash
	Parked    bool       `json:"parked,omitempty"`
	Usage     Usage      `json:"usage"`
	Open      []ToolCall `json:"open,omitempty"`      // calls of the last assistant message without a result, in call order
	Plan      Plan       `json:"plan,omitempty"`      // of that message's calls; it never changes
	Questions []Question `json:"questions,omitempty"` // of calls that have no result yet
	Bubble    string     `json:"bubble,omitempty"`    // message id of the progress message, empty if none is known
	Stream    []string   `json:"stream,omitempty"`    // message ids of the answer that is being written
	From      int        `json:"from"`                // index in Messages of the turn's first message
	Delegated Spent      `json:"delegated,omitzero"`  // by its calls; not part of the counts above

	Posting *StreamPost `json:"posting,omitempty"` // what may have been posted behind Stream, nil if nothing
}

// Fold returns the session of a conversation from its records: all of them, or those from a base on. What stands in
// the first record before its last base entry is passed over: it ends what was before, and the base replaces that.
func Fold(key Key, records []Record) (*Session, error) {
	return FoldUntil(key, func(yield func(Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}, math.MaxUint64)
}

// FoldUntil is Fold for the state after the record to (see Point). It keeps no record.
func FoldUntil(key Key, records iter.Seq2[Record, error], to Revision) (*Session, error) {
	s := &Session{Key: key}
	for r, err := range records {
		if err != nil {
			return nil, fmt.Errorf("fold %s: %w", key, err)
		}
		if r.Revision > to {
			break
		}
		if s.Revision == 0 {
			r.Entries = r.Entries[max(0, r.lastBase()):]
		}
		if err := s.Apply(r); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Apply folds one more record into the session. It fails on an entry that cannot follow what was there, which means
// that the log was written by a faulty program; the session is unusable then.
func (s *Session) Apply(r Record) error {
	if r.Revision <= s.Revision {
		return fmt.Errorf("fold %s: record %d follows %d", s.Key, r.Revision, s.Revision)
	}
	before := &Point{s.Base, s.Revision} // of a turn that starts here; nil = there is no such state between turns
	switch {
	case s.Turn != nil:
		before = nil
	case s.ID == "": // whatever the first record with an entry is
		before = &Point{}
	}
	s.Revision = r.Revision
	if s.ID == "" && len(r.Entries) > 0 {
		s.begin(r)
	}
	for _, e := range r.Entries {
		if start, ok := e.(TurnStarted); ok && s.Turn == nil {
			if before == nil {
				return fmt.Errorf("fold %s at record %d: turn %s starts in the record of what must come before it", s.Key, r.Revision, start.Turn)
			}
			s.begun(start, *before)
		}
		if err := s.apply(e, r); err != nil {
			return fmt.Errorf("fold %s at record %d: %w", s.Key, r.Revision, err)
		}
		switch e := e.(type) {
		case Rewound:
			before = &e.Point
		case Compaction, Reset:
			before = nil
		}
	}
	return nil
}

// begin starts a segment at a record.
func (s *Session) begin(r Record) {
	*s = Session{Key: s.Key, Revision: r.Revision, Base: r.Revision, ID: segmentOf(s.Key, r.Revision), Started: r.At}
}

// segmentOf names the segment that begins at a record.
func segmentOf(key Key, at Revision) string { return fmt.Sprintf("%s@%d", key, at) }

func (s *Session) apply(e Entry, r Record) error {
	switch e := e.(type) {
	case TurnStarted:
		if s.Turn != nil {
			return fmt.Errorf("turn %s starts within turn %s", e.Turn, s.Turn.ID)
		}
		s.Turn = &Turn{ID: e.Turn, Inputs: e.Inputs, Requester: e.Requester, About: e.About, Started: e.At, From: len(s.Messages)}
	case TurnResumed:
		return s.inTurn(e.Turn, func(t *Turn) {
			if !t.Parked && !e.Within {
				t.Resumed++
			}
			t.Parked = false
		})
	case TurnParked:
		return s.inTurn(e.Turn, func(t *Turn) { t.Parked = true })
	case Steered:
		s.Messages = append(s.Messages, e.Message)
		return s.inTurn(e.Turn, func(t *Turn) { t.Inputs = append(slices.Clip(t.Inputs), e.Inputs...) })
	case UserMessage:
		s.Messages, s.Asides = append(s.Messages, e.Message), nil
	case Aside:
		s.Asides = append(slices.Clip(s.Asides), e)
	case AssistantMessage:
		return s.assistant(e)
	case ToolResult:
		return s.result(e)
	case TurnEnded:
		if err := s.inTurn(e.Turn, func(*Turn) {}); err != nil {
			return err
		}
		if len(s.Turn.Open) > 0 {
			return fmt.Errorf("turn %s ends with %d open calls", e.Turn, len(s.Turn.Open))
		}
		s.Answered = append(append(s.Answered, s.Turn.Inputs...), s.Turn.About...)
		s.Answered = s.Answered[max(0, len(s.Answered)-mostAnswered):]
		s.Turn = nil
		s.Total = s.Total.Add(e.Usage)
	case PromptBuilt:
		s.Prompt = &e
	case Compaction:
		s.restore(e.Checkpoint, r.Revision)
		s.Unjudged = e.Before
	case Rewound:
		return s.rewound(e, r)
	case Titled: // it is for people: see Outline
	case Edited: // it counts when somebody wants the message answered anew
	case Reset:
		if s.Turn != nil {
			return fmt.Errorf("reset within turn %s", s.Turn.ID)
		}
		s.begin(r)
		s.Approvals, s.Settings = e.Approvals, e.Settings
	case SettingChanged:
		s.settingChanged(e)
	case DeliveryFailed:
		s.Undelivered = &e
	case Approved:
		s.approved(e)
	case Revoked:
		s.revoked(e)
	case Asked:
		return s.inTurn(e.Turn, func(t *Turn) { t.asked(e) })
	case Decided:
		return s.decided(e)
	case MessageSent:
		return s.inTurn(e.Turn, func(*Turn) {})
	case BubbleShown:
		return s.inTurn(e.Turn, func(t *Turn) { t.Bubble = e.MessageID })
	case StreamShown:
		return s.inTurn(e.Turn, func(t *Turn) { t.Stream, t.Posting = e.MessageIDs, e.Next })
	case TodoChanged:
		s.Todos = e.Items
		return s.inTurn(e.Turn, func(*Turn) {})
	case NotesChanged:
		s.notesChanged(e)
	case Delegated:
		return s.inTurn(e.Turn, func(t *Turn) { t.Delegated = t.Delegated.Add(e.Used) })
	default:
		return fmt.Errorf("entry %T is not known", e)
	}
	return nil
}

func (s *Session) assistant(e AssistantMessage) error {
	s.Messages = append(s.Messages, e.Message)
	if e.Usage.Input > 0 {
		s.Measured, s.MeasuredTo = e.Usage.Input+e.Usage.Output, len(s.Messages)
		s.judge()
	}
	return s.inTurn(e.Turn, func(t *Turn) {
		t.Rounds++
		t.Calls += len(e.Message.ToolCalls)
		t.Usage = t.Usage.Add(e.Usage)
		t.Open, t.Plan = slices.Clone(e.Message.ToolCalls), planOf(e)
	})
}

func (s *Session) result(e ToolResult) error {
	if s.Turn == nil {
		return fmt.Errorf("result of call %s outside a turn", e.Message.ToolCallID)
	}
	i := slices.IndexFunc(s.Turn.Open, func(c ToolCall) bool { return c.ID == e.Message.ToolCallID })
	if i < 0 {
		return fmt.Errorf("result of call %s, which is not open", e.Message.ToolCallID)
	}
	s.Turn.Open = slices.Delete(s.Turn.Open, i, i+1)
	if len(s.Turn.Open) == 0 {
		s.Turn.Plan = nil
	}
	s.Turn.answered(e.Message.ToolCallID)
	s.Messages = append(s.Messages, e.Message)
	return nil
}

// judge tells, at the first measurement after a compaction, whether it took at least a fifth away.
func (s *Session) judge() {
	if s.Unjudged == 0 {
		return
	}
	if s.Measured > s.Unjudged/5*4 {
		s.Ineffective++
	} else {
		s.Ineffective = 0
	}
	s.Unjudged = 0
}

func (s *Session) inTurn(id string, change func(*Turn)) error {
	if s.Turn == nil || s.Turn.ID != id {
		return fmt.Errorf("entry of turn %s, which is not open", id)
	}
	change(s.Turn)
	return nil
}

func (s *Session) decided(e Decided) error {
	var refused error
	err := s.inTurn(e.Turn, func(t *Turn) {
		if refused = t.decided(e); refused == nil && e.Item != "" {
			t.About = append(slices.Clip(t.About), e.Item)
		}
	})
	return cmp.Or(err, refused)
}
