package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// errand makes a message one that nobody has just written: the run of a job, or a task in the background. It has a
// conversation of its own (see errandKey), in which each begins a new session, and nobody watches it: there is no progress
// message, and no question but for permission.
type errand struct {
	Kind     string            `json:"kind"` // jobKind or taskKind
	Number   int               `json:"number"`
	Title    string            `json:"title"`              // what it is about, one line
	Due      string            `json:"due,omitempty"`      // of a job: when it was to run, for people; empty = somebody has said now
	Late     bool              `json:"late,omitempty"`     // that was some time ago
	Missed   bool              `json:"missed,omitempty"`   // that was too long ago, so it does not
	To       *platforms.Origin `json:"to,omitempty"`       // where the answer goes, with the person; nil = where it is from
	Toolsets []string          `json:"toolsets,omitempty"` // what it can use; empty = what all of its kind can
	MaxTurns int               `json:"max_turns,omitempty"`
}

// silence is the answer of a job that has nothing to say.
const silence = "[SILENT]"

// Errands is what is set about jobs, or about tasks in the background.
type Errands struct {
	PerPerson int           // how many somebody may have; 0 = none
	Toolsets  []string      // what they can use; empty = all
	MaxTurns  int           // model calls of one; 0 = as for any turn
	Grace     time.Duration // of jobs: how late one may run
	Zone      string        // of jobs for which nobody says one: IANA name, empty = the machine's
}

// set returns what is set about errands of a kind.
func (cfg *Config) errands(kind string) Errands {
	if kind == jobKind {
		return cfg.Jobs
	}
	return cfg.Background
}

// name is what people call it.
func (e *errand) name() string {
	if e.Kind == jobKind {
		return fmt.Sprintf("Job %d", e.Number)
	}
	return fmt.Sprintf("Task %d", e.Number)
}

// head stands above what it has to say.
func (e *errand) head() string {
	late := ""
	if e.Late && !e.Missed {
		late = " · was due at " + e.Due
	}
	return fmt.Sprintf("**%s** · %s%s\n\n", e.name(), e.Title, late)
}

// headline makes one line of a text, for a list or above an answer.
func headline(text string) string {
	line := strings.Join(strings.Fields(unveiled(strings.NewReplacer("*", "", "_", " ", "`", "", "[", "(", "]", ")").Replace(text))), " ")
	if runes := []rune(line); len(runes) > 60 {
		line = strings.TrimSpace(string(runes[:59])) + "…"
	}
	return line
}

// brief is what the model gets to read of an errand.
func (e *errand) brief(when, prompt string) string {
	if e.Kind == taskKind {
		return fmt.Sprintf("[This is a task in the background, %s. Nobody can answer a question meanwhile: take what is most likely wanted, "+
			"and say what you assumed. Your answer is posted in the chat.]\n\n%s", e.name(), prompt)
	}
	return fmt.Sprintf("[This is %s, which runs by itself: %s. Nobody waits for it or can answer a question: take what is most likely wanted. "+
		"Your answer is posted in the chat. If nothing is worth posting, answer with %s and nothing else.]\n\n%s", e.name(), when, silence, prompt)
}

// prepare makes an errand durable, and returns what lets it begin: after whoever asked for it has been told, so that its
// answer cannot come first.
func (g *Gateway) prepare(ctx context.Context, key sessions.Key, id string, in *input) (wake func(), err error) {
	fresh, err := g.keep(ctx, key, id, in)
	if fresh {
		return func() { g.live.post(key, in) }, err
	}
	return func() { g.live.post(key, unsure{}) }, err // it may be there from an earlier try, and may have been taken up or not
}

// begin decides what becomes of an errand that has come.
func (c *conversation) begin(ctx context.Context, in *input) {
	e := in.Errand
	switch {
	case e.Missed:
		c.reply(ctx, in, e.head()+fmt.Sprintf("It was to run at %s, when I was away. That is too long ago, so I leave it out.", e.Due))
	case e.Kind == jobKind && (c.turn != nil || len(c.queue) > 0):
		c.reply(ctx, in, e.head()+"It is to run again, but the run before is not done. I leave this one out.")
	default:
		in.busy = Queue
		c.enqueue(ctx, in)
	}
}

// mayRun tells whether whoever made an errand may still talk to us where it was made, and where its answer goes.
func (g *Gateway) mayRun(in *input) Decision {
	d := g.admit(in.origin())
	if e := in.Errand; d.Admitted && e != nil && e.To != nil {
		return g.admit(*e.To)
	}
	return d
}

// barred ends an input whose sender is not allowed any more. His job is paused, and that is said where it was made.
func (c *conversation) barred(ctx context.Context, in *input, d Decision) {
	c.g.log.Info("no longer allowed", "conversation", c.key, "user", in.origin().Sender.ID, "rule", d.Rule)
	e := in.Errand
	if e == nil {
		c.settle(ctx, Barred, in.items())
		return
	}
	text := e.head() + "Whoever made it is not allowed to any more, so it does not run."
	if e.Kind == jobKind {
		if _, err := c.g.plans.pause(ctx, e.Number, "whoever made it is not allowed any more"); err != nil {
			c.g.log.Error("a job could not be paused; trying again", "job", e.Number, "error", err)
			c.torn = true
			return
		}
		text += " The job is paused."
	}
	out, _ := c.g.answer(in, text)
	c.settle(ctx, Barred, in.items(), out)
}

// errand returns what makes this turn one that nobody watches, nil if it is an ordinary one.
func (t *turn) errand() *errand { return t.inputs[0].Errand }

// fresh begins a new session for an errand, if its conversation holds one.
func (t *turn) fresh() error {
	s := t.log.snapshot()
	if t.errand() == nil || len(s.Messages) == 0 {
		return nil
	}
	return t.log.append(t.ctx, sessions.Record{Entries: []sessions.Entry{
		sessions.Reset{By: t.requester, At: time.Now(), Approvals: s.Forever(), Settings: s.Settings},
	}})
}

// kit is what a turn can use, and how that is declared to the model.
type kit struct {
	tools    *tools.Registry
	declared []byte
}

// kit returns what the turn can use: the same as long as it runs, whatever comes and goes meanwhile.
func (t *turn) kit() kit {
	t.choosing.Do(func() { t.chosen = t.choose() })
	return t.chosen
}

// choose returns what a turn can use. In an errand nobody can be asked, and a job makes no jobs.
func (t *turn) choose() kit {
	g, e := t.c.g, t.errand()
	all := g.toolbox.now()
	if e == nil {
		return all
	}
	some := all.tools.Only(func(s tools.Spec) bool {
		switch {
		case s.Toolset == "clarify", e.Kind == jobKind && s.Toolset == jobTools:
			return false
		}
		return within(t.settings.errands(e.Kind).Toolsets, s.Toolset) && within(e.Toolsets, s.Toolset)
	})
	declared, err := loop.Declare(some)
	if err != nil { // all of them were declared before
		g.log.Error("the tools of an errand could not be declared", "conversation", t.c.key, "error", err)
	}
	return kit{some, declared}
}

// within tells whether a list names something; an empty one names everything.
func within(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }

// maxTurns bounds the model calls of the turn; 0 = nothing but the general limits do.
func (t *turn) maxTurns() int {
	e := t.errand()
	if e == nil {
		return 0
	}
	most := t.settings.errands(e.Kind).MaxTurns
	if most == 0 || e.MaxTurns > 0 && e.MaxTurns < most {
		most = e.MaxTurns
	}
	return most
}

// told is what an errand has to say in the end, false if that is nothing.
func (e *errand) told(o loop.Outcome) (text string, says bool) {
	if e.Kind == jobKind && o.Said && strings.EqualFold(strings.TrimSpace(o.Text), silence) {
		return "", false
	}
	if o.Reason == loop.EndStopped {
		return e.head() + "Stopped.", true
	}
	return e.head() + strings.Replace(o.Text, loop.GoOn, "", 1), o.Text != "" // nobody goes on with it
}

// errands knows those that are not done, from their acceptance on. Safe for use from any goroutine; the zero value is
// empty.
type errands struct {
	mu  sync.Mutex
	all map[sessions.ItemID]*active
}

// active is an errand that is not done.
type active struct {
	in   *input
	key  sessions.Key
	turn *turn // nil = it has not begun
}

// add notes an errand that was accepted; other inputs and known ones are passed over.
func (e *errands) add(key sessions.Key, in *input) {
	if in.Errand == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[sessions.ItemID]*active{}
	}
	if e.all[in.item] == nil {
		e.all[in.item] = &active{in: in, key: key}
	}
}

// began notes the turn of an errand.
func (e *errands) began(t *turn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.all[t.inputs[0].item]; a != nil {
		a.turn = t
	}
}

// done forgets items that have their outcome.
func (e *errands) done(items []sessions.ItemID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range items {
		delete(e.all, id)
	}
}

// list returns those that are not done and that somebody wants, in the order of their numbers, jobs first.
func (e *errands) list(want func(*active) bool) (some []active) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.all {
		if want(a) {
			some = append(some, *a)
		}
	}
	slices.SortFunc(some, func(a, b active) int {
		if x, y := a.in.Errand, b.in.Errand; x.Kind != y.Kind {
			return strings.Compare(x.Kind, y.Kind)
		} else if x.Number != y.Number {
			return x.Number - y.Number
		}
		return strings.Compare(string(a.in.item), string(b.in.item))
	})
	return some
}

// String says what an errand is about and how far it is.
func (a active) String() string {
	e := a.in.Errand
	text := fmt.Sprintf("%s · %s: ", e.name(), e.Title)
	if a.turn == nil {
		return text + "about to begin"
	}
	s := a.turn.log.snapshot().Turn
	if s == nil {
		return text + "about to begin"
	}
	return text + fmt.Sprintf("working for %s, round %d", short(time.Since(a.turn.started)), s.Rounds+1)
}
