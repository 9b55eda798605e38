package sessions

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everyEntry has one value of each kind with all fields set; TestEntriesAreComplete sees to that.
func everyEntry() []Entry {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	call := ToolCall{ID: "c1", Name: "read_file", Arguments: `{"path": "<a&b>"`}
	user := Message{Role: RoleUser, Text: "hello \u2028 🙂", Pictures: []Picture{{File: "attachments/a.png", Digest: "d1"}}}
	assistant := Message{Role: RoleAssistant, Text: "I look", ToolCalls: []ToolCall{call}}
	usage := Usage{Input: 7, Output: 5, Cached: 3}
	prompt := PromptBuilt{System: "be <kind>\n", Tools: []byte(`[ {"name": "<x>"} ]`)}
	asked := Asked{
		Turn: "t1", Call: "c1", ID: "t1.x", Tool: "terminal", Rule: "r", Always: true, Preview: "ls <x>", Judged: "m: x", Choices: []string{"a"}, Text: "May I?",
		MessageID: "m2", Shown: at, At: at,
	}
	decided := Decided{
		Turn: "t1", Call: "c1", Tool: "terminal", Allowed: true, Extent: "once", Answer: "a", Item: "i4", Note: "n", By: "U2", At: at,
	}
	turn := Turn{
		ID: "t1", Inputs: []ItemID{"i1"}, Requester: "U1", Started: at, Rounds: 2, Calls: 3, Resumed: 1, Usage: usage,
		Open: []ToolCall{call}, Plan: Plan{"c1": {Step: 2}}, Bubble: "m1", From: 1, Parked: true,
		Questions: []Question{{Asked: asked, Decided: &decided}}, Delegated: Spent{Rounds: 1, Calls: 2, Tokens: 3, Usage: usage},
	}
	todos := []Todo{{ID: "1", Content: "look", Status: TodoInProgress}}
	notes := NotesChanged{Turn: "t1", Owner: "telegram/7/dm/1/1", Target: "memory", Content: "- likes <tea>\n", Before: "d1", At: at}
	approved := Approved{Rule: "r", Tool: "terminal", Preview: "ls <x>", Forever: true, For: "U1", By: "U2", At: at}
	setting := SettingChanged{Name: "busy", Value: "queue", Was: "queue", By: "U1", At: at}
	failed := DeliveryFailed{Row: "r1", Reason: "it is <archived>", At: at}
	checkpoint := Checkpoint{
		Messages: []Message{user, assistant}, Prompt: &prompt, Turn: &turn, Segment: "k@1", Started: at,
		Count: 2, Ineffective: 1, Todos: todos, Notes: []NotesChanged{notes}, Approvals: []Approved{approved},
		Settings: []SettingChanged{setting}, Undelivered: &failed, Asides: []Aside{{Text: "by <hand>"}},
		Exchanges: []Exchange{{Point: Point{From: 1, To: 2}, Turn: "t0", Requester: "U1"}},
	}
	return []Entry{
		TurnStarted{Turn: "t1", Inputs: []ItemID{"i1", "i2"}, Requester: "U1", About: []ItemID{"i0"}, At: at},
		Edited{Original: "i0", Text: "<so>", At: at},
		TurnResumed{Turn: "t1", Within: true, At: at},
		UserMessage{Turn: "t1", Message: user},
		AssistantMessage{Turn: "t1", Message: assistant, Usage: usage, Model: "m", Plan: []Planned{{Step: 1, Asks: true}}},
		ToolResult{Turn: "t1", Message: Message{Role: RoleTool, Text: "x", ToolCallID: "c1"}, Outcome: OutcomeOK},
		TurnEnded{Turn: "t1", Reason: "done", Error: "none", Usage: usage, Rounds: 2, At: at},
		prompt,
		Compaction{Checkpoint: checkpoint, Before: 9, After: 4, Summary: true, At: at},
		Rewound{
			Checkpoint: checkpoint, Point: Point{From: 3, To: 5}, By: "U1", At: at,
			Answered: []ItemID{"i0"}, Measured: 70, MeasuredTo: 2, Unjudged: 90,
		},
		Titled{Title: "plans", By: "U1", At: at},
		Reset{By: "U1", At: at, Approvals: []Approved{approved}, Settings: []SettingChanged{setting}},
		setting, failed,
		Aside{Text: "by <hand>"},
		TurnParked{Turn: "t1", At: at},
		Steered{Turn: "t1", Inputs: []ItemID{"i3"}, Message: user},
		approved, asked, decided,
		Revoked{Rule: "r", For: "U1", By: "U2", At: at},
		BubbleShown{Turn: "t1", MessageID: "m1"},
		StreamShown{Turn: "t1", MessageIDs: []string{"m2", "m3"}, Next: &StreamPost{Key: "k", Text: "Once"}},
		TodoChanged{Turn: "t1", Items: todos},
		notes,
		Delegated{Turn: "t1", Used: turn.Delegated},
	}
}

func everything() Record {
	at := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	return Record{
		Revision: 7, At: at, Entries: everyEntry(), Consumed: []ItemID{"i1", "i2"}, Ended: "refused",
		Outbox: []Row{{
			ID: "r1", Key: "k", Lane: "L", Payload: []byte{0, 1, 255},
			Parts: []Part{{State: Queued}, {State: Sent, MessageID: "m", Attempts: 2, NotBefore: at, Error: "e"}},
		}},
	}
}

func TestRecordRoundTrip(t *testing.T) {
	for _, r := range []Record{{Revision: 1}, everything()} {
		data, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeRecord(data, r.Revision)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, got); d != "" {
			t.Errorf("round trip (-want +got):\n%s", d)
		}
	}
}

// TestEntriesAreComplete fails when a kind or a field has been added and the tests have not heard of it.
func TestEntriesAreComplete(t *testing.T) {
	kinds := make(map[string]bool)
	for _, e := range everyEntry() {
		kinds[e.kind()] = true
		v := reflect.ValueOf(e)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%T.%s is not set in everyEntry", e, v.Type().Field(i).Name)
			}
		}
	}
	want := []string{
		"approved", "asked", "aside", "assistant_message", "bubble_shown", "compaction", "decided", "delegated", "delivery_failed", "edited", "notes_changed", "prompt_built", "reset", "revoked",
		"rewound", "setting_changed", "steered", "stream_shown", "titled", "todo_changed", "tool_result", "turn_ended", "turn_parked", "turn_resumed", "turn_started", "user_message",
	}
	for _, k := range want { // permanent names: they stand in files
		if !kinds[k] {
			t.Errorf("no entry is of kind %s", k)
		}
	}
	if len(kinds) != len(want) {
		t.Errorf("%d kinds, want %d", len(kinds), len(want))
	}
}

func TestDecodeRecordRefuses(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"nothing":          {``, "decode record 3"},
		"no version":       {`{"at":"2026-03-01T12:00:00Z"}`, "version 0"},
		"newer version":    {`{"v":2}`, "version 2"},
		"unknown kind":     {`{"v":1,"entries":[{"kind":"reset","data":{}},{"kind":"dance","data":{}}]}`, `unknown kind "dance"`},
		"no data":          {`{"v":1,"entries":[{"kind":"reset"}]}`, "decode reset entry"},
		"wrong field type": {`{"v":1,"entries":[{"kind":"reset","data":{"by":1}}]}`, "decode reset entry"},
	} {
		if r, err := DecodeRecord([]byte(c.data), 3); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want an error with %q", name, r, err, c.want)
		}
	}
}

func TestEncodeRefusesPointersAndNil(t *testing.T) {
	// They would be written as the value, but what looks at a record's entries by their type would miss them.
	for _, e := range []Entry{nil, &Reset{}, (*Compaction)(nil)} {
		if data, err := (Record{Entries: []Entry{e}}).Encode(); err == nil {
			t.Errorf("%T was encoded as %s", e, data)
		}
	}
}

func TestBaseAndClaims(t *testing.T) {
	for i, c := range []struct {
		entries []Entry
		base    bool
		turn    string
	}{
		{nil, false, ""},
		{[]Entry{UserMessage{}, TurnStarted{Turn: "t", Inputs: []ItemID{"i"}}}, false, "t"},
		{[]Entry{TurnEnded{}, Reset{}}, true, ""},
		{[]Entry{Compaction{}, TurnStarted{Turn: "t", Inputs: []ItemID{"i"}}}, true, "t"},
	} {
		r := Record{Entries: c.entries}
		turn, items := r.Claims()
		if r.Base() != c.base || turn != c.turn || len(items) != len(turn) {
			t.Errorf("case %d: base %t, claims %q %q", i, r.Base(), turn, items)
		}
	}
}

// FuzzDecodeRecord: whatever can be decoded can be encoded, to bytes that mean the same.
func FuzzDecodeRecord(f *testing.F) {
	data, err := everything().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, e := range everyEntry() {
		data, err := Record{Entries: []Entry{e}}.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"v":1,"entries":[{"kind":"prompt_built","data":{"tools":null}}],"outbox":[{"parts":[{}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeRecord(data, 1)
		if err != nil {
			return
		}
		once, err := r.Encode()
		if err != nil {
			t.Fatalf("decoded but not encoded: %v", err)
		}
		again, err := DecodeRecord(once, 1)
		if err != nil {
			t.Fatalf("encoded but not decoded: %v", err)
		}
		twice, err := again.Encode()
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("encoded as\n%s\nand then, %v, as\n%s", once, err, twice)
		}
		if !json.Valid(once) {
			t.Fatalf("not JSON: %s", once)
		}
	})
}
