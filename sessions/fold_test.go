package sessions

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// writer draws the log that a correct program could write. It keeps only what it needs for that and none of what the
// fold computes.
type writer struct {
	t       *rapid.T
	records []Record
	outline Outline
	now     Record
	turn    string
	turns   int
	open    []ToolCall
	calls   int
	again   bool // the record being written takes exchanges back
}

// TestFoldProperties: folding all records, folding from the last base, and folding what was encoded and decoded give
// the same session; and the ledger is one that a provider accepts.
func TestFoldProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{t: t, outline: Outline{Key: "k"}}
		for range rapid.IntRange(1, 40).Draw(t, "entries") {
			w.entry()
			switch rapid.IntRange(0, 5).Draw(t, "commit") {
			case 0, 1:
				w.commit()
			case 2:
				w.commit()
				w.put() // as one that only consumes
			}
		}
		w.commit()

		whole := fold(t, w.records)
		if (whole.Turn != nil) != (w.turn != "") {
			t.Fatalf("turn %+v, want %q", whole.Turn, w.turn)
		}
		if whole.Turn != nil && cmp.Diff(w.open, whole.Turn.Open, cmpopts.EquateEmpty()) != "" {
			t.Fatalf("open calls %v, want %v", whole.Turn.Open, w.open)
		}
		checkLedger(t, whole)

		tail := w.records
		for i, r := range w.records {
			if r.Base() {
				tail = w.records[i:]
			}
		}
		if s := w.outline.Current(); s != nil && s.ID != whole.ID || s == nil && whole.ID != "" {
			t.Fatalf("the outline is in %+v, the fold in %q", s, whole.ID)
		}
		same(t, "from the last base", fold(t, tail), whole, cmpopts.IgnoreFields(Session{}, "Total"))
		same(t, "after encoding", fold(t, recoded(t, w.records)), whole)
		same(t, "a second time", fold(t, w.records), whole)
	})
}

func (w *writer) commit() {
	if len(w.now.Entries) == 0 {
		return
	}
	w.put()
}

// put commits even a record without entries.
func (w *writer) put() {
	w.now.Revision = Revision(len(w.records)*2 + 1)
	w.now.At = noon.Add(time.Duration(len(w.records)) * time.Minute)
	w.records = append(w.records, w.now)
	w.outline.Add(w.now)
	w.now, w.again = Record{}, false
}

// entry adds one thing that may happen now.
func (w *writer) entry() {
	choices := []func(){w.prompt, w.notes, w.approved, w.revoked, w.setting, w.undelivered, w.aside}
	switch {
	case w.turn == "":
		choices = append(choices, w.begin, w.begin, w.reset, w.compact, w.takeBack, w.branch, w.resumeSession, w.titled)
	case len(w.open) > 0:
		choices = append(choices, w.result, w.result, w.resume, w.park, w.bubble, w.stream, w.todo, w.delegated)
	default:
		choices = append(choices, w.reply, w.reply, w.steer, w.end, w.compact, w.bubble)
	}
	rapid.SampledFrom(choices).Draw(w.t, "choice")()
}

func (w *writer) add(e Entry) { w.now.Entries = append(w.now.Entries, e) }

func (w *writer) begin() {
	if w.now.Base() && !w.again {
		w.commit() // no turn starts in the record of a base, but that of asking again
	}
	w.claim()
	w.again = false
	w.turns++
	w.turn = fmt.Sprintf("t%d", w.turns)
	w.add(TurnStarted{Turn: w.turn, Inputs: []ItemID{ItemID(w.turn)}, Requester: "U1", At: noon})
	w.add(UserMessage{Turn: w.turn, Message: Message{Role: RoleUser, Text: "go"}})
}

// claim makes sure that the record claims nothing yet.
func (w *writer) claim() {
	if _, items := w.now.Claims(); items != nil {
		w.commit()
	}
}

func (w *writer) steer() {
	w.claim()
	w.add(Steered{Turn: w.turn, Inputs: []ItemID{ItemID(fmt.Sprint("s", len(w.records)))}, Message: Message{Role: RoleUser, Text: "rather so"}})
}

func (w *writer) reply() {
	m := Message{Role: RoleAssistant, Text: "so"}
	var plan []Planned
	for n := range rapid.IntRange(0, 3).Draw(w.t, "calls") {
		w.calls++
		plan = append(plan, Planned{Step: n, Asks: n == 2})
		m.ToolCalls = append(m.ToolCalls, ToolCall{ID: fmt.Sprintf("c%d", w.calls), Name: "ls", Arguments: "{}"})
	}
	w.open = slices.Clone(m.ToolCalls)
	w.add(AssistantMessage{Turn: w.turn, Message: m, Usage: Usage{Input: rapid.IntRange(0, 9).Draw(w.t, "input")}, Plan: plan})
}

func (w *writer) result() {
	i := rapid.IntRange(0, len(w.open)-1).Draw(w.t, "which")
	m := Message{Role: RoleTool, Text: "done", ToolCallID: w.open[i].ID}
	w.open = slices.Delete(w.open, i, i+1)
	w.add(ToolResult{Turn: w.turn, Message: m, Outcome: OutcomeOK})
}

func (w *writer) end() {
	w.add(TurnEnded{Turn: w.turn, Reason: "done", Usage: Usage{Input: 1}, At: noon})
	w.turn = ""
	w.commit()
}

func (w *writer) resume() {
	w.add(TurnResumed{Turn: w.turn, Within: rapid.Bool().Draw(w.t, "within"), At: noon})
}
func (w *writer) park()   { w.add(TurnParked{Turn: w.turn, At: noon}) }
func (w *writer) stream() { w.add(StreamShown{Turn: w.turn, MessageIDs: []string{"m2"}}) }
func (w *writer) bubble() { w.add(BubbleShown{Turn: w.turn, MessageID: "m"}) }
func (w *writer) prompt() { w.add(PromptBuilt{System: fmt.Sprint(len(w.records))}) }
func (w *writer) todo() {
	w.add(TodoChanged{Turn: w.turn, Items: []Todo{{ID: "1", Content: fmt.Sprint(w.calls), Status: TodoPending}}})
}

func (w *writer) delegated() {
	w.add(Delegated{Turn: w.turn, Used: Spent{Rounds: 1, Calls: 2, Tokens: 3}})
}

func (w *writer) notes() {
	owner := rapid.SampledFrom([]string{"a", "b"}).Draw(w.t, "owner")
	w.add(NotesChanged{Owner: owner, Target: "memory", Content: fmt.Sprint(len(w.records))})
}

func (w *writer) approved() {
	rule := rapid.SampledFrom([]string{"r", "s"}).Draw(w.t, "rule")
	w.add(Approved{Rule: rule, For: "U1", Forever: rapid.Bool().Draw(w.t, "forever"), At: noon})
}

func (w *writer) revoked() {
	w.add(Revoked{Rule: rapid.SampledFrom([]string{"r", "s"}).Draw(w.t, "rule"), For: "U1", At: noon})
}

func (w *writer) setting() {
	name := rapid.SampledFrom([]string{"busy", "model"}).Draw(w.t, "name")
	w.add(SettingChanged{Name: name, Value: rapid.SampledFrom([]string{"", "a", "b"}).Draw(w.t, "value"), By: "U1", At: noon})
}

func (w *writer) undelivered() {
	w.add(DeliveryFailed{Row: "r", Reason: fmt.Sprint(len(w.records)), At: noon})
}

func (w *writer) aside() { w.add(Aside{Text: fmt.Sprint(len(w.records))}) }

// reset keeps what was allowed for good and what was set, as the program that writes resets does.
func (w *writer) reset() {
	w.commit()
	before := fold(w.t, w.records)
	w.add(Reset{By: "U1", At: noon, Approvals: before.Forever(), Settings: before.Settings})
}

// compact carries over what a fold of all that was written so far says, as the program that writes compactions does.
func (w *writer) compact() {
	w.commit()
	s := fold(w.t, w.records)
	if s.ID == "" { // there is nothing yet that could be shortened
		return
	}
	c := Compaction{Checkpoint: s.Checkpoint(), Before: 2, After: 1, At: noon}
	c.Messages, c.Count = []Message{{Role: RoleUser, Text: "in short"}}, s.Compactions+1
	if c.Turn != nil {
		c.Turn.From = 0
	}
	w.add(c)
}

// then folds an earlier state as the program does, from its point on, and wants it to be that of the shorter log.
func (w *writer) then(at Point) *Session {
	w.t.Helper()
	var shorter []Record
	for _, r := range w.records {
		if r.Revision <= at.To {
			shorter = append(shorter, r)
		}
	}
	got, err := FoldUntil("k", func(yield func(Record, error) bool) {
		for _, r := range w.records {
			if r.Revision >= at.From && !yield(r, nil) {
				return
			}
		}
	}, at.To)
	if err != nil {
		w.t.Fatal(err)
	}
	same(w.t, "from its point on", got, fold(w.t, shorter), cmpopts.IgnoreFields(Session{}, "Total"))
	return got
}

// goneBack commits what goes back and wants the fold to be that of the shorter log, but for what belongs to people.
func (w *writer) goneBack(e Rewound, then *Session) {
	w.add(e)
	w.commit()
	after := fold(w.t, w.records)
	same(w.t, "after going back", after, then,
		cmpopts.IgnoreFields(Session{}, "Revision", "Base", "ID", "Started", "Prompt", "Notes", "Settings", "Approvals", "Total", "Measured", "MeasuredTo"))
	for _, a := range after.Approvals {
		if _, ok := then.Approval(a.Rule, a.For); !a.Forever && !ok {
			w.t.Fatalf("%+v is allowed although it was not then", a)
		}
	}
}

func (w *writer) takeBack() {
	w.commit()
	s := fold(w.t, w.records)
	if len(s.Exchanges) == 0 {
		return
	}
	back := rapid.SampledFrom(s.Exchanges).Draw(w.t, "back to before")
	then := w.then(back.Point)
	e := s.TakeBack(then, back.Point)
	if rapid.Bool().Draw(w.t, "again") {
		w.add(e)
		w.again = true
		w.begin()
		return
	}
	w.goneBack(e, then)
	after := fold(w.t, w.records)
	if after.ID != s.ID || !samePrompt(after.Prompt, s.Prompt) || cmp.Diff(after.Notes, s.Notes, cmpopts.EquateEmpty()) != "" {
		w.t.Fatalf("session, prompt or notes were taken back: %+v", after)
	}
}

func (w *writer) branch() {
	w.commit()
	s := fold(w.t, w.records)
	if s.ID == "" {
		return
	}
	w.goneBack(s.Branch(), s)
	if after := fold(w.t, w.records); after.ID == s.ID {
		w.t.Fatalf("the branch is still %s", after.ID)
	}
}

func (w *writer) resumeSession() {
	w.commit()
	if len(w.outline.Segments) == 0 {
		return
	}
	to := rapid.SampledFrom(w.outline.Segments).Draw(w.t, "session")
	then := w.then(to.Point)
	w.goneBack(fold(w.t, w.records).Resume(then, to.Point), then)
	if after := fold(w.t, w.records); after.ID != to.ID || w.outline.Current().ID != to.ID {
		w.t.Fatalf("resumed is %s and not %s", after.ID, to.ID)
	}
}

func (w *writer) titled() { w.add(Titled{Title: fmt.Sprint(len(w.records))}) }

func fold(t *rapid.T, records []Record) *Session {
	t.Helper()
	s, err := Fold("k", records)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func recoded(t *rapid.T, records []Record) (again []Record) {
	for _, r := range records {
		data, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		d, err := DecodeRecord(data, r.Revision)
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, d)
	}
	return again
}

func same(t *rapid.T, how string, got, want *Session, opts ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, append(opts, cmpopts.EquateEmpty())...); d != "" {
		t.Fatalf("folded %s (-whole +so):\n%s", how, d)
	}
}

// checkLedger wants each call answered once and by what follows it, but for those that are open at the end.
func checkLedger(t *rapid.T, s *Session) {
	t.Helper()
	var open []string
	for i, m := range s.Messages {
		switch m.Role {
		case RoleTool:
			n := slices.Index(open, m.ToolCallID)
			if n < 0 {
				t.Fatalf("message %d answers %q, open are %q", i, m.ToolCallID, open)
			}
			open = slices.Delete(open, n, n+1)
		default:
			if len(open) > 0 {
				t.Fatalf("message %d comes while %q are open", i, open)
			}
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		}
	}
	want := 0
	if s.Turn != nil {
		want = len(s.Turn.Open)
	}
	if len(open) != want {
		t.Fatalf("open at the end are %q, the session says %d", open, want)
	}
}
