package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

func appendRevisions(t *testing.T, h Harness) {
	s := h.Store
	c := acquire(t, s, "k", "o")
	if c.Revision != 0 || len(c.Records) > 0 || len(c.Pending) > 0 || c.Lease.Key != "k" || c.Lease.Owner != "o" {
		t.Fatalf("acquire of a new key = %+v", c)
	}
	var revs []sessions.Revision
	last := sessions.Revision(0)
	for _, text := range []string{"a", "b", "c"} {
		rev := commit(t, s, sessions.Append{Lease: c.Lease, After: last, Record: said(text)})
		if rev <= last {
			t.Fatalf("revision %d after %d", rev, last)
		}
		revs, last = append(revs, rev), rev
	}
	got := collect(t, s.History(t.Context(), "k", 0))
	diff(t, "history", texts(got), []string{"a", "b", "c"})
	for i, r := range got {
		if r.Revision != revs[i] || !r.At.Equal(start) {
			t.Fatalf("record %d: revision %d at %v, want %d at %v", i, r.Revision, r.At, revs[i], start)
		}
	}
	diff(t, "history after the first", texts(collect(t, s.History(t.Context(), "k", revs[0]))), []string{"b", "c"})
	diff(t, "history after the last", texts(collect(t, s.History(t.Context(), "k", last))), []string(nil))
	again := acquire(t, s, "k", "o")
	diff(t, "records", again.Records, got)
	diff(t, "revision", again.Revision, last)
}

func staleRevision(t *testing.T, h Harness) {
	s := h.Store
	l, last := write(t, s, "k", said("a"), said("b"))
	first := collect(t, s.History(t.Context(), "k", 0))[0].Revision
	for _, after := range []sessions.Revision{0, first, last - 1, last + 1, last + 1000, ^sessions.Revision(0)} {
		if after != last {
			wantErr(t, s, sessions.Append{Lease: l, After: after, Record: said("no")}, sessions.ErrStale)
		}
	}
	commit(t, s, sessions.Append{Lease: l, After: last, Record: said("c")})
	diff(t, "history", texts(collect(t, s.History(t.Context(), "k", 0))), []string{"a", "b", "c"})
}

func keysApart(t *testing.T, h Harness) {
	s := h.Store
	keys := []sessions.Key{"k", "k/a", "k-", "k:1", "K", "k.", "k._"}
	for _, k := range keys {
		write(t, s, k, said("1 "+string(k)))
		accept(t, s, k, "item of "+sessions.ItemID(k))
	}
	for _, k := range keys {
		write(t, s, k, said("2 "+string(k)))
	}
	for _, k := range keys {
		want := []string{"1 " + string(k), "2 " + string(k)}
		diff(t, "history of "+string(k), texts(collect(t, s.History(t.Context(), k, 0))), want)
		c := acquire(t, s, k, "o")
		diff(t, "records of "+string(k), texts(c.Records), want)
		diff(t, "pending of "+string(k), itemIDs(c.Pending), []sessions.ItemID{"item of " + sessions.ItemID(k)})
	}
	want := []sessions.Key{"K", "k", "k-", "k.", "k._", "k/a", "k:1"}
	diff(t, "keys", collect(t, s.Keys(t.Context())), want)
}

func fromLastBase(t *testing.T, h Harness) {
	s := h.Store
	reset := said("after reset")
	reset.Entries = append([]sessions.Entry{sessions.Reset{By: "U1", At: start}}, reset.Entries...)
	compaction := sessions.Record{At: start, Entries: []sessions.Entry{
		sessions.TurnEnded{Turn: "t", At: start},
		sessions.Compaction{Checkpoint: sessions.Checkpoint{Segment: "k@1", Started: start, Count: 1}, At: start},
	}}
	rewound := said("after going back")
	rewound.Entries = append([]sessions.Entry{sessions.Rewound{
		Checkpoint: sessions.Checkpoint{Segment: "k@1", Started: start}, Point: sessions.Point{From: 1, To: 2}, At: start,
	}}, rewound.Entries...)
	steps := []struct {
		record sessions.Record
		want   int // records that the next owner gets
	}{
		{said("a"), 1},
		{said("b"), 2},
		{reset, 1},
		{said("c"), 2},
		{compaction, 1},
		{said("d"), 2},
		{said("e"), 3},
		{rewound, 1},
		{said("f"), 2},
	}
	for i, step := range steps {
		write(t, s, "k", step.record)
		all := collect(t, s.History(t.Context(), "k", 0))
		if len(all) != i+1 {
			t.Fatalf("step %d: history has %d records", i, len(all))
		}
		c := acquire(t, s, "k", "o")
		diff(t, "records", c.Records, all[len(all)-step.want:])
		diff(t, "revision", c.Revision, all[i].Revision)
	}
}

func everyEntry(t *testing.T, h Harness) {
	s := h.Store
	call := sessions.ToolCall{ID: "c1", Name: "read_file", Arguments: `{"path": "<a&b>"`}
	prompt := sessions.PromptBuilt{System: "be <kind>\n", Tools: []byte(`[ {"name": "<x>"} ]`)}
	r := sessions.Record{
		At: start,
		Entries: []sessions.Entry{
			sessions.TurnStarted{Turn: "t", Inputs: []sessions.ItemID{"i"}, Requester: "U1", At: start},
			sessions.TurnResumed{Turn: "t", At: start},
			prompt,
			sessions.UserMessage{Turn: "t", Message: sessions.Message{Role: sessions.RoleUser, Text: "hi \u2028 🙂"}},
			sessions.AssistantMessage{
				Turn: "t", Model: "m", Usage: sessions.Usage{Input: 3, Output: 2, Cached: 1},
				Message: sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{call}},
			},
			sessions.ToolResult{
				Turn: "t", Outcome: sessions.OutcomeTimedOut,
				Message: sessions.Message{Role: sessions.RoleTool, Text: "late", ToolCallID: "c1"},
			},
			sessions.BubbleShown{Turn: "t", MessageID: "m1"},
			sessions.StreamShown{Turn: "t", MessageIDs: []string{"m2"}},
			sessions.TurnEnded{Turn: "t", Reason: "done", Error: "e", Usage: sessions.Usage{Input: 3}, Rounds: 1, At: start},
			sessions.Reset{By: "U1", At: start},
			sessions.Compaction{
				Checkpoint: sessions.Checkpoint{
					Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "hi"}}, Prompt: &prompt,
					Turn:    &sessions.Turn{ID: "t", Open: []sessions.ToolCall{call}, Started: start},
					Segment: "k@1", Started: start, Count: 2,
				},
				Before: 9, After: 5, Summary: true, At: start,
			},
			sessions.Rewound{
				Checkpoint: sessions.Checkpoint{
					Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "hi"}}, Prompt: &prompt, Segment: "k@1", Started: start,
					Exchanges: []sessions.Exchange{{Point: sessions.Point{From: 1, To: 2}, Turn: "t", Requester: "U1"}},
				},
				Point: sessions.Point{From: 1, To: 3}, By: "U1", At: start, Answered: []sessions.ItemID{"i"}, Measured: 5, MeasuredTo: 1,
			},
			sessions.Edited{Original: "i0", Text: "so", At: start},
			sessions.Titled{Title: "plans", By: "U1", At: start},
		},
		Consumed: []sessions.ItemID{"i"}, Ended: "done",
		Outbox: []sessions.Row{newRow("r", "k", "lane", sessions.Queued)},
	}
	r.Outbox[0].Parts[0].NotBefore = start.Add(time.Minute)
	_, r.Revision = write(t, s, "k", r)
	diff(t, "history", collect(t, s.History(t.Context(), "k", 0)), []sessions.Record{r})
	row, err := s.Row(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "row", row, r.Outbox[0])
}

func illFormed(t *testing.T, h Harness) {
	s := h.Store
	l, rev := write(t, s, "k", sending(newRow("r", "k", "lane", sessions.Queued)))
	record := func(change func(*sessions.Record)) sessions.Commit {
		r := said("no")
		change(&r)
		return sessions.Append{Lease: l, After: rev, Record: r}
	}
	long := string(make([]byte, sessions.MaxName+1))
	bad := []sessions.Commit{
		nil,
		&sessions.Accept{Item: newItem("i", "k")},
		sessions.Accept{Item: newItem("", "k")},
		sessions.Accept{Item: newItem(sessions.ItemID(long), "k")},
		sessions.Accept{Item: newItem("\xff", "k")},
		sessions.Accept{Item: newItem("i", "")},
		sessions.Accept{Item: newItem("i", "k k")},
		sessions.Accept{Item: newItem("i", "k*")},
		sessions.Append{Lease: sessions.Lease{}, Record: said("no")},
		sessions.Mark{},
		record(func(r *sessions.Record) { r.Entries = append(r.Entries, nil) }),
		record(func(r *sessions.Record) { r.Entries = append(r.Entries, &sessions.Reset{}) }),
		record(func(r *sessions.Record) { r.At = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }),
		record(func(r *sessions.Record) { r.Consumed = []sessions.ItemID{""} }),
		record(func(r *sessions.Record) { r.Outbox = []sessions.Row{newRow("r2", "k", "lane")} }),
		record(func(r *sessions.Record) { r.Outbox = []sessions.Row{newRow("r2", "k", "", sessions.Queued)} }),
		record(func(r *sessions.Record) { r.Outbox = []sessions.Row{newRow("", "k", "lane", sessions.Queued)} }),
		record(func(r *sessions.Record) {
			r.Outbox = []sessions.Row{newRow("r2", "k", "l", sessions.Queued), newRow("r2", "k", "l", sessions.Queued)}
		}),
	}
	for i, c := range bad {
		_, err := s.Commit(t.Context(), c)
		if err == nil {
			t.Fatalf("ill-formed commit %d was taken: %+v", i, c)
		}
		for _, not := range []error{sessions.ErrSeen, sessions.ErrStale, sessions.ErrState} {
			if errors.Is(err, not) {
				t.Fatalf("ill-formed commit %d failed with %v", i, err)
			}
		}
	}
	for _, k := range []sessions.Key{"", "k k", sessions.Key(long)} {
		if _, err := s.Acquire(t.Context(), k, "o"); err == nil {
			t.Fatalf("key %q was acquired", k)
		}
	}
	commit(t, s, sessions.Append{Lease: l, After: rev, Record: said("yes")})
	if ids := pendingIDs(t, s); len(ids) > 0 {
		t.Fatalf("pending: %q", ids)
	}
}
