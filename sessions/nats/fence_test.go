package nats

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server with JetStream that listens on nothing: connections are made within the process.
func serve(t *testing.T) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return srv
}

// openOn opens a store over a connection of its own, as another process would.
func openOn(t *testing.T, srv *server.Server, stream string) *Store {
	t.Helper()
	conn, err := natsgo.Connect("", natsgo.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), js, stream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestTheServerFences publishes as an owner does whose projection has not heard of a newer commit: it is the server
// that must refuse.
func TestTheServerFences(t *testing.T) {
	srv := serve(t)
	a, b := openOn(t, srv, "S"), openOn(t, srv, "S")
	ctx := t.Context()
	seen := func(subject string) uint64 {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.state.last[subject]
	}
	refused := func(what, subject string, m message, last uint64) {
		t.Helper()
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if seq, err := a.send(ctx, subject, false, data, last); !moved(err) {
			t.Fatalf("%s was published as %d, %v", what, seq, err)
		}
	}
	record := func(r sessions.Record) json.RawMessage {
		t.Helper()
		data, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}

	c, err := a.Acquire(ctx, "k", "A")
	if err != nil {
		t.Fatal(err)
	}
	row := sessions.Row{ID: "r", Key: "k", Lane: "L", Parts: []sessions.Part{{State: sessions.Queued}}}
	if _, err := a.Commit(ctx, sessions.Append{Lease: c.Lease, Record: sessions.Record{Outbox: []sessions.Row{row}}}); err != nil {
		t.Fatal(err)
	}
	log, marks, item := a.subjects.log("k"), a.subjects.row("r"), a.subjects.item("i")
	seenLog, seenMarks, seenItem := seen(log), seen(marks), seen(item)

	if _, err := b.Acquire(ctx, "k", "B"); err != nil {
		t.Fatal(err)
	}
	m := sessions.Mark{Row: "r", From: sessions.Queued, To: sessions.Part{State: sessions.Sending}}
	accept := sessions.Accept{Item: sessions.Item{ID: "i", Key: "k"}}
	for _, commit := range []sessions.Commit{m, accept} {
		if _, err := b.Commit(ctx, commit); err != nil {
			t.Fatal(err)
		}
	}
	refused("a record after the next owner's lease", log, message{Key: "k", Record: record(sessions.Record{})}, seenLog)
	refused("a second mark from the same state", marks, message{Mark: &m}, seenMarks)
	refused("an item a second time", item, message{Item: &accept.Item}, seenItem)
}

// TestAnUnreadableMessageStopsTheStore: what cannot be read might have changed what follows.
func TestAnUnreadableMessageStopsTheStore(t *testing.T) {
	srv := serve(t)
	s := openOn(t, srv, "S")
	if _, err := s.js.Publish(t.Context(), s.subjects.item("i"), []byte(`{"dance":true}`)); err != nil {
		t.Fatal(err)
	}
	for i, err := range s.Pending(t.Context()) {
		if err == nil {
			t.Fatalf("read %+v", i)
		}
	}
	if _, err := s.Commit(t.Context(), sessions.Accept{Item: sessions.Item{ID: "j", Key: "k"}}); err == nil {
		t.Fatal("the store went on")
	}
	if info, err := s.stream.Info(t.Context()); err != nil || info.State.LastSeq != 1 {
		t.Fatalf("the stream has %+v, %v; want nothing new", info, err)
	}
}
