package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

const (
	bubbleAfter   = time.Second      // a turn that lasts longer shows what it does
	bubbleRefresh = 5 * time.Second  // so that the elapsed time moves while nothing else does ...
	bubbleSlower  = 15 * time.Second // ... and this after half a minute
	bubbleSettle  = 2 * time.Second  // how long an answer waits for a call that is under way
	recallTimes   = 4                // how often a platform in trouble is asked for what an earlier process posted
)

// bubble is the one progress message of a turn. It is lossy: what matters is in the log. Events only change the state
// and ring; its goroutine posts the message once and then edits it, latest state first, never faster than the platform
// likes. It is never posted twice: if nobody knows whether it was posted, there is none. Its last edit is no part of
// this: the commit that ends the turn holds it as an outbox row, so that no bubble says "working" for ever.
type bubble struct {
	t      *turn
	editor platforms.Editor // nil = no bubble

	mu      sync.Mutex
	state   progress
	message string // the platform's id
	end     string // what it says in the end; set before over is closed
	parked  bool   // the turn goes on later, in this message
	late    bool   // the turn has been closed without knowing the message
	ring    chan struct{}
	begun   chan struct{} // closed at the first tool call
	posted  chan struct{} // closed when it has been posted, or never will be
	over    chan struct{} // closed when the turn is over
	done    chan struct{} // closed when nothing is under way any more
	once    sync.Once     // for begun
	ended   sync.Once     // for over
}

func newBubble(t *turn, message string) *bubble {
	g, mode := t.c.g, t.c.progress()
	b := &bubble{
		t: t, message: message, ring: make(chan struct{}, 1), begun: make(chan struct{}), over: make(chan struct{}),
		posted: make(chan struct{}), done: make(chan struct{}),
		state: progress{mode: mode, started: t.started},
	}
	if mode != ProgressOff && t.errand() == nil {
		b.editor, _ = g.adapters[t.address.Platform].(platforms.Editor)
	}
	return b
}

// id returns the message id of the bubble, empty if it is not shown.
func (b *bubble) id() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.message
}

// start begins to watch; finish must follow.
func (b *bubble) start() {
	if b.editor == nil {
		close(b.posted)
		close(b.done)
		return
	}
	b.t.c.g.bubbles.Go(b.run)
}

// settle waits, not long, for a bubble that is just being posted, so that it does not turn up below the answer or a
// question.
func (b *bubble) settle() {
	select {
	case <-b.begun:
		waitAtMostFor(b.posted, bubbleSettle)
	default:
	}
}

// observe takes an event of the loop. It never blocks.
func (b *bubble) observe(e loop.Event) {
	b.mu.Lock()
	b.state.apply(e)
	b.mu.Unlock()
	switch e.(type) {
	case loop.TextDelta:
		return
	case loop.CallStarted:
		b.once.Do(func() { close(b.begun) })
	}
	select {
	case b.ring <- struct{}{}:
	default:
		if !loop.Fleeting(e) {
			b.saved()
		}
	}
}

// saved counts an edit that need not be made.
func (b *bubble) saved() {
	if b.editor != nil {
		b.t.c.g.observe(Edited{Platform: b.t.address.Platform, Saved: true})
	}
}

// finish ends the showing of progress and returns the message that is left to be closed, with the text in b.end; empty
// if there is none. It waits, not long, for a call that is under way: neither a post that turns up below the answer nor
// an edit after the last one is wanted.
func (b *bubble) finish(o loop.Outcome) (message string) {
	b.mu.Lock()
	b.end = b.state.summary(o, time.Now())
	b.mu.Unlock()
	b.settle()
	b.halt()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.late = b.message == ""
	return b.message
}

// park says that the turn was left open and goes on later, in the same message.
func (b *bubble) park() {
	b.mu.Lock()
	b.parked = true
	b.mu.Unlock()
	b.halt()
}

// halt ends the showing of progress.
func (b *bubble) halt() {
	b.ended.Do(func() { close(b.over) })
	waitAtMostFor(b.done, bubbleSettle)
}

func (b *bubble) run() {
	defer close(b.done)
	ctx := platforms.Droppable(b.t.c.g.outbox.ctx, b.over)
	shown := ""
	if b.id() == "" && b.t.resumed {
		b.recall(b.t.c.g.outbox.ctx)
	}
	if b.id() == "" {
		shown = b.post(ctx)
	}
	close(b.posted)
	if b.id() != "" {
		b.keep(ctx, shown)
	}
}

// keep edits the bubble, which shows a text now, while the turn runs.
func (b *bubble) keep(ctx context.Context, shown string) {
	every := max(b.t.settings.EditEvery, b.t.c.g.adapters[b.t.address.Platform].Limits().EditEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.over:
			b.pause(b.t.c.g.outbox.ctx)
			return
		case <-b.ring:
		case <-time.After(b.refresh()):
		}
		text := b.text()
		if text == shown {
			b.saved()
			continue
		}
		wait := every
		if err := b.edit(ctx, text, true); err == nil {
			shown = text
		} else {
			wait = max(wait, platforms.WaitOf(err))
			switch platforms.ClassOf(err) {
			case platforms.Gone, platforms.Forbidden: // it is not fought over
				b.mu.Lock()
				b.message = ""
				b.mu.Unlock()
				return
			case platforms.Fatal:
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-b.over:
		case <-time.After(wait):
		}
	}
}

// refresh is how long a bubble may stay as it is.
func (b *bubble) refresh() time.Duration {
	if time.Since(b.t.started) < 30*time.Second {
		return bubbleRefresh
	}
	return bubbleSlower
}

// post waits until the turn is worth showing, posts the bubble, records its id and returns its text. There is no id if
// there is nothing to go on with.
func (b *bubble) post(ctx context.Context) string {
	timer := time.NewTimer(bubbleAfter)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ""
	case <-b.over:
		return ""
	case <-b.begun:
	case <-timer.C:
		if b.t.stream.writing() && !b.calling(ctx) { // there is something better to see
			return ""
		}
	}
	t := b.t
	if b.adopt(ctx) {
		return ""
	}
	text := b.text()
	out := b.outgoing(text, true)
	out.Key, out.Silent, out.Class = t.id, true, platforms.PriorityApproval // a person waits for a first sign
	id, err := t.c.g.post(ctx, t.address, out)
	if err != nil {
		t.c.g.log.Warn("progress is not shown", "task", t.id, "error", err)
		return ""
	}
	t.sign.shown(t.c.g, t.address.Platform)
	b.take(ctx, id)
	return text
}

// take goes on with a message and records it, or has it closed if the turn did not know of it when it ended.
func (b *bubble) take(ctx context.Context, id string) {
	b.mu.Lock()
	b.message = id
	late := b.late
	b.mu.Unlock()
	if late {
		b.t.owe(ctx, lastEdit(b.t.address, id, b.end))
	} else {
		b.t.shown(ctx, sessions.BubbleShown{Turn: b.t.id, MessageID: id})
	}
}

// recall looks for the progress message that an earlier process may have posted without being able to record it.
func (b *bubble) recall(ctx context.Context) {
	out := b.outgoing(b.text(), true)
	out.Key = b.t.id
	if id := b.t.recall(ctx, out); id != "" {
		b.take(ctx, id)
	}
}

// recall looks for a message of the turn that an earlier process may have posted, where the platform can be asked. It may
// not be connected yet. The id is empty if there is none, or nobody can tell.
func (t *turn) recall(ctx context.Context, out platforms.Outgoing) (id string) {
	finder, ok := t.c.g.adapters[t.address.Platform].(platforms.Finder)
	for n := 1; ok && n <= recallTimes; n++ {
		id, err := finder.Find(ctx, t.address, out, t.started)
		switch platforms.ClassOf(err) {
		case "":
			return id
		case platforms.Transient, platforms.RateLimited:
			if !sleepUntil(ctx, time.Now().Add(max(platforms.WaitOf(err), backoff(n)))) {
				return ""
			}
		default:
			t.c.g.log.Debug("nobody can tell whether a message of the turn stands there already", "task", t.id, "error", err)
			return ""
		}
	}
	return ""
}

// calling waits for the first tool call. It reports false if there is none.
func (b *bubble) calling(ctx context.Context) bool {
	select {
	case <-b.begun:
		return true
	case <-b.over:
	case <-ctx.Done():
	}
	return false
}

// adopt takes over what was shown of what the model said beside its tool calls, and the message that shows it. It reports
// whether there is such a message, which is the bubble then.
func (b *bubble) adopt(ctx context.Context) bool {
	id, said, rest := b.t.stream.give()
	if id == "" && said == "" {
		return false
	}
	b.mu.Lock()
	b.message = id
	if b.state.mode != ProgressVerbose { // which has it already
		b.state.lines = append([]line{{remark: oneLine(said, verboseRunes)}}, b.state.lines...)
	}
	b.mu.Unlock()
	if id == "" { // a draft showed it
		return false
	}
	b.t.shown(ctx, sessions.BubbleShown{Turn: b.t.id, MessageID: id}, rest)
	return true
}

// shown records in the log what shows the turn, so that a restart finds it again. The log refuses it while the turn is not open.
func (t *turn) shown(ctx context.Context, shown ...sessions.Entry) {
	if err := t.log.append(ctx, sessions.Record{Entries: shown}); err != nil {
		t.c.g.log.Debug("a message that shows progress was not recorded", "task", t.id, "error", err)
	}
}

// pause says that the turn goes on later, if it does: that is worth one attempt.
func (b *bubble) pause(ctx context.Context) {
	b.mu.Lock()
	parked := b.parked
	b.mu.Unlock()
	if !parked {
		return
	}
	if err := b.edit(ctx, "⏸ Interrupted by a restart; I will go on from here.", false); err != nil {
		b.t.c.g.log.Debug("a progress message could not be changed", "task", b.t.id, "error", err)
	}
}

func (b *bubble) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.render(time.Now())
}

func (b *bubble) edit(ctx context.Context, text string, running bool) error {
	err := b.t.c.g.outbox.edit(ctx, b.editor, b.t.address, b.id(), b.outgoing(text, running))
	if err == nil {
		b.t.c.g.observe(Edited{Platform: b.t.address.Platform})
	}
	return err
}

func (b *bubble) outgoing(text string, running bool) platforms.Outgoing {
	out := platforms.Outgoing{Text: text, Class: platforms.PriorityProgress}
	if running {
		out.Buttons = [][]platforms.Button{{{Label: "Stop", Data: buttonData(verbStop, b.t.id), Danger: true}}}
	}
	return out
}
