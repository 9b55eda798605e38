package gateway_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/nats"
)

// natsStore is a store over a JetStream server of its own, which lives in the same bubble as the gateway.
type natsStore struct {
	*nats.Store
	conn   *natsgo.Conn
	server *server.Server
}

func (s natsStore) Close() error {
	err := s.Store.Close()
	s.conn.Close()
	s.server.Shutdown()
	s.server.WaitForShutdown()
	return err
}

func openNATS(t *testing.T) sessions.Store {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	conn, err := natsgo.Connect("", natsgo.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	store, err := nats.Open(t.Context(), js, "S")
	if err != nil {
		t.Fatal(err)
	}
	return natsStore{store, conn, srv}
}

// TestConversationsOverNATS plays some of the scripts over a stream: the contract that the gateway relies on is no
// property of a local file.
func TestConversationsOverNATS(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for a short run")
	}
	for _, name := range []string{"hello", "interrupt", "restart", "stop_command", "in_doubt", "edit_waiting_restart", "group_migrates"} {
		t.Run(name, func(t *testing.T) {
			play(t, "testdata/conv/"+name+".txtar", platforms.Telegram, openNATS)
		})
	}
}
