package nats

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// inStream counts the stream's messages that hold a text.
func inStream(t *testing.T, s *Store, text string) (n int) {
	t.Helper()
	info, err := s.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := s.stream.GetMsg(t.Context(), seq)
		if err == nil && (strings.Contains(string(m.Data), text) || strings.Contains(m.Subject, ".part.")) {
			n++
		}
	}
	return n
}

// TestErasedIsGoneFromTheStream: no message is left of what was said, was to be sent, and was sent, whatever its size.
func TestErasedIsGoneFromTheStream(t *testing.T) {
	s := openOn(t, serve(t), "S")
	for i, size := range []int{0, 3 << 20} {
		text := "secret" + strings.Repeat("x", size)
		key := sessions.Key(fmt.Sprintf("k%d", i))
		item := sessions.Item{ID: sessions.ItemID(key), Key: key, Payload: []byte(text)}
		if _, err := s.Commit(t.Context(), sessions.Accept{Item: item}); err != nil {
			t.Fatal(err)
		}
		c, err := s.Acquire(t.Context(), key, "o")
		if err != nil {
			t.Fatal(err)
		}
		row := sessions.Row{
			ID: "r" + sessions.RowID(key), Key: key, Lane: "L", Payload: []byte("secret"),
			Parts: []sessions.Part{{State: sessions.Queued}},
		}
		r := sessions.Record{Entries: []sessions.Entry{
			sessions.UserMessage{Message: sessions.Message{Role: sessions.RoleUser, Text: text}},
		}, Consumed: []sessions.ItemID{item.ID}, Outbox: []sessions.Row{row}}
		if _, err := s.Commit(t.Context(), sessions.Append{Lease: c.Lease, Record: r}); err != nil {
			t.Fatal(err)
		}
		m := sessions.Mark{Row: row.ID, From: sessions.Queued, To: sessions.Part{State: sessions.Dead, Error: "secret"}}
		if _, err := s.Commit(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if n := inStream(t, s, "secret"); n < 2 {
			t.Fatalf("only %d messages before", n)
		}
		if _, err := s.Commit(t.Context(), sessions.Erase{Lease: c.Lease, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if n := inStream(t, s, "secret"); n > 0 {
			t.Errorf("%d messages are left", n)
		}
	}
}

// TestPartsOfALostMessage: what a process has left that died between the parts and their message disturbs nobody, and is
// removed some time later.
func TestPartsOfALostMessage(t *testing.T) {
	srv := serve(t)
	s := openOn(t, srv, "S")
	big := message{Item: &sessions.Item{ID: "i", Key: "k", Payload: bytes.Repeat([]byte("x"), 2<<20)}}
	if _, err := s.inParts(t.Context(), s.subjects.item("i"), big); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), sessions.Accept{Item: *big.Item}); err != nil {
		t.Fatal(err)
	}
	s = openOn(t, srv, "S")
	if _, err := s.Commit(t.Context(), sessions.Accept{Item: sessions.Item{ID: "j", Key: "k"}}); err != nil {
		t.Fatal(err)
	}
	left := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.state.parts)
	}
	if left() == 0 {
		t.Fatal("no part waits for its message")
	}
	prune := func() {
		t.Helper()
		if _, err := s.Prune(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if prune(); left() == 0 {
		t.Fatal("parts were removed whose message may still come")
	}
	s.mu.Lock()
	for subject, p := range s.state.parts {
		p.at = p.at.Add(-2 * orphanedAfter)
		s.state.parts[subject] = p
	}
	s.mu.Unlock()
	if prune(); left() > 0 {
		t.Fatal("they are still there")
	}
	items := 0
	for i, err := range s.Pending(t.Context()) {
		if err != nil || (i.ID == "i" && len(i.Payload) != 2<<20) {
			t.Fatalf("%s with %d bytes, %v", i.ID, len(i.Payload), err)
		}
		items++
	}
	if items != 2 {
		t.Fatalf("%d items", items)
	}
}
