package nats

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/sessions"
)

// TestBigBases commits entries that carry a whole history of 3 MB, which no single message of the stream holds, and reads
// them as their owner, as another process and as the next owner does.
func TestBigBases(t *testing.T) {
	srv := serve(t)
	s := openOn(t, srv, "S")
	c, err := s.Acquire(t.Context(), "k", "o")
	if err != nil {
		t.Fatal(err)
	}
	history := func(text string) []sessions.Message {
		return []sessions.Message{{Role: sessions.RoleUser, Text: text + strings.Repeat(" text", 600_000)}}
	}
	rev := sessions.Revision(0)
	var records []sessions.Record
	for _, e := range []sessions.Entry{
		sessions.Compaction{Checkpoint: sessions.Checkpoint{Messages: history("compacted")}},
		sessions.Rewound{Checkpoint: sessions.Checkpoint{Messages: history("rewound")}, By: "U"},
	} {
		r := sessions.Record{Entries: []sessions.Entry{e}}
		if rev, err = s.Commit(t.Context(), sessions.Append{Lease: c.Lease, After: rev, Record: r}); err != nil {
			t.Fatal(err)
		}
		r.Revision = rev
		records = append(records, r)
	}
	peer := openOn(t, srv, "S")
	for _, store := range []*Store{s, peer} {
		var got []sessions.Record
		for r, err := range store.History(t.Context(), "k", 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		if !cmp.Equal(got, records) {
			t.Errorf("%d records were read, or they are others", len(got))
		}
	}
	c, err = peer.Acquire(t.Context(), "k", "p")
	if err != nil || !cmp.Equal(c.Records, records[1:]) {
		t.Errorf("the next owner has %d records, %v", len(c.Records), err)
	}
}
