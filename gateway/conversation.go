package gateway

import (
	"context"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// linger is how long a conversation with nothing to do stays awake, so that a quick exchange does not fold its log anew
// for each message.
const linger = time.Minute

// conversation is the actor that owns one session key while it is awake: its queue, its running turn, and the decision
// what a new message does. Only its own goroutine touches the fields below mail.
type conversation struct {
	g    *Gateway
	key  sessions.Key
	wake chan struct{}
	mail []any // belongs to the directory

	log      *convLog
	queue    []*input // messages that wait for a turn
	after    []*input // commands that wait until the turn has been closed
	held     []*input // answers that wait until the turn asks the question that they are for
	turn     *turn    // the running turn, nil if there is none
	ended    chan turnEnd
	known    map[sessions.ItemID]bool // items that came with the log, so that their mail is not taken twice
	flushing *flushing                // the last time that notes were taken of a session that was left, nil if there was none
	outline  *sessions.Outline        // the sessions as far as they were asked for, nil if they were not
	spending spending                 // what they have used
	torn     bool                     // a write failed: log and memory may differ until the log has been read again

	working  []*input // what the running turn is to answer
	refusals refusals
	was      phase
}

// unsure is mail: nobody knows whether an update was accepted, so the inbox has to be read again.
type unsure struct{}

func newConversation(g *Gateway, key sessions.Key) *conversation {
	return &conversation{
		g: g, key: key, wake: make(chan struct{}, 1), ended: make(chan turnEnd, 1), known: map[sessions.ItemID]bool{},
		was: asleep,
	}
}

// run is the actor's life: load, work until there is nothing to do for a while, sleep.
func (c *conversation) run() {
	ctx := c.g.ctx
	if !c.open(ctx) {
		return
	}
	defer c.sleep(ctx)
	for {
		for n := 1; c.torn && c.turn == nil; n++ {
			if !sleepUntil(ctx, time.Now().Add(backoff(n))) || !c.open(ctx) {
				return
			}
		}
		c.next(ctx)
		c.answerWithAlbum(ctx)
		c.tellRefusals(ctx)
		c.look(ctx)
		steer, batch := c.steering()
		timer := time.NewTimer(c.patience())
		select {
		case steer <- batch:
			c.steered(batch)
		case <-c.wake:
			for _, mail := range c.g.live.collect(c) {
				c.handle(ctx, mail)
			}
		case end := <-c.ended:
			timer.Stop()
			if ctx.Err() != nil { // it was parked: nothing may follow it
				return
			}
			c.finish(ctx, end)
		case <-timer.C:
			if c.idle() && c.g.live.retire(c) {
				return
			}
		case <-ctx.Done():
			timer.Stop()
			c.look(ctx)
			if c.turn != nil {
				<-c.ended
			}
			return
		}
		timer.Stop()
	}
}

// open reads the conversation, trying until it works. It reports false if the context ends first.
func (c *conversation) open(ctx context.Context) bool {
	for n := 1; ; n++ {
		err := c.load(ctx)
		if err == nil {
			return true
		}
		c.g.log.Error("a conversation could not be read; trying again", "conversation", c.key, "error", err)
		if !sleepUntil(ctx, time.Now().Add(backoff(n))) {
			return false
		}
	}
}

func (c *conversation) sleep(ctx context.Context) {
	if err := c.log.release(context.WithoutCancel(ctx)); err != nil {
		c.g.log.Warn("a lease was not given back", "conversation", c.key, "error", err)
	}
}

// patience is how long the actor waits before it looks again without being woken.
func (c *conversation) patience() time.Duration {
	wait := linger
	switch {
	case c.phase(c.g.ctx) == debouncing:
		wait = time.Until(last(c.together()).ready)
	default:
		if parts := c.album(); len(parts) > 0 {
			wait = min(wait, time.Until(last(parts).ready))
		}
		for _, in := range c.queue {
			if in.busy == Steer && time.Now().Before(in.ready) {
				wait = min(wait, time.Until(in.ready))
			}
		}
	}
	if len(c.refusals.open) > 0 {
		wait = min(wait, time.Until(c.refusals.due()))
	}
	return max(wait, 0)
}

func last(inputs []*input) *input { return inputs[len(inputs)-1] }

func (c *conversation) idle() bool {
	return c.turn == nil && len(c.queue) == 0 && len(c.after) == 0 && len(c.refusals.open) == 0 && !c.flushes()
}

// load takes over the key: the fold of its log, what waits in its inbox, and a turn that an earlier process left open or
// that could not be written down. Whoever is not allowed any more loses his place.
func (c *conversation) load(ctx context.Context) error {
	log, found, err := openLog(ctx, c.g.store, c.key, c.g.owner)
	if err != nil {
		return err
	}
	within := c.torn
	log.committed = func(r sessions.Record) { c.g.settled(c.key, r) }
	c.recount(found.Records)
	c.g.room.leave(c.queue...)
	c.log, c.queue, c.after, c.held, c.refusals.open, c.outline, c.torn = log, nil, nil, nil, nil, nil, false
	open := log.snapshot().Turn
	var claimed, waiting []*input
	for _, item := range found.Pending {
		c.g.counted(item.Item)
		c.known[item.ID] = true
		in, err := decodeInput(item.Item)
		if err != nil { // it stays where it is, for a version that can read it
			c.g.log.Error("an accepted update cannot be read and is left alone", "conversation", c.key, "error", err)
			continue
		}
		if open != nil && slices.Contains(open.Inputs, item.ID) {
			claimed = append(claimed, in)
		} else {
			waiting = append(waiting, in)
		}
		c.g.errands.add(c.key, in)
	}
	if open != nil {
		c.resume(ctx, open, amended(claimed), within)
	}
	for _, in := range waiting {
		c.take(ctx, in)
	}
	return nil
}

// recount counts what was committed after all: a commit can fail without anybody knowing what became of it. What this
// process knew of is counted already, and what an earlier one did is that one's.
func (c *conversation) recount(records []sessions.Record) {
	if c.log == nil {
		return
	}
	known := c.log.last()
	for _, r := range records {
		if r.Revision > known {
			c.g.settled(c.key, r)
		}
	}
}

// handle takes one piece of mail.
func (c *conversation) handle(ctx context.Context, mail any) {
	switch m := mail.(type) {
	case *input:
		if !c.known[m.item] {
			c.take(ctx, m)
		}
	case doubtful:
		c.offerAgain(ctx, m)
	case undeliverable:
		c.noteUndelivered(ctx, m)
	case notice:
		c.noted(ctx, m)
	case leftOver:
		c.tellLeftOver(ctx, m)
	case asking:
		held := c.held
		c.held = nil
		for _, in := range held {
			c.take(ctx, in)
		}
	case unsure:
		c.torn = true
	case erasing:
		if m.person == "" {
			m.done <- c.erase(ctx)
		} else {
			m.done <- c.disown(ctx, m.person)
		}
	}
}

// take decides what an accepted update does.
func (c *conversation) take(ctx context.Context, in *input) {
	if in.Deleted != nil {
		c.deleted(ctx, in)
		return
	}
	if d := c.g.mayRun(in); !d.Admitted {
		c.barred(ctx, in, d)
		return
	}
	switch {
	case in.Errand != nil:
		c.begin(ctx, in)
	case in.Edited != nil:
		c.edited(ctx, in)
	case in.Button != nil:
		c.pressed(ctx, in)
	case in.Command != nil:
		c.command(ctx, in, in.Command.Name)
	case in.Refused != "":
		c.refuse(ctx, in, in.Refused)
	default:
		if name, _, ok := parseCommand(in.Message); ok {
			c.command(ctx, in, name)
			return
		}
		if why := unworkable([]*input{in}); why != "" && in.Message.Album == "" {
			c.reply(ctx, in, why)
			return
		}
		c.enqueue(ctx, in)
	}
}

// mayStop tells whether somebody may interrupt or stop the running turn: in a shared conversation only who started it,
// or an admin.
func (c *conversation) mayStop(o platforms.Origin) bool {
	if c.turn == nil || !shared(o.Kind) {
		return true
	}
	return o.Sender.ID == c.turn.requester || c.g.now().Access.Admin(o.Address.Platform, o.Sender.ID)
}

// resume goes on with a turn that an earlier process, or this one (within), left open. One whose starter may not be here any more is closed.
func (c *conversation) resume(ctx context.Context, open *sessions.Turn, claimed []*input, within bool) {
	if len(claimed) == 0 {
		c.g.log.Error("an open turn has no message to answer; closing it", "conversation", c.key, "task", open.ID)
		if err := c.abandon(ctx, open); err != nil {
			c.g.log.Error("an open turn could not be closed", "conversation", c.key, "error", err)
		}
		return
	}
	t := newTurn(ctx, c, claimed, open)
	t.within = within
	if d := c.g.mayRun(claimed[0]); !d.Admitted {
		t.cancel(loop.ErrStopped)
	}
	c.start(t)
}

// abandon closes a turn that cannot go on.
func (c *conversation) abandon(ctx context.Context, open *sessions.Turn) error {
	var entries []sessions.Entry
	unstarted := slices.Concat(open.Unstarted())
	for _, call := range open.Open {
		outcome, text := sessions.OutcomeUnknown, "The outcome of this call is unknown."
		if slices.Contains(unstarted, call) {
			outcome, text = sessions.OutcomeInterrupted, "This call was not started."
		}
		entries = append(entries, sessions.ToolResult{
			Turn: open.ID, Outcome: outcome, Message: sessions.Message{Role: sessions.RoleTool, ToolCallID: call.ID, Text: text},
		})
	}
	entries = append(entries, sessions.TurnEnded{
		Turn: open.ID, Reason: string(loop.EndInternal), Rounds: open.Rounds, Usage: open.Usage, At: time.Now(),
	})
	return c.log.append(ctx, sessions.Record{Entries: entries, Consumed: open.Inputs})
}

// start begins a turn on its own goroutine.
func (c *conversation) start(t *turn) {
	c.turn, c.working = t, slices.Clone(t.inputs)
	go func() { c.ended <- t.run() }()
}

// finish takes a turn's end: what was not started goes back to the queue, unless a person stopped it, and commands that
// waited for the end run.
func (c *conversation) finish(ctx context.Context, end turnEnd) {
	stopped := context.Cause(c.turn.ctx) == loop.ErrStopped || slices.ContainsFunc(c.after, func(in *input) bool { return in.stopped })
	if end.err == nil && end.outcome.Reason == loop.EndCrashed {
		c.g.gaveUp(c.key, c.turn)
	}
	c.turn, c.working = nil, nil
	if end.err != nil {
		c.g.log.Error("a turn could not be written down", "conversation", c.key, "error", end.err)
		for _, in := range end.unstarted {
			c.g.sayUnable(in, end.err, true)
		}
		c.torn = true
	}
	if c.torn { // whatever waits comes back with the inbox
		return
	}
	after := append(c.held, c.after...)
	c.held, c.after = nil, nil
	switch {
	case stopped:
		c.g.room.leave(end.unstarted...)
		for _, in := range end.unstarted {
			c.settle(ctx, Withdrawn, in.items())
		}
	case slices.ContainsFunc(end.unstarted, (*input).isCommand):
		after = append(end.unstarted, after...)
	default:
		for _, in := range end.unstarted {
			c.g.room.enter(in, true)
		}
		c.queue = amended(append(end.unstarted, c.queue...))
	}
	for _, in := range after {
		in.unbegun = slices.ContainsFunc(end.unstarted, func(before *input) bool { return !before.isCommand() })
		if in.stopped && end.outcome.Reason != loop.EndStopped { // a turn that was stopped in time has said so itself
			in.closing = "Stopped."
		}
		c.take(ctx, in)
	}
}

// commit writes a record with answers and hands these to their lanes.
func (c *conversation) commit(ctx context.Context, r sessions.Record, outs ...output) error {
	return c.g.commit(ctx, c.log, r, outs...)
}

func (g *Gateway) commit(ctx context.Context, log *convLog, r sessions.Record, outs ...output) error {
	b, err := g.outbox.prepare(log.key, outs)
	if err != nil {
		return err
	}
	r.Outbox = b.rows
	err = log.append(ctx, r)
	if err == nil || g.outbox.stored(g.ctx, b) {
		g.outbox.start(b)
	} else {
		g.outbox.cancel(b)
	}
	return err
}

// reply ends an update with a text, or silently with none.
func (c *conversation) reply(ctx context.Context, in *input, text string, entries ...sessions.Entry) {
	r := sessions.Record{Entries: entries, Consumed: in.items(), Ended: string(in.ending(text))}
	if out, ok := c.g.answer(in, text); ok {
		c.write(ctx, r, out)
	} else {
		c.write(ctx, r)
	}
}

// settle ends items, with answers or without.
func (c *conversation) settle(ctx context.Context, how Ending, items []sessions.ItemID, outs ...output) {
	c.write(ctx, sessions.Record{Consumed: items, Ended: string(how)}, outs...)
}

// write commits what ends updates. If that fails the conversation is read again, and they are handled once more.
func (c *conversation) write(ctx context.Context, r sessions.Record, outs ...output) {
	if err := c.commit(ctx, r, outs...); err != nil {
		c.g.log.Error("the end of an update could not be written down; trying again", "conversation", c.key, "message", r.Consumed[0], "error", err)
		c.torn = true
	}
}

// answer makes the answer to an update: at its address, as a reply where several people talk.
func (g *Gateway) answer(in *input, text string) (output, bool) {
	o := in.origin()
	pieces := g.adapters[o.Address.Platform].Split(text)
	if len(pieces) == 0 {
		return output{}, false
	}
	out := output{To: o.Address, Pieces: pieces, Message: in.item, sign: in.sign}
	if in.Message != nil && (o.Kind == platforms.Group || o.Kind == platforms.Channel || o.Kind == platforms.Topic) {
		out.ReplyTo = in.Message.ID
	}
	return out, true
}
