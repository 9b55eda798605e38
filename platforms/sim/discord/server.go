// Package discord simulates Discord: its HTTP API (version 9) and its gateway websocket, as a bot sees them, and the
// people at the other end as a sim.Stage. It is written from the documented wire format and shares no code with the
// client library that the adapter uses.
//
// What it checks and refuses is what the service checks: tokens, intents, heartbeats, 120 gateway sends a minute, one
// IDENTIFY per five seconds, 2,000 code points, component and embed limits, the nonce window, rate limits per route and
// channel and over all, interactions within three seconds. Bots without the Message Content intent get empty content.
//
// Goroutines: each websocket has its HTTP handler (reads) and one writer, both ended by Close, which waits for them.
// Timers end interactions that nobody answers. No lock is held over a wait. Events reach a session in the order in
// which the Stage's methods were called.
package discord

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/spec"
)

// Options set up a simulated Discord. The zero value is a service that knows one bot and takes any token.
type Options struct {
	Token             string        // the bot's token; empty = any
	Application       string        // application id; empty = Application
	BotUser           string        // id of the bot's user; empty = BotUser
	BotName           string        // empty = "Talaria"
	NoMessageContent  bool          // the Message Content intent is not enabled in the developer portal
	Permissions       uint64        // of the bot in the server; 0 = all
	Outside           bool          // the bot is in no server
	NoRateLimits      bool          // of calls and of IDENTIFYs: for benchmarks, and for clients that start over and over
	HeartbeatInterval time.Duration // 0 = 41.25 s
	IdentifiesLeft    int           // of session_start_limit; 0 = 1,000
	ResumeURL         string        // resume_gateway_url; empty = the address that /gateway gives
	ResumeWindow      time.Duration // how long a session outlives its connection; 0 = 3 minutes
}

// Ids of the things that exist from the start.
const (
	Application = "1000000000000000001"
	BotUser     = "1000000000000000002"
	Guild       = "1000000000000000003"
	BotRole     = "1000000000000000004" // the role that the guild gave the bot when it was added
)

// Limits of what is kept, so that a long run does not grow without end.
const (
	keepMessages = 2_000   // a channel
	keepLog      = 100_000 // events
	keepReplay   = 5_000   // events a session
)

// Server is a simulated Discord. All methods may be called from any goroutine.
type Server struct {
	opts     Options
	faults   sim.Faults
	handler  http.Handler
	upgrader websocket.Upgrader
	sockets  sync.WaitGroup

	mu           sync.Mutex
	closed       bool
	ids          snowflakes
	users        map[string]sim.User
	places       map[string]*place // channels, DMs and threads by id
	nonces       map[string]nonce
	interactions map[string]*interaction
	unanswered   int
	commands     []object
	commandPuts  int
	log          []sim.Event
	changed      chan struct{}
	gateway      gateway
	host         string // see seen
	limits       limiter
	check        *spec.Description
	violations   []string
}

// New makes a simulated Discord; serve its Handler, Close it at the end.
func New(opts Options) *Server {
	def := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	def(&opts.Application, Application)
	def(&opts.BotUser, BotUser)
	def(&opts.BotName, "Talaria")
	if opts.HeartbeatInterval == 0 {
		opts.HeartbeatInterval = 41_250 * time.Millisecond
	}
	if opts.IdentifiesLeft == 0 {
		opts.IdentifiesLeft = 1_000
	}
	if opts.ResumeWindow == 0 {
		opts.ResumeWindow = 3 * time.Minute
	}
	s := &Server{
		opts:         opts,
		users:        map[string]sim.User{},
		places:       map[string]*place{},
		nonces:       map[string]nonce{},
		interactions: map[string]*interaction{},
		changed:      make(chan struct{}),
		gateway:      gateway{sessions: map[string]*session{}, sockets: map[*socket]bool{}, identifies: opts.IdentifiesLeft},
		limits:       limiter{buckets: map[string]*bucket{}, off: opts.NoRateLimits},
		upgrader:     websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }},
	}
	s.handler = s.routes()
	return s
}

// Handler serves the HTTP API below /api/v9 and the websocket at /gateway.
func (s *Server) Handler() http.Handler { return s.handler }

// Close cuts the websockets, ends open interactions and waits for the goroutines of both.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for k := range s.gateway.sockets {
		k.cut()
	}
	for _, i := range s.interactions {
		i.end()
	}
	clear(s.interactions)
	s.mu.Unlock()
	s.sockets.Wait()
}

// Faults is the fault script. Methods are written without ids: "POST /channels/messages", "GET /gateway/bot".
func (s *Server) Faults() *sim.Faults { return &s.faults }

// CheckAgainst makes the simulator hold every request against the official description.
func (s *Server) CheckAgainst(d spec.Description) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check = &d
}

// Violations returns what was wrong with requests, by the official description.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// record notes a visible change. The caller holds the lock.
func (s *Server) record(kind string, m sim.Message) {
	if len(s.log) >= keepLog {
		s.log = slices.Delete(s.log, 0, keepLog/10)
	}
	s.log = append(s.log, sim.Event{At: time.Now(), Kind: kind, Message: m})
	close(s.changed)
	s.changed = make(chan struct{})
}

// snowflakes makes ids from the clock as Discord does: milliseconds since 2015 in the upper bits, growing strictly.
type snowflakes struct{ last int64 }

func (f *snowflakes) next() string {
	epoch := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	if time.Now().Before(epoch) { // a virtual clock, which begins in 2000
		epoch = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	f.last = max(f.last+1, time.Since(epoch).Milliseconds()<<22)
	return strconv.FormatInt(f.last, 10)
}
