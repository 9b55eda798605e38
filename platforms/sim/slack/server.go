// Package slack is a simulator of Slack as a bot sees it: the Web API over HTTP and events over Socket Mode, on any
// net.Listener. It is as strict as the real service about tokens, texts, blocks, rates, envelopes and permissions, and
// it answers mistakes with the real error codes.
//
// Goroutines: each Socket Mode connection has a reader (the HTTP handler's goroutine) and a writer, both gone when
// Close returns; timers redeliver unacknowledged envelopes. Events of one conversation are sent in the order in which
// they happened; with several connections each event goes to one of them, as in Slack. It keeps everything in memory,
// bounded by the newest messages of each conversation, and never waits while it holds a lock, so it works in real time
// and inside a testing/synctest bubble alike.
//
// The shapes are those of Slack's published documentation (docs.slack.dev: Socket Mode, Events API, Web API methods,
// Block Kit) as of autumn 2026.
package slack

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/spec"
)

// Config sets up a workspace. The zero value is a usable one.
type Config struct {
	BotToken  string        // what the Web API expects; default "xoxb-simulated"
	AppToken  string        // what apps.connections.open expects; default "xapp-simulated"
	Team      string        // team id; default "T0SIM"
	TeamName  string        // default "Olympus"
	BotUser   string        // user id of the bot under test; default "U0BOT"
	BotName   string        // default "talaria"
	Scopes    string        // the bot token's scopes, as X-OAuth-Scopes lists them; default: all that a bot needs
	Unlimited bool          // no rate limits
	Lag       time.Duration // how long conversations.history and conversations.replies miss a new message
	Seed      uint64        // decides which of message and app_mention comes first, and the connection of an event
}

const (
	appID   = "A0SIM"
	botID   = "B0SIM"
	command = "/talaria" // the one slash command of the app
)

const allScopes = "app_mentions:read,assistant:write,channels:history,channels:read,chat:write,commands,files:read,files:write," +
	"groups:history,groups:read,im:history,im:read,im:write,mpim:history,mpim:read,mpim:write,reactions:write,users:read"

// Server is one workspace with one app in it. It implements sim.Stage.
type Server struct {
	cfg    Config
	mux    *http.ServeMux
	faults sim.Faults
	hub    *hub
	rates  rates

	mu         sync.Mutex // guards what follows; never held over a wait
	users      map[string]sim.User
	chats      map[string]*chat
	log        []sim.Event
	changed    chan struct{}
	answers    map[string]*answer // by the id in their response_url
	serial     int                // for event ids, trigger ids, response urls
	rand       *rand.Rand
	spec       *spec.Description
	newer      spec.Newer
	violations []string
	revoked    bool
	app        app
}

var _ sim.Stage = (*Server)(nil)

// New makes a workspace without people and places.
func New(cfg Config) *Server {
	for _, d := range []struct {
		field *string
		value string
	}{
		{&cfg.BotToken, "xoxb-simulated"},
		{&cfg.AppToken, "xapp-simulated"},
		{&cfg.Team, "T0SIM"},
		{&cfg.TeamName, "Olympus"},
		{&cfg.BotUser, "U0BOT"},
		{&cfg.BotName, "talaria"},
		{&cfg.Scopes, allScopes},
	} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	s := &Server{
		cfg:     cfg,
		mux:     http.NewServeMux(),
		users:   map[string]sim.User{cfg.BotUser: {ID: cfg.BotUser, Name: cfg.BotName, Bot: true}},
		chats:   map[string]*chat{},
		changed: make(chan struct{}),
		answers: map[string]*answer{},
		rand:    rand.New(rand.NewPCG(cfg.Seed, 1)),
		app:     app{scopes: strings.Split(cfg.Scopes, ","), command: command},
	}
	s.hub = newHub(&s.faults.Events, rand.New(rand.NewPCG(cfg.Seed, 2)))
	s.mux.HandleFunc("/api/{method}", s.serveMethod)
	s.mux.HandleFunc("/link/", s.hub.serveLink)
	s.mux.HandleFunc("/files-pri/{id}/{name}", s.serveFile)
	s.mux.HandleFunc("POST /respond/{id}", s.serveResponse)
	return s
}

// Handler serves the Web API below /api/, the sockets below /link/, files below /files-pri/ and the response URLs below /respond/.
func (s *Server) Handler() http.Handler { return s.mux }

// Close ends all sockets and timers and waits for their goroutines.
func (s *Server) Close() {
	s.hub.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.answers {
		a.close()
	}
	s.answers = map[string]*answer{}
}

// Faults is the fault script; its methods are Web API methods ("chat.postMessage"), its chats conversation ids.
func (s *Server) Faults() *sim.Faults { return &s.faults }

// CheckAgainst makes the simulator hold every request against a description of the Web API. What newer lists is not in
// the description.
func (s *Server) CheckAgainst(d spec.Description) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spec, s.newer = &d, newerThanDescription()
}

// Violations returns what CheckAgainst found, in order.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// Disconnect sends a disconnect message with a reason to every connection, as Slack does: "warning",
// "refresh_requested", "link_disabled" (it then refuses every later connection with the same reason) or
// "too_many_websockets".
func (s *Server) Disconnect(reason string) { s.hub.disconnect(reason) }

// Drop cuts every connection without a word, as a lost network does.
func (s *Server) Drop() { s.hub.drop() }

// Deafen makes the present connections silent while they stay open: no events, no pings, no ear for acknowledgements.
func (s *Server) Deafen() { s.hub.deafen() }

// Connections returns how many sockets are open.
func (s *Server) Connections() int { return s.hub.connections() }

// Opened returns how many sockets were ever opened.
func (s *Server) Opened() int { return s.hub.openedSoFar() }

// Unacknowledged returns how many envelopes wait for an acknowledgement or a connection.
func (s *Server) Unacknowledged() int { return s.hub.unacknowledged() }

// Forget gives up all events that were not delivered, as Slack does after some minutes.
func (s *Server) Forget() { s.hub.giveUp() }

// Archive archives a conversation; posting there is refused with is_archived.
func (s *Server) Archive(chat string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustChat(chat).archived = true
}

// Kick removes the bot from a conversation; posting there is refused with not_in_channel, and events stop.
func (s *Server) Kick(chat string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustChat(chat).kicked = true
}

// SetLag changes how long look-ups miss a new message.
func (s *Server) SetLag(lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Lag = lag
}

// Revoke uninstalls the app: Slack says so in an event, and refuses its tokens from now on.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	s.emit(object{"type": "tokens_revoked", "tokens": object{"oauth": []string{}, "bot": []string{s.cfg.BotUser}}})
}

// EmitEvent sends an inner event as it stands: what Slack may send and the simulator does not know.
func (s *Server) EmitEvent(event any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(event)
}

// EmitFrame sends a text frame as it stands to one connection: no JSON, an unknown envelope type, anything.
func (s *Server) EmitFrame(frame string) { s.hub.frame([]byte(frame)) }

// nextID returns an id with a prefix that no other has. The lock is held.
func (s *Server) nextID(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s%08X", prefix, s.serial)
}

// mustChat returns a conversation that the caller has made. The lock is held.
func (s *Server) mustChat(id string) *chat {
	c := s.chats[id]
	if c == nil {
		panic("sim/slack: no conversation " + id)
	}
	return c
}

// happened records a visible event and wakes those who wait for one. The lock is held.
func (s *Server) happened(kind string, m sim.Message) {
	const most = 100_000
	if len(s.log) >= most {
		s.log = append(s.log[:0], s.log[most/2:]...)
	}
	s.log = append(s.log, sim.Event{At: time.Now(), Kind: kind, Message: m})
	close(s.changed)
	s.changed = make(chan struct{})
}

// nameOf returns a person's name for display. The lock is held.
func (s *Server) nameOf(id string) string {
	if u, ok := s.users[id]; ok && u.Name != "" {
		return u.Name
	}
	return strings.TrimPrefix(id, "@")
}
