package gateway

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/markup"
	"github.com/talaria-agent/talaria/sessions"
)

const (
	// sendAttempts is how often a part is tried while the platform is in trouble. With the backoff's cap of a minute
	// that is most of a day.
	sendAttempts = 1000
	// closingAttempts is the same for the last edit of a progress message.
	closingAttempts = 8
	// trimAttempts is the same for a message that is deleted before its answer comes.
	trimAttempts   = 5
	backoffFirst   = time.Second
	backoffLongest = time.Minute
)

// job is a row on its way. It belongs to its lane's goroutine.
type job struct {
	row     sessions.Row
	out     output
	ctx     context.Context // ends when delivery must stop, or the row was erased
	cancel  context.CancelCauseFunc
	claimed bool // the commit that queued the row wrote its first part as "sending", and it has not been sent yet
	lost    bool // the part that is "sending" may have been posted: the attempt ended without anybody knowing how
}

// deliver sends what a row still has to send.
func (o *outbox) deliver(j *job) {
	adapter := o.adapters[j.out.To.Platform]
	o.trim(adapter, j)
	doubt := false
	for i := range j.row.Parts {
		for j.ctx.Err() == nil && o.step(adapter, j, i) {
		}
		doubt = doubt || j.row.Parts[i].State == sessions.InDoubt
	}
	o.settle(j)
	if j.out.Closing {
		o.paid(j)
	}
	if doubt {
		o.doubt(j.row.Key, j.row.ID)
	}
}

// trim deletes the messages that have shown more than there is to say in the end.
func (o *outbox) trim(adapter platforms.Adapter, j *job) {
	deleter, ok := adapter.(platforms.Deleter)
	for i := len(j.out.Pieces); ok && i < len(j.out.Shown); i++ {
		for n := 1; ; n++ {
			err := deleter.Delete(j.ctx, j.out.To, j.out.Shown[i])
			if err == nil {
				break
			}
			o.log.Warn("a message that is not needed any more could not be deleted", "row", j.row.ID, "message", j.out.Shown[i], "attempt", n, "error", err)
			again := slices.Contains([]platforms.Class{platforms.RateLimited, platforms.Transient, platforms.OutcomeUnknown}, platforms.ClassOf(err))
			if !again || n == trimAttempts || !sleepUntil(j.ctx, time.Now().Add(max(platforms.WaitOf(err), backoff(n)))) {
				break
			}
		}
	}
}

// edits tells whether a message stands there that is to become a part. Editing it can be repeated freely.
func (o *outbox) edits(j *job, i int) bool {
	_, ok := o.adapters[j.out.To.Platform].(platforms.Editor)
	return ok && i < len(j.out.Shown) && !j.row.Parts[i].Resent && o.now(j.out.To) == j.out.To
}

// settle counts and logs a row that nothing more is done about.
func (o *outbox) settle(j *job) {
	state, platform := StateOf(j.row), j.out.To.Platform
	switch state {
	case sessions.Queued, sessions.Sending:
		if !o.erased(j) {
			return
		}
		state = sessions.Dead
	case sessions.Sent:
		o.signed(j.out.sign, platform)
	case sessions.Dead:
		if !j.out.Closing {
			o.undelivered(j.row, j.out)
		}
	}
	attempts := 0
	for _, p := range j.row.Parts {
		attempts += p.Attempts
	}
	o.observe(RowSettled{
		Platform: platform, State: state, Waited: j.out.sign.waited(), Row: j.row.ID, Conversation: j.row.Key, Task: j.out.Task,
		Message: j.out.Message, Queued: j.out.At, Attempts: attempts,
	})
	o.logged(j).Info("delivery ended", "state", state, "as", j.row.Parts[0].MessageID)
}

// erased tells whether a row has gone with its conversation while it waited.
func (o *outbox) erased(j *job) bool {
	if j.ctx.Err() != nil {
		return context.Cause(j.ctx) == errErased
	}
	_, err := o.store.Row(o.ctx, j.row.ID)
	return errors.Is(err, sessions.ErrState)
}

// StateOf returns the state of a row as a whole: that of the part that is furthest from being sent.
func StateOf(row sessions.Row) sessions.State {
	for _, state := range []sessions.State{sessions.Queued, sessions.Sending, sessions.InDoubt, sessions.Dead} {
		if slices.ContainsFunc(row.Parts, func(p sessions.Part) bool { return p.State == state }) {
			return state
		}
	}
	return sessions.Sent
}

// logged is the log with what a row is about.
func (o *outbox) logged(j *job) *slog.Logger {
	return o.log.With("row", j.row.ID, "conversation", j.row.Key, "task", j.out.Task, "message", j.out.Message)
}

// step makes one attempt at one part and reports whether another one is due. A part that is "sending" without having
// been claimed for this job is on its way in another one, or its end could not be stored: it is never sent here.
func (o *outbox) step(adapter platforms.Adapter, j *job, i int) bool {
	p := j.row.Parts[i]
	switch {
	case p.State == sessions.Sending && j.claimed:
		j.claimed = false
	case p.State == sessions.Sending && j.lost && o.edits(j, i):
		j.lost = false
	case p.State == sessions.Sending && j.lost:
		return o.resolve(adapter, j, i)
	case p.State == sessions.Queued:
		if !o.rest(j, p.NotBefore) {
			return false
		}
		p.State = sessions.Sending
		if p.First.IsZero() {
			p.First = time.Now()
		}
		if !o.mark(j.ctx, j, i, p) {
			return false
		}
	default:
		return false
	}
	edited := o.edits(j, i)
	id, err := o.send(j.ctx, adapter, j, i)
	if edited || j.out.Closing {
		p = judgeEdit(p, id, err, j.out.Closing)
	} else {
		p = judge(p, id, err)
	}
	if err != nil {
		o.logged(j).Warn("an answer was not delivered", "part", i, "lane", j.row.Lane,
			"state", p.State, "attempts", p.Attempts, "error", err)
	}
	if err != nil && !p.State.Final() {
		o.observe(RowRetried{Platform: j.out.To.Platform, Class: platforms.ClassOf(err)})
	}
	if wait := platforms.WaitOf(err); wait > 0 && !j.out.Owner {
		o.penalised(j.out.To, wait)
	}
	if p.State == sessions.Sending {
		j.row.Parts[i], j.lost = p, true
		return true
	}
	return o.mark(j.ctx, j, i, p) && p.State == sessions.Queued
}

// outgoing is what is posted for one part, and where. In a chat that has moved since, the message that it replies to has
// another id.
func (o *outbox) outgoing(j *job, i int) (platforms.Address, platforms.Outgoing) {
	to := o.now(j.out.To)
	out := platforms.Outgoing{
		Text: j.out.Pieces[i], Key: partKey(j.row.ID, i), Class: platforms.PriorityFinal,
	}
	if i == 0 && to == j.out.To {
		out.ReplyTo = j.out.ReplyTo
	}
	if i == len(j.out.Pieces)-1 {
		out.Buttons = j.out.Buttons
	}
	if j.out.Closing {
		out.Class = platforms.PriorityProgress
	}
	return to, out
}

// send posts one part, or edits the message that becomes it. A refused format is sent once more as plain text, and what
// was meant for a chat that has moved is posted after it.
func (o *outbox) send(ctx context.Context, adapter platforms.Adapter, j *job, i int) (string, error) {
	if j.out.Owner {
		if err := o.ownersHome(j.out.To); err != nil {
			return "", err
		}
	}
	to, out := o.outgoing(j, i)
	put, edit := adapter.Send, o.edits(j, i)
	if edit {
		put = func(ctx context.Context, at platforms.Address, out platforms.Outgoing) (string, error) {
			return j.out.Shown[i], o.edit(ctx, adapter.(platforms.Editor), at, j.out.Shown[i], out)
		}
	} else if j.out.Closing {
		return "", &platforms.Error{Class: platforms.Gone, Op: "close a message"}
	}
	id, err := put(ctx, to, out)
	if chat := platforms.MovedTo(err); chat != "" {
		if err := o.moved(ctx, to, chat); err != nil {
			o.log.Error("the move of a chat could not be remembered", "lane", j.row.Lane, "error", err)
		}
		if edit { // there it has no message
			return "", err
		}
		to.Chat, out.ReplyTo = chat, ""
		id, err = put(ctx, to, out)
	}
	if platforms.ClassOf(err) == platforms.BadFormat {
		o.logged(j).Warn("the platform refused the formatting; sending plain text", "part", i, "error", err)
		out.Plain, out.Text = true, markup.Plain(out.Text)
		id, err = put(ctx, to, out)
	}
	return id, err
}

// judge turns the result of an attempt into the part's next state. It stays "sending" if nobody knows the outcome.
func judge(p sessions.Part, id string, err error) sessions.Part {
	p.Attempts++
	if err == nil {
		p.State, p.MessageID, p.Error = sessions.Sent, id, ""
		return p
	}
	p.Error = err.Error()
	switch platforms.ClassOf(err) {
	case platforms.OutcomeUnknown:
	case platforms.RateLimited, platforms.Transient, platforms.Fatal: // what the operator can cure is not lost
		p.State = sessions.Queued
		p.NotBefore = time.Now().Add(max(platforms.WaitOf(err), backoff(p.Attempts)))
		if !p.Resent {
			p.First = time.Time{} // this attempt has posted nothing
		}
		if p.Attempts >= sendAttempts {
			p.State = sessions.Dead
		}
	default:
		p.State = sessions.Dead
	}
	return p
}

// judgeEdit is judge for the last edit of a message. If somebody has deleted an answer's message the part is posted
// anew; what only closes a message is not fought over.
func judgeEdit(p sessions.Part, id string, err error, closing bool) sessions.Part {
	class := platforms.ClassOf(err)
	p = judge(p, id, err)
	switch {
	case class == platforms.OutcomeUnknown: // an edit can be repeated
		p.State, p.NotBefore = sessions.Queued, time.Now().Add(backoff(p.Attempts))
	case class == platforms.Gone && !closing:
		p.State, p.Resent, p.First, p.NotBefore = sessions.Queued, true, time.Time{}, time.Time{}
	}
	if closing && p.Attempts >= closingAttempts && p.State == sessions.Queued {
		p.State = sessions.Dead
	}
	return p
}

// mark makes a part's new state durable. While the store is in trouble it tries again, and the lane waits: what comes
// next must neither overtake this part nor lose what is known about it. It reports false if the part is not in the
// state that the job knows, or the context ended.
func (o *outbox) mark(ctx context.Context, j *job, i int, to sessions.Part) bool {
	m := sessions.Mark{Row: j.row.ID, Part: i, From: j.row.Parts[i].State, To: to}
	for n := 1; ; n++ {
		_, err := o.store.Commit(context.WithoutCancel(ctx), m)
		if errors.Is(err, sessions.ErrState) {
			if n == 1 || !o.stands(ctx, m) {
				o.log.Debug("an answer is in another state already", "row", m.Row, "part", i, "to", to.State)
				return false
			}
			err = nil
		}
		if err == nil {
			j.row.Parts[i] = to
			return true
		}
		o.log.Error("the state of an answer could not be stored; trying again", "row", m.Row, "part", i, "to", to.State, "error", err)
		if !sleepUntil(ctx, time.Now().Add(backoff(n))) {
			return false
		}
	}
}

// stands tells whether a mark that was reported as failed has been made after all.
func (o *outbox) stands(ctx context.Context, m sessions.Mark) bool {
	row, err := o.store.Row(ctx, m.Row)
	return err == nil && row.Parts[m.Part].State == m.To.State && row.Parts[m.Part].Attempts == m.To.Attempts
}

// partKey is the idempotency key of one part of a row.
func partKey(id sessions.RowID, part int) string {
	return string(id) + "-" + itoa(part)
}

// backoff is how long to wait after the n-th failure: doubling, capped, with jitter so that lanes do not march in step.
func backoff(n int) time.Duration {
	d := backoffLongest
	if n < 7 {
		d = min(backoffFirst<<(n-1), backoffLongest)
	}
	return d/2 + rand.N(d/2+1)
}

// sleepUntil waits for a time and reports whether it came before the context's end.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
