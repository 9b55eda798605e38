package slack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	"github.com/talaria-agent/talaria/platforms/sim/slack"
)

const (
	ada  = "U0ADA"
	dm   = "D0ADA"
	room = "C0ROOM"
)

// client speaks Slack's protocol with a simulator without any library's help.
type client struct {
	*slack.Server
	t    *testing.T
	http *http.Client
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// inBubble runs a test against a simulator with two people's places in it, in virtual time.
func inBubble(t *testing.T, cfg slack.Config, test func(*testing.T, *client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		s := slack.New(cfg)
		s.AddUser(sim.User{ID: ada, Name: "Ada"})
		s.AddChat(sim.Chat{ID: dm, Kind: "dm", Members: []string{ada}})
		s.AddChat(sim.Chat{ID: room, Kind: "channel", Title: "room"})
		server, served := &http.Server{Handler: s.Handler()}, make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(l)
		}()
		transport := &http.Transport{DialContext: l.Dial}
		t.Cleanup(func() {
			transport.CloseIdleConnections()
			s.Close()
			_ = server.Close()
			<-served
		})
		test(t, &client{Server: s, t: t, http: &http.Client{Transport: transport}, dial: l.Dial})
	})
}

// answer is what the Web API says.
type answer struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	TS       string `json:"ts"`
	URL      string `json:"url"`
	HasMore  bool   `json:"has_more"`
	Messages []struct {
		TS       string          `json:"ts"`
		Text     string          `json:"text"`
		Metadata json.RawMessage `json:"metadata"`
	} `json:"messages"`
	Status     int `json:"-"`
	RetryAfter string
}

// call calls a method with pairs of names and values, as the bot unless a token is given.
func (c *client) call(method string, args ...string) answer {
	c.t.Helper()
	form := url.Values{"token": {"xoxb-simulated"}}
	for i := 0; i < len(args); i += 2 {
		form.Set(args[i], args[i+1])
	}
	resp, err := c.http.PostForm("http://slack.test/api/"+method, form)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	a := answer{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After")}
	if err := json.Unmarshal(body, &a); err != nil {
		c.t.Fatalf("%s: %v in %s", method, err, body)
	}
	return a
}

// envelope is a frame from the socket.
type envelope struct {
	ID           string          `json:"envelope_id"`
	Type         string          `json:"type"`
	Reason       string          `json:"reason"`
	RetryAttempt int             `json:"retry_attempt"`
	Payload      json.RawMessage `json:"payload"`
}

func (e envelope) event() (kind string) {
	var p struct {
		Event struct{ Type, Subtype string } `json:"event"`
	}
	_ = json.Unmarshal(e.Payload, &p)
	return strings.TrimSuffix(p.Event.Type+"/"+p.Event.Subtype, "/")
}

// socket is a Socket Mode connection that collects frames; it acknowledges them if told to.
type socket struct {
	ws    *websocket.Conn
	pings int

	mu     sync.Mutex
	frames []envelope
	ack    func(envelope) any // the payload of the acknowledgement; "" = none is sent
	ended  chan struct{}
}

func (c *client) open() string {
	c.t.Helper()
	a := c.call("apps.connections.open", "token", "xapp-simulated")
	if !a.OK {
		c.t.Fatalf("apps.connections.open: %s", a.Error)
	}
	return a.URL
}

// connect opens a socket, whose reader ends with the simulator.
func (c *client) connect(ack func(envelope) any) *socket {
	c.t.Helper()
	dialer := websocket.Dialer{NetDialContext: c.dial}
	ws, _, err := dialer.Dial(c.open(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	s := &socket{ws: ws, ack: ack, ended: make(chan struct{})}
	ws.SetPingHandler(func(data string) error {
		s.mu.Lock()
		s.pings++
		s.mu.Unlock()
		return ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
	})
	go s.read()
	c.t.Cleanup(func() {
		_ = ws.Close()
		<-s.ended
	})
	synctest.Wait()
	return s
}

func (s *socket) read() {
	defer close(s.ended)
	for {
		_, data, err := s.ws.ReadMessage()
		if err != nil {
			return
		}
		var e envelope
		if json.Unmarshal(data, &e) != nil {
			continue
		}
		s.mu.Lock()
		s.frames = append(s.frames, e)
		s.mu.Unlock()
		if s.ack == nil || e.ID == "" {
			continue
		}
		if payload := s.ack(e); payload != "" {
			_ = s.ws.WriteJSON(map[string]any{"envelope_id": e.ID, "payload": payload})
		}
	}
}

// got returns the frames since the last call, as "type" or, for events, "event/subtype#attempt".
func (s *socket) got() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, e := range s.frames {
		switch {
		case e.Type == "events_api":
			names = append(names, fmt.Sprintf("%s#%d", e.event(), e.RetryAttempt))
		case e.Reason != "":
			names = append(names, e.Type+" "+e.Reason)
		default:
			names = append(names, e.Type)
		}
	}
	s.frames = nil
	return names
}

// taken returns the envelopes since the last call.
func (s *socket) taken() []envelope {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	frames := s.frames
	s.frames = nil
	return frames
}

func acknowledge(envelope) any { return nil }

func (c *client) say(text string) string {
	c.t.Helper()
	id, err := c.Say(sim.Say{User: ada, Chat: room, Text: text})
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}
