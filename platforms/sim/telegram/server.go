// Package telegram simulates the Telegram Bot API: the HTTP methods that a chat bot uses, with long polling, and the
// chats behind them. It refuses what the real service refuses, in the real words, because an adapter that only ever
// met a lenient double fails on its first day.
//
// It starts no goroutines; handlers run on the HTTP server's. All state is behind one mutex that is never held over a
// wait, so it runs in a testing/synctest bubble as well as on real sockets. Updates reach the poller in the order in
// which they came about. Memory is bounded: a chat keeps its last messages, the log its last events, the queue what
// the real service keeps (24 hours, button presses 150 seconds).
//
// Not simulated: the delivery to webhooks, uploads, inline mode, channels. Unless Options.Privacy is set the bot sees all
// group messages, as an administrator does. A person's DM counts as started, so that the bot may write first.
package telegram

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/spec"
)

// What the simulator keeps at most.
const (
	maxMessages = 2_000  // of one chat
	maxEvents   = 10_000 // of the log
)

// Options describe the bot. Empty fields get defaults.
type Options struct {
	Token        string // default "<BotID>:SIMULATED"
	BotID        int64  // default 7000000001
	Username     string // default "talaria_bot"
	NoRateLimits bool   // never answer 429 by itself: for benchmarks
	Privacy      bool   // privacy mode: of groups the bot hears what is meant for it alone
	NoGroups     bool   // nobody can add the bot to groups
	Webhook      string // address that updates go to, which nobody simulates; empty = none, and they can be polled
}

// Server is one bot's Bot API and the chats around it. It implements sim.Stage; make it with New.
type Server struct {
	opts    Options
	bot     *user
	methods map[string]method
	faults  sim.Faults
	closed  chan struct{}

	mu         sync.Mutex
	users      map[string]*user
	chats      map[string]*chat
	lastID     int // last message id outside supergroups, where the bot has one sequence for all chats
	queue      queue
	limits     limiter
	presses    map[string]*press
	given      map[string]givenFile // by path
	lastPress  int64
	commands   []Command
	log        []sim.Event
	changed    chan struct{}
	isClosed   bool
	official   *spec.Description
	violations []string
}

// New returns a simulator for one bot. Close it at the end.
func New(opts Options) *Server {
	if opts.BotID == 0 {
		opts.BotID = 7000000001
	}
	if opts.Username == "" {
		opts.Username = "talaria_bot"
	}
	if opts.Token == "" {
		opts.Token = strconv.FormatInt(opts.BotID, 10) + ":SIMULATED"
	}
	return &Server{
		opts:    opts,
		bot:     &user{id: opts.BotID, name: "Talaria", username: opts.Username, bot: true},
		methods: methods(),
		closed:  make(chan struct{}),
		users:   map[string]*user{},
		chats:   map[string]*chat{},
		queue:   newQueue(),
		limits:  newLimiter(),
		presses: map[string]*press{},
		given:   map[string]givenFile{},
		changed: make(chan struct{}),
	}
}

// Token is what the adapter needs to log in.
func (s *Server) Token() string { return s.opts.Token }

// BotID is the bot's user id, which is also the account in addresses.
func (s *Server) BotID() string { return strconv.FormatInt(s.opts.BotID, 10) }

// Username is the bot's name without the at sign.
func (s *Server) Username() string { return s.opts.Username }

// Faults is the fault script. Fault.Method is a Bot API method, Fault.Chat a chat id.
func (s *Server) Faults() *sim.Faults { return &s.faults }

// Handler serves /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Close ends waiting polls and refuses further ones. The simulator's state can still be looked at.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isClosed {
		s.isClosed = true
		close(s.closed)
	}
}

// CheckAgainst makes the simulator hold every request against the official description and refuse what differs.
func (s *Server) CheckAgainst(d spec.Description) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.official = &d
}

// Violations returns what the requests did against the official description, one line each.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// Commands returns the menu that the bot has registered.
func (s *Server) Commands() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Command(nil), s.commands...)
}

// record adds to the log and wakes those who wait for a change. The mutex is held.
func (s *Server) record(kind string, m sim.Message) {
	if len(s.log) >= maxEvents {
		s.log = append(s.log[:0:0], s.log[len(s.log)/2:]...)
	}
	s.log = append(s.log, sim.Event{At: time.Now(), Kind: kind, Message: m})
	close(s.changed)
	s.changed = make(chan struct{})
}
