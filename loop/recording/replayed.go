package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// replayed is the log of a turn that is played again. What the loop writes is compared with what it wrote; what others
// wrote meanwhile (a progress message's id, a permission) is there when it was.
type replayed struct {
	p       *player
	mu      sync.Mutex // for s
	s       *sessions.Session
	own     []written         // what the loop is to write, in order
	others  []sessions.Record // the rest
	entries int               // how many were written, and were the same
}

// written is one entry of the loop, or one failed attempt to write.
type written struct {
	entry    sessions.Entry
	revision sessions.Revision
	index    int      // of its line
	last     bool     // of its record
	failed   *failure // what the log said instead of taking it
}

// newReplayed sorts what was written after a stretch began. The lines do not say by whom a record was, because others can
// write between the loop's writing and its line; its entries do.
func newReplayed(p *player, s *sessions.Session, records []sessions.Record) *replayed {
	j := &replayed{p: p, s: s}
	for _, l := range p.lines {
		if l.Kind != kindWrote {
			continue
		}
		if l.Error != nil {
			j.own = append(j.own, written{index: l.index, failed: l.Error})
			continue
		}
		for len(records) > 0 && !p.byLoop(records[0]) {
			j.others = append(j.others, records[0])
			records = records[1:]
		}
		if len(records) == 0 {
			break
		}
		r := records[0]
		records = records[1:]
		for i, e := range r.Entries {
			j.own = append(j.own, written{entry: e, revision: r.Revision, index: l.index, last: i == len(r.Entries)-1})
		}
	}
	return j
}

// byLoop tells whether the loop wrote a record, and not those who are beside it: the progress message and the people who
// give permissions, titles, settings or notes.
func (p *player) byLoop(r sessions.Record) bool {
	if p.lines[0].Kind == kindSqueeze {
		return len(r.Entries) > 0 && noted(r.Entries[0], p.lines[0].Turn.ID)
	}
	for _, e := range r.Entries {
		switch e := e.(type) {
		case sessions.Asked, sessions.Decided: // with what comes with them
			return false
		case sessions.NotesChanged:
			return e.Turn != ""
		case sessions.TurnResumed, sessions.TurnParked, sessions.TurnEnded, sessions.AssistantMessage, sessions.ToolResult, sessions.Steered,
			sessions.Compaction, sessions.TodoChanged, sessions.Delegated:
			return true
		}
	}
	return false
}

// noted tells whether an entry is notes that a turn took.
func noted(e sessions.Entry, turn string) bool {
	n, ok := e.(sessions.NotesChanged)
	return ok && n.Turn == turn
}

// Session implements loop.Journal. Like the log of a conversation it returns the session as it is now, which later entries
// do not change.
func (j *replayed) Session() *sessions.Session {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.s.Snapshot()
}

// errPast is why an entry is refused that was not written before the process died.
var errPast = errors.New("the recording ends here")

// Append implements loop.Journal.
func (j *replayed) Append(_ context.Context, entries ...sessions.Entry) error {
	if len(j.own) > 0 && j.own[0].failed != nil {
		w := j.own[0]
		j.own = j.own[1:]
		j.p.mu.Lock()
		defer j.p.mu.Unlock()
		j.p.use(w.index)
		return errors.New(w.failed.Text)
	}
	for _, e := range entries {
		if err := j.write(e); err != nil {
			return err
		}
	}
	return nil
}

// End implements loop.Journal.
func (j *replayed) End(ctx context.Context, _ loop.Outcome, entries ...sessions.Entry) error {
	return j.Append(ctx, entries...)
}

func (j *replayed) write(e sessions.Entry) error {
	if c, ok := e.(sessions.Compaction); ok && len(j.own) > 0 {
		if was, ok := j.own[0].entry.(sessions.Compaction); ok { // in these it carries what the log had, and not the loop
			c.Approvals, c.Notes, c.Settings = was.Approvals, was.Notes, was.Settings
			e = c
		}
	}
	got := comparable(e)
	if len(j.own) == 0 {
		j.p.take("a log entry", clip(got), func(line) bool { return false })
		return errPast
	}
	w := j.own[0]
	if w.failed != nil {
		j.p.differ(w.index, "a log entry", "not written: "+w.failed.Text, clip(got))
		return errPast
	}
	j.own = j.own[1:]
	j.p.same(w.index, "a log entry", comparable(w.entry), got)
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.others) > 0 && j.others[0].Revision < w.revision {
		if r := j.others[0]; r.Revision > j.s.Revision {
			if err := j.s.Apply(r); err != nil {
				return err
			}
		}
		j.others = j.others[1:]
	}
	// One record of the loop may be several now: parallel calls end as they do.
	j.s.Revision = w.revision - 1
	if err := j.s.Apply(sessions.Record{Revision: w.revision, Entries: []sessions.Entry{e}}); err != nil {
		return err
	}
	j.entries++
	if w.last {
		j.p.mu.Lock()
		j.p.use(w.index)
		j.p.mu.Unlock()
	}
	return nil
}

// comparable writes an entry down without what is different every time.
func comparable(e sessions.Entry) string {
	text, err := sessions.Record{Entries: []sessions.Entry{e}}.Encode()
	if err != nil {
		return err.Error()
	}
	return withoutTimes(text)
}

// withoutTimes is the entries of a record without what is different every time; empty if there is no record.
func withoutTimes(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	timeless(v)
	out, err := json.Marshal(v["entries"])
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// timeless takes the times out.
func timeless(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "at")
		delete(v, "started")
		for _, inner := range v {
			timeless(inner)
		}
	case []any:
		for _, inner := range v {
			timeless(inner)
		}
	}
}
