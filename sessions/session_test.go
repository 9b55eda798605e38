package sessions

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The little conversations below are built from these.
var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	user  = Message{Role: RoleUser, Text: "question"}
	reply = Message{Role: RoleAssistant, Text: "answer"}
	calls = Message{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "c1", Name: "ls"}, {ID: "c2", Name: "cat"}}}
)

func result(call string) ToolResult {
	return ToolResult{Turn: "t1", Message: Message{Role: RoleTool, Text: "of " + call, ToolCallID: call}, Outcome: OutcomeOK}
}

// log makes records of entries, one record each step, from revision 5 on in steps of 3.
func log(steps ...[]Entry) (records []Record) {
	for i, entries := range steps {
		records = append(records, Record{Revision: Revision(5 + 3*i), At: noon.Add(time.Duration(i) * time.Minute), Entries: entries})
	}
	return records
}

func TestFoldATurn(t *testing.T) {
	usage := Usage{Input: 100, Output: 10, Cached: 50}
	s, err := Fold("k", log(
		[]Entry{TurnStarted{Turn: "t1", Inputs: []ItemID{"i1"}, Requester: "U1", At: noon}, UserMessage{Turn: "t1", Message: user}},
		[]Entry{PromptBuilt{System: "be kind"}},
		[]Entry{AssistantMessage{Turn: "t1", Message: calls, Usage: usage}},
		nil, // a record without entries, as one that only consumes
		[]Entry{BubbleShown{Turn: "t1", MessageID: "m1"}, StreamShown{Turn: "t1", MessageIDs: []string{"m2"}}, result("c2")},
		[]Entry{TurnResumed{Turn: "t1"}},
	))
	if err != nil {
		t.Fatal(err)
	}
	want := &Session{
		Key: "k", Revision: 20, Base: 5, ID: "k@5", Started: noon, Messages: []Message{user, calls, result("c2").Message},
		Prompt: &PromptBuilt{System: "be kind"}, Measured: 110, MeasuredTo: 2,
		Exchanges: []Exchange{{Turn: "t1", Requester: "U1"}},
		Turn: &Turn{
			ID: "t1", Inputs: []ItemID{"i1"}, Requester: "U1", Started: noon, Rounds: 1, Calls: 2, Resumed: 1, Usage: usage,
			Open: calls.ToolCalls[:1], Bubble: "m1", Stream: []string{"m2"},
		},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Fatalf("in the turn (-want +got):\n%s", d)
	}

	for i, e := range []Entry{result("c1"), AssistantMessage{Turn: "t1", Message: reply}, TurnEnded{Turn: "t1", Usage: usage}} {
		if err := s.Apply(Record{Revision: Revision(30 + i), Entries: []Entry{e}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Answered) != 1 || s.Answered[0] != "i1" {
		t.Errorf("answered %v", s.Answered)
	}
	if s.Turn != nil || s.Total != usage || s.Revision != 32 || s.MeasuredTo != 2 || len(s.Messages) != 5 {
		t.Fatalf("after the turn: %+v", s)
	}
}

func TestFoldAtABase(t *testing.T) {
	turn := Turn{ID: "t2", Open: []ToolCall{{ID: "c9"}}, From: 1}
	compaction := Compaction{Checkpoint: Checkpoint{
		Messages: []Message{user}, Prompt: &PromptBuilt{System: "shorter"}, Turn: &turn, Segment: "k@5", Started: noon, Count: 3,
	}}
	records := log(
		[]Entry{TurnStarted{Turn: "t1"}, UserMessage{Turn: "t1", Message: user}},
		[]Entry{AssistantMessage{Turn: "t1", Message: calls, Usage: Usage{Input: 9}}},
		[]Entry{result("c1"), result("c2"), TurnEnded{Turn: "t1"}, Reset{By: "U1"}, UserMessage{Message: reply}},
		[]Entry{TurnStarted{Turn: "t2"}},
		[]Entry{PromptBuilt{System: "long"}, compaction},
		[]Entry{AssistantMessage{Turn: "t2", Message: calls}},
	)

	s, err := Fold("k", records[2:3])
	if err != nil {
		t.Fatal(err)
	}
	afterReset := &Session{Key: "k", Revision: 11, Base: 11, ID: "k@11", Started: records[2].At, Messages: []Message{reply}}
	if d := cmp.Diff(afterReset, s); d != "" {
		t.Fatalf("from the reset (-want +got):\n%s", d)
	}

	for range 2 { // folding changes no record, so it can be done again
		if s, err = Fold("k", records[4:]); err != nil {
			t.Fatal(err)
		}
		want := &Session{
			Key: "k", Revision: 20, Base: 17, ID: "k@5", Started: noon, Messages: []Message{user, calls},
			Prompt: compaction.Prompt, Compactions: 3,
			Turn: &Turn{ID: "t2", Rounds: 1, Calls: 2, Open: calls.ToolCalls, From: 1},
		}
		if d := cmp.Diff(want, s); d != "" {
			t.Fatalf("from the compaction (-want +got):\n%s", d)
		}
		if all, err := Fold("k", records); err != nil || cmp.Diff(want, all) != "" {
			t.Fatalf("from the beginning: %v\n%s", err, cmp.Diff(want, all))
		}
	}
}

func TestFoldRefuses(t *testing.T) {
	begun := []Entry{TurnStarted{Turn: "t1"}, AssistantMessage{Turn: "t1", Message: calls}}
	for name, c := range map[string]struct {
		entries []Entry
		want    string
	}{
		"two turns":             {[]Entry{TurnStarted{Turn: "t2"}}, "turn t2 starts within turn t1"},
		"reset in a turn":       {[]Entry{Reset{}}, "reset within turn t1"},
		"end with open calls":   {[]Entry{result("c1"), TurnEnded{Turn: "t1"}}, "1 open calls"},
		"end of another turn":   {[]Entry{TurnEnded{Turn: "t2"}}, "turn t2, which is not open"},
		"reply in another turn": {[]Entry{AssistantMessage{Turn: "t2"}}, "turn t2, which is not open"},
		"stream elsewhere":      {[]Entry{StreamShown{Turn: "t2"}}, "turn t2, which is not open"},
		"bubble elsewhere":      {[]Entry{BubbleShown{Turn: "t2"}}, "turn t2, which is not open"},
		"resumed elsewhere":     {[]Entry{TurnResumed{Turn: "t2"}}, "turn t2, which is not open"},
		"result twice":          {[]Entry{result("c1"), result("c1")}, "call c1, which is not open"},
		"result of no call":     {[]Entry{result("c3")}, "call c3, which is not open"},
		"result after the turn": {[]Entry{result("c1"), result("c2"), TurnEnded{Turn: "t1"}, result("c1")}, "outside a turn"},
		"rewound in a turn":     {[]Entry{Rewound{}}, "rewound within turn t1"},
		"rewound into a turn":   {[]Entry{result("c1"), result("c2"), TurnEnded{Turn: "t1"}, Rewound{Checkpoint: Checkpoint{Turn: &Turn{ID: "t0"}}}}, "rewound into turn t0"},
		"turn with its base":    {[]Entry{result("c1"), result("c2"), TurnEnded{Turn: "t1"}, Reset{}, TurnStarted{Turn: "t2"}}, "turn t2 starts in the record"},
		"pointer":               {[]Entry{&Reset{}}, "not known"},
	} {
		_, err := Fold("k", log(begun, c.entries))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
	records := log(begun, nil)
	slices.Reverse(records)
	if _, err := Fold("k", records); err == nil {
		t.Error("records out of order were folded")
	}
}
