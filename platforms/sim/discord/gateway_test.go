package discord

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
)

const identify = `{"op":2,"d":{"token":"token","intents":37377}}`

// served is a simulator on an in-memory network, inside a bubble.
type served struct {
	*Server
	t   *testing.T
	net *memnet.Listener
}

func serve(t *testing.T, opts Options) served {
	t.Helper()
	s := New(opts)
	l := memnet.Listen()
	server := &http.Server{Handler: s.Handler()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		s.Close()
		_ = server.Close()
		<-done
	})
	s.AddUser(sim.User{ID: "1", Name: "Ann"})
	s.AddChat(sim.Chat{ID: "10", Kind: "dm", Members: []string{"1"}})
	return served{s, t, l}
}

// dial opens a websocket and reads the greeting.
func (s served) dial(query string) *websocket.Conn {
	s.t.Helper()
	d := websocket.Dialer{NetDialContext: s.net.Dial}
	conn, resp, err := d.Dial("ws://gateway.test/gateway/"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	s.t.Cleanup(func() { conn.Close() })
	if op := s.read(conn); op.Op != opHello {
		s.t.Fatalf("got %+v instead of a greeting", op)
	}
	return conn
}

type payload struct {
	Op int    `json:"op"`
	S  int    `json:"s"`
	T  string `json:"t"`
	D  object `json:"d"`
}

func (s served) read(conn *websocket.Conn) (p payload) {
	s.t.Helper()
	_, data, err := conn.ReadMessage()
	if err != nil {
		s.t.Fatal(err)
	}
	_ = json.Unmarshal(data, &p) // d is not always an object; op is what counts then
	return p
}

func (s served) send(conn *websocket.Conn, frames ...string) {
	s.t.Helper()
	for _, f := range frames {
		if err := conn.WriteMessage(websocket.TextMessage, []byte(f)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// closeCode reads on until the connection ends and returns why.
func closeCode(conn *websocket.Conn) int {
	for {
		_, _, err := conn.ReadMessage()
		if closed := (*websocket.CloseError)(nil); errors.As(err, &closed) {
			return closed.Code
		}
		if err != nil {
			return 0
		}
	}
}

func TestCloseCodes(t *testing.T) {
	flood := make([]string, sendsPerMinute+1)
	for i := range flood {
		flood[i] = `{"op":1,"d":null}`
	}
	for name, c := range map[string]struct {
		opts   Options
		query  string
		frames []string
		code   int
	}{
		"unknown opcode":        {query: "?v=9", frames: []string{`{"op":77}`}, code: 4001},
		"not JSON":              {query: "?v=9", frames: []string{`{`}, code: 4002},
		"before identify":       {query: "?v=9", frames: []string{`{"op":3,"d":{}}`}, code: 4003},
		"bad token":             {opts: Options{Token: "other"}, query: "?v=9", frames: []string{identify}, code: 4004},
		"identified twice":      {query: "?v=9", frames: []string{identify, identify}, code: 4005},
		"flood":                 {query: "?v=9", frames: flood, code: 4008},
		"shard":                 {query: "?v=9", frames: []string{`{"op":2,"d":{"token":"token","intents":1,"shard":[3,2]}}`}, code: 4010},
		"version":               {query: "?v=5", code: 4012},
		"no intents":            {query: "?v=9", frames: []string{`{"op":2,"d":{"token":"token"}}`}, code: 4013},
		"privileged intent":     {opts: Options{NoMessageContent: true}, query: "?v=9", frames: []string{identify}, code: 4014},
		"members intent":        {query: "?v=9", frames: []string{`{"op":2,"d":{"token":"token","intents":2}}`}, code: 4014},
		"resume with bad token": {opts: Options{Token: "other"}, query: "?v=9", frames: []string{`{"op":6,"d":{"token":"token","session_id":"s","seq":1}}`}, code: 4004},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, c.opts)
				conn := s.dial(c.query)
				s.send(conn, c.frames...)
				if code := closeCode(conn); code != c.code {
					t.Errorf("closed with %d, want %d", code, c.code)
				}
			})
		})
	}
}

func TestResume(t *testing.T) {
	for name, c := range map[string]struct {
		leave  func(*websocket.Conn)
		away   time.Duration
		resume bool
	}{
		"after a cut":       {func(c *websocket.Conn) { c.Close() }, time.Minute, true},
		"after a long time": {func(c *websocket.Conn) { c.Close() }, time.Hour, false},
		"after a clean close": {func(c *websocket.Conn) {
			_ = c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
			c.Close()
		}, time.Minute, false},
		"after code 4000": {func(c *websocket.Conn) {
			_ = c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(4000, ""))
			c.Close()
		}, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serve(t, Options{})
				conn := s.dial("?v=9")
				s.send(conn, identify)
				ready := s.read(conn)
				last := s.read(conn)
				if ready.T != "READY" || last.T != "GUILD_CREATE" {
					t.Fatalf("got %q and %q", ready.T, last.T)
				}
				c.leave(conn)
				time.Sleep(time.Second)
				if _, err := s.Say(sim.Say{User: "1", Chat: "10", Text: "missed"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.away)
				conn = s.dial("?v=9")
				request, err := json.Marshal(object{"op": opResume, "d": object{"token": "token", "session_id": ready.D["session_id"], "seq": last.S}})
				if err != nil {
					t.Fatal(err)
				}
				s.send(conn, string(request))
				got := s.read(conn)
				if !c.resume {
					if got.Op != opInvalidSession {
						t.Errorf("got %+v", got)
					}
					return
				}
				if got.T != "MESSAGE_CREATE" || got.D["content"] != "missed" || got.S != last.S+1 {
					t.Errorf("got %+v", got)
				}
				if end := s.read(conn); end.T != "RESUMED" {
					t.Errorf("then %+v", end)
				}
			})
		})
	}
}

// TestSilentClient does not send heartbeats.
func TestSilentClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{})
		conn := s.dial("?v=9")
		s.send(conn, identify)
		began := time.Now()
		closeCode(conn)
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("cut after %s", took)
		}
	})
}

// TestIntents leaves an intent out and does not get its events.
func TestIntents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Options{})
		s.AddChat(sim.Chat{ID: "20", Kind: "channel", Title: "general"})
		conn := s.dial("?v=9")
		s.send(conn, `{"op":2,"d":{"token":"token","intents":4096}}`) // direct messages only
		s.read(conn)
		for _, chat := range []string{"20", "10"} {
			if _, err := s.Say(sim.Say{User: "1", Chat: chat, Text: "in " + chat}); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.read(conn); got.D["content"] != "in 10" {
			t.Errorf("got %+v", got)
		}
	})
}
