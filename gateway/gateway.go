// Package gateway joins the chat platforms to the agent loop: it admits updates, makes them durable, gives each to its
// conversation, runs turns on a bounded pool, shows progress and delivers answers.
//
// Goroutines: one a platform runs its adapter, one fills its command menu, and one watches until when it is heard if it
// can be read back; one an awake conversation (its actor, the only one who starts turns and decides what happens in it);
// one a running turn, which holds a worker slot; beside it its typing indicator and its progress bubble; one a lane of the
// outbox that has work; one for each short call beside all that (a refusal, an edit of a question); one that forgets what is
// long done, and one that starts jobs when they are due. Sleeping conversations and idle lanes have none. Run starts them and waits for all of them.
//
// Order: updates of one conversation are handled in the order of their acceptance; rows of one lane are posted in the
// order of their commits. Between conversations there is no order. An update is acknowledged to its platform only
// after it is durable; nothing is answered that was not committed. The package knows no concrete platform, store or
// model.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/talaria-agent/talaria/gateway/chattools"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

const (
	// rememberFor is how long the ids of handled events are kept, and answers in doubt. Telegram delivers for a day, Slack
	// for minutes.
	rememberFor = 7 * 24 * time.Hour
	pruneEvery  = time.Hour
)

// Config is what can be set about a gateway.
type Config struct {
	Access           Access
	Homes            []platforms.Address       // where the owner is told what needs care, at most one a platform; accounts are left out
	Workers          int                       // turns that run at once
	Busy             Busy                      //
	BusyAt           map[string]Busy           // where another one is, by place; see platforms.Address.Places
	Debounce         time.Duration             // how long to wait for more before a turn starts
	Window           int                       // tokens of the model's context window
	MaxOutput        int                       // tokens reserved for a reply
	CompressAt       float64                   // share of Window - MaxOutput at which the history is compressed before a turn
	Progress         Progress                  // what the bubble shows
	Delivery         Deliveries                // how answers come
	EditEvery        time.Duration             // shortest distance between two edits of a bubble
	CatchUp          time.Duration             // how old may be what was written while we were away and is answered; 0 = nothing is
	WorkRoot         string                    // folder that holds the conversations' work folders
	Files            Files                     // what is done with files that people send; zero = DefaultFiles
	Workspace        string                    // one work folder for all conversations instead; empty = each has its own
	Retention        Retention                 // what is removed by itself
	NewWork          func(folder string) error // fills a work folder that was just made; nil = it stays empty
	MaxQueued        int                       // messages that may wait for a turn, in all; 0 = 2000
	MaxQueuedPerUser int                       // of one person; 0 = 100
	MaxAge           time.Duration             // how old a message may be when it gets here and is answered; 0 = any age
	Grace            time.Duration             // how long shutting down may take, all in all
	CrashPause       time.Duration             // longest wait before connecting after many crashes in a row; 0 = none
	Prompt           loop.PromptLayers
	Jobs             Errands                      // what runs by itself
	Background       Errands                      // what /bg starts
	Places           map[string]platforms.Address // chats that have a name for send_message and jobs; accounts are left out
	ChatTools        []string                     // the toolsets of chattools that the model has
}

// Parts is what a gateway is made of.
type Parts struct {
	Store      sessions.Store
	Adapters   []platforms.Adapter
	Runner     *loop.Runner // its Approver and Asker are set by New
	Compressor Compressor
	Tools      *tools.Registry
	Missing    []tools.Missing                                                // what /tools says of tools that the config wants and that are not there
	Source     tools.Source                                                   // of tools that come and go; nil = there are none
	Notes      Notebook                                                       // nil = nothing is noted about anybody
	Skills     Skillbook                                                      // nil = there are none
	Search     Searcher                                                       // nil = people cannot search
	Recorder   Recorder                                                       // nil = turns are not recorded
	Judge      Judge                                                          // looks at calls before people are asked; nil = people are always asked
	Price      func(model string, u sessions.Usage) (usd float64, known bool) // see Live
	// Checkpoints keeps copies of work folders; it must be one of the runner's hooks, too. nil = none are kept.
	Checkpoints Checkpoints
	// Background are the programs that tools leave running; nil = there are none. Run ends them when it ends.
	Background Background
	Version    string // of the program, for people
	// Fit makes a picture fit for models, from a file that came; its errors are for people. nil = pictures are files like others.
	Fit  func(content []byte) (tools.Image, error)
	Eyes tools.Describer // looks at pictures where the conversation's model cannot see; nil = no model can
	// Eraser says what is removed beside the store and the work folders, which are the gateway's.
	Eraser Eraser
	// Observe is told what happens, for counting. It must not block, and is called from any goroutine; nil = nobody.
	Observe func(Event)
	Log     *slog.Logger
}

// Judge says what a model thinks of a call that a person would be asked about.
type Judge interface {
	Judge(ctx context.Context, ask tools.Ask) (loop.Opinion, error)
}

// Compressor shortens a session's history between turns. A loop.Runner is one.
type Compressor interface {
	Compress(ctx context.Context, work loop.Turn, focus string) (sessions.Compaction, error)
}

// Gateway is the running whole. Make it with New, run it once with Run.
type Gateway struct {
	current   atomic.Pointer[settings]
	parts     Parts
	store     sessions.Store
	toolbox   *toolbox
	adapters  map[platforms.Name]platforms.Adapter
	log       *slog.Logger
	owner     string // names this process to the store
	strangers *strangers
	tally     tally
	full      atomic.Int64 // since when the disk is known to be full, in Unix nanoseconds; 0 = it is not
	unable    *strangers   // the places where people know that nothing can be taken from them

	outbox    *outbox
	pool      *pool
	room      *room
	live      *directory
	ready     chan struct{} // closed when conversations can be woken
	moves     *moves
	homes     *homes
	places    *places
	turns     index[*turn]        // by task id
	left      index[sessions.Key] // of turns that an earlier process has left and that do not run yet, by task id
	plans     *plans
	errands   errands
	waits     index[chan struct{}] // what tells a call that its question is decided, by the question's id
	fitting   chan struct{}        // holds one while a picture is made fit for models
	undrafted sync.Map             // addresses that have refused drafts
	stuck     sync.Map             // ids of sessions whose people know that compressing does not help any more

	supervised bool   // something starts the program again when Run has ended
	end        func() // has Run end

	ctx     context.Context // of the conversations; cancelled with loop.ErrParked
	side    sync.WaitGroup  // short calls beside the conversations: refusals, reactions, edits of questions
	bubbles sync.WaitGroup  // progress messages
}

// New checks the parts and makes a gateway of them.
func New(cfg Config, parts Parts) (*Gateway, error) {
	if len(parts.Adapters) == 0 {
		return nil, errors.New("no platform is configured")
	}
	g := &Gateway{
		parts: parts, store: parts.Store, log: parts.Log, owner: newID(), ready: make(chan struct{}),
		adapters: map[platforms.Name]platforms.Adapter{}, strangers: newStrangers(), unable: newStrangers(), fitting: make(chan struct{}, 1),
		pool: newPool(max(cfg.Workers, 1)), room: newRoom(cfg.room()),
	}
	if parts.Background == nil {
		g.parts.Background = nothingRuns{}
	}
	for _, a := range parts.Adapters {
		if g.adapters[a.Name()] != nil {
			return nil, fmt.Errorf("two adapters for %s", a.Name())
		}
		g.adapters[a.Name()] = a
	}
	own, err := chattools.New(g, cfg.ChatTools...)
	if err != nil {
		return nil, fmt.Errorf("make the tools of the gateway: %w", err)
	}
	if g.parts.Tools, err = tools.NewRegistry(append(parts.Tools.Tools(), own...)...); err != nil {
		return nil, err
	}
	if g.toolbox, err = newToolbox(g.parts.Tools, parts.Source, g.log); err != nil {
		return nil, fmt.Errorf("declare tools: %w", err)
	}
	g.live, g.plans = newDirectory(g), newPlans(g.store)
	g.adopt(cfg, Live{Runner: parts.Runner, Compressor: parts.Compressor, Judge: parts.Judge, Price: parts.Price, Eyes: parts.Eyes})
	return g, nil
}

// Run works until the context ends, then drains within Config.Grace: running turns are parked and go on at the next start,
// answers that are on their way are delivered as far as they can be. It returns an error if no platform can work any more.
func (g *Gateway) Run(ctx context.Context) error {
	ctx, g.end = context.WithCancel(ctx)
	defer g.end()
	conversations, park := context.WithCancelCause(context.WithoutCancel(ctx))
	defer park(nil)
	delivery, stopDelivery := context.WithCancel(context.WithoutCancel(ctx))
	defer stopDelivery()
	g.ctx = conversations
	g.moves, g.places = &moves{store: g.store}, newPlaces(g.store)
	g.homes = &homes{store: g.store, rules: g.rules, configured: func() []platforms.Address { return g.now().Homes }, off: map[platforms.Name]bool{}}
	g.outbox = newOutbox(delivery, g.store, g.adapters, g.log)
	g.outbox.observe = g.observe
	g.outbox.signed = func(s *firstSign, p platforms.Name) { s.shown(g, p) }
	g.outbox.undelivered = g.undelivered
	g.outbox.penalised, g.outbox.ownersHome = g.penalised, g.ownersHome
	g.outbox.doubt, g.outbox.now, g.outbox.moved = g.doubt, g.moves.now, g.migrated
	if err := g.newEraser().Resume(ctx); err != nil { // before anybody is awake
		g.log.Error("what was to be erased could not be; trying again at the next start", "error", err)
	}
	if err := g.recover(ctx); err != nil {
		return fmt.Errorf("take over what an earlier run left: %w", err)
	}
	close(g.ready)
	g.parts.Background.Begin(g.backgroundEnded)

	pruning, stopPruning := context.WithCancel(ctx)
	g.side.Go(func() { g.prune(pruning) })
	g.side.Go(func() { g.keepTime(pruning) })
	g.listen(pruning)
	pause, ended := g.crashed(ctx)
	intake := make(chan struct{})
	var err error // of the adapters, once intake is closed
	go func() {
		defer close(intake)
		if sleepUntil(ctx, time.Now().Add(pause)) {
			err = g.runAdapters(ctx)
		}
	}()
	select {
	case <-intake:
	case <-ctx.Done():
	}
	stopPruning()
	g.shutdown(intake, park, stopDelivery)
	if ctx.Err() != nil { // it was told to end
		ended(context.WithoutCancel(ctx))
		return nil
	}
	return err
}

// recover wakes the conversations that have something to do and takes over the outbox.
func (g *Gateway) recover(ctx context.Context) error {
	if err := g.moves.load(ctx); err != nil {
		return err
	}
	if err := g.homes.load(ctx); err != nil {
		return err
	}
	if err := g.places.load(ctx, g.parts.Adapters); err != nil {
		return err
	}
	if err := g.plans.load(ctx); err != nil {
		return err
	}
	keys, items := map[sessions.Key]bool{}, 0
	for item, err := range g.store.Pending(ctx) {
		if err != nil {
			return err
		}
		items++
		if g.adapters[platformOf(item.Key)] == nil {
			g.log.Warn("a message waits for a platform that is not configured", "item", item.ID, "conversation", item.Key)
			continue
		}
		keys[item.Key] = true
		if in, err := decodeInput(item.Item); err == nil {
			g.errands.add(item.Key, in)
		}
		if item.Turn != "" {
			g.left.put(item.Turn, item.Key)
		}
	}
	rows, left, err := g.outbox.recover(ctx)
	if err != nil {
		return err
	}
	g.observe(Began{Items: items, Rows: len(rows) + left})
	for _, j := range rows {
		g.outbox.takeOver(j)
	}
	for key := range keys {
		g.live.post(key, nil)
	}
	if len(keys) > 0 {
		g.log.Info("going on with what was accepted before", "conversations", len(keys))
	}
	return nil
}

// prune forgets, once in a while, what is too old to be delivered a second time by any platform.
func (g *Gateway) prune(ctx context.Context) {
	var looked time.Time // when all ages were looked at
	for sleepUntil(ctx, time.Now().Add(pruneEvery)) {
		before := time.Now().Add(-rememberFor)
		doubtErr := g.outbox.endDoubts(ctx, before)
		n, err := g.store.Prune(ctx, before)
		if err = errors.Join(doubtErr, err); err != nil && ctx.Err() == nil {
			g.log.Error("what is long done could not be forgotten", "error", err)
		}
		g.tally.forget(time.Now().Add(-pruneEvery))
		g.log.Debug("forgot what is long done", "records", n)
		ages := time.Since(looked) >= retainEvery
		if err := g.retain(ctx, ages); err != nil && ctx.Err() == nil {
			g.log.Error("what is old could not be removed", "error", err)
		} else if ages {
			looked = time.Now()
		}
	}
}

// runAdapters runs all adapters until the context ends. One that fails for good is off; if all are, that is an error.
func (g *Gateway) runAdapters(ctx context.Context) error {
	failed := make(chan error, len(g.adapters))
	for _, a := range g.adapters {
		go func() {
			err := g.runAdapter(ctx, a)
			if err != nil {
				g.platformOff(a.Name(), err)
				err = fmt.Errorf("%s: %w", a.Name(), err)
				g.log.Error("a platform is off until the cause is cured and the program restarted", "platform", a.Name(), "error", err)
			}
			failed <- err
		}()
	}
	var errs []error
	for range g.adapters {
		if err := <-failed; err != nil {
			errs = append(errs, err)
		}
	}
	if ctx.Err() == nil {
		return errors.Join(errs...)
	}
	return nil
}

// runAdapter runs one adapter, and fills its command menu beside it.
func (g *Gateway) runAdapter(ctx context.Context, a platforms.Adapter) error {
	var menu sync.WaitGroup
	defer menu.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r, ok := a.(platforms.CommandRegistrar); ok {
		menu.Go(func() { g.registerCommands(ctx, a.Name(), r) })
	}
	return a.Run(ctx, g.sink)
}

// registerCommands fills a platform's command menu, trying until it works.
func (g *Gateway) registerCommands(ctx context.Context, name platforms.Name, r platforms.CommandRegistrar) {
	for n := 1; ; n++ {
		err := r.RegisterCommands(ctx, NativeCommands())
		if err == nil || ctx.Err() != nil {
			return
		}
		if n == 1 {
			g.log.Warn("the command menu could not be filled; trying again", "platform", name, "error", err)
		}
		switch platforms.ClassOf(err) {
		case platforms.RateLimited, platforms.Transient, platforms.OutcomeUnknown:
		default:
			return
		}
		if !sleepUntil(ctx, time.Now().Add(max(platforms.WaitOf(err), backoff(n)))) {
			return
		}
	}
}

// Tools returns what models can use here now, with the gateway's own tools.
func (g *Gateway) Tools() *tools.Registry { return g.toolbox.now().tools }

// work returns the conversation's work folder and makes sure that it exists.
func (g *Gateway) work(key sessions.Key) (string, error) {
	folder := g.workFolder(key)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the work folder: %w", err)
	}
	if g.now().NewWork != nil {
		return folder, g.now().NewWork(folder)
	}
	return folder, nil
}

func (g *Gateway) workFolder(key sessions.Key) string {
	if g.now().Workspace != "" {
		return g.now().Workspace
	}
	return filepath.Join(g.now().WorkRoot, workName(key))
}

// workName is a conversation's key as the name of its work folder.
func workName(key sessions.Key) string {
	return strings.NewReplacer("/", "_", ":", "_").Replace(string(key))
}

// beside runs a short call that nothing waits for but the end of Run.
func (g *Gateway) beside(call func(ctx context.Context)) {
	g.side.Add(1)
	go func() {
		defer g.side.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(g.ctx), time.Minute)
		defer cancel()
		stop := context.AfterFunc(g.outbox.ctx, cancel)
		defer stop()
		call(ctx)
	}()
}
