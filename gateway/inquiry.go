package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// inquiry is a question that stands in a chat and waits for a person. It and its answer live in the log, so that they
// outlive the process: a call that is made again after a restart takes the question up that stands there already, with
// the answer that it may have by then. What is written here only waits.
type inquiry struct {
	sessions.Asked
	beside  []sessions.Entry // what is written down with it
	buttons [][]platforms.Button
	wait    time.Duration
	late    string                                   // the note if nobody answers
	closing func(d sessions.Decided, e error) string // what stands under the question in the end
}

// errUnwritten ends a turn whose person has answered when the answer could not be written down. It is left open and
// taken up again, and so is the answer.
var errUnwritten = errors.New("an answer could not be written down")

// asking is mail: a call waits now for the answer to a question, so that what was held back for it can be taken.
type asking struct{}

// callOf names a call among all calls that ask in the name of a turn.
func callOf(scope tools.Scope) string {
	if scope.Parent == "" {
		return scope.CallID
	}
	return scope.Turn + "/" + scope.CallID
}

// questionID is what the buttons of a call's question carry: the turn, by which the conversation is found, and the call,
// shortened to what fits. It is the same after a restart.
func questionID(turn, call string) string {
	sum := sha256.Sum256([]byte(call))
	return turn + "." + hex.EncodeToString(sum[:5])
}

// turnOf returns the turn that a question belongs to.
func turnOf(question string) string {
	turn, _, _ := strings.Cut(question, ".")
	return turn
}

// inquire asks, and waits for the answer. The worker's slot is free meanwhile, and typing does not show.
func (t *turn) inquire(ctx context.Context, q inquiry) (sessions.Decided, error) {
	answered := make(chan struct{}, 1)
	defer t.c.g.waits.put(q.ID, answered)()
	t.c.g.live.post(t.c.key, asking{})
	t.typing.pause()
	defer t.typing.resume()
	if before, ok := t.log.snapshot().Question(q.ID); ok {
		q.MessageID, q.Shown = before.MessageID, before.Shown
	} else if err := t.writeDown(ctx, append([]sessions.Entry{q.Asked}, q.beside...)...); err != nil {
		return sessions.Decided{}, err
	}
	t.mu.Lock()
	t.inquired[q.ID] = true
	t.mu.Unlock()
	t.await()
	d, err := t.answer(ctx, &q, answered)
	if err != loop.ErrParked { // then it goes on waiting, and so do its buttons
		t.c.g.replace(t.address, q.MessageID, q.Text+"\n\n"+q.closing(d, err))
	}
	if back := t.done(ctx); err == nil {
		err = back
	}
	return d, err
}

// answer shows the question, unless it stands there, and waits.
func (t *turn) answer(ctx context.Context, q *inquiry, answered <-chan struct{}) (sessions.Decided, error) {
	if q.Shown.IsZero() {
		if err := t.show(ctx, q); err != nil {
			return t.undecided(ctx, q, "the question could not be shown to anybody")
		}
	}
	if d, ok := t.decision(q.ID); ok {
		return d, nil
	}
	timer := time.NewTimer(q.wait)
	defer timer.Stop()
	select {
	case <-answered:
		d, _ := t.decision(q.ID)
		return d, nil
	case <-timer.C:
		return t.undecided(ctx, q, q.late)
	case <-ctx.Done():
		return sessions.Decided{}, context.Cause(ctx)
	}
}

// show posts the question, trying as long as somebody may still answer it in time. As long as nobody knows whether it stands
// there it is posted again, twice at most: one that nobody sees is worse than one that stands twice.
func (t *turn) show(ctx context.Context, q *inquiry) error {
	if q.Tool == "" {
		t.bubble.settle()
	}
	out := platforms.Outgoing{Text: q.Text, Key: q.ID, Asks: true, Class: platforms.PriorityApproval, Buttons: q.buttons}
	deadline := time.Now().Add(q.wait)
	for n := 1; ; n++ {
		message, err := t.c.g.post(ctx, t.address, out)
		switch class := platforms.ClassOf(err); {
		case err == nil, class == platforms.OutcomeUnknown && n > 2:
			q.MessageID, q.Shown = message, time.Now()
			return t.writeDown(ctx, q.Asked)
		case class != platforms.RateLimited && class != platforms.Transient && class != platforms.OutcomeUnknown:
			return err
		}
		next := time.Now().Add(max(platforms.WaitOf(err), backoff(n)))
		t.c.g.log.Warn("a question was not shown; trying again", "task", t.id, "at", next, "error", err)
		if next.After(deadline) || !sleepUntil(ctx, next) {
			return err
		}
		if _, decided := t.decision(q.ID); decided { // by a command, which needs no question to be seen
			return nil
		}
	}
}

// decision returns what came of a question.
func (t *turn) decision(id string) (sessions.Decided, bool) {
	q, ok := t.log.snapshot().Question(id)
	if !ok || q.Decided == nil {
		return sessions.Decided{}, false
	}
	return *q.Decided, true
}

// undecided writes down that a question has no answer and gets none any more, unless somebody was quicker.
func (t *turn) undecided(ctx context.Context, q *inquiry, why string) (sessions.Decided, error) {
	if ctx.Err() != nil {
		return sessions.Decided{}, context.Cause(ctx)
	}
	d := sessions.Decided{Turn: t.id, Call: q.Call, Tool: q.Tool, Note: why, At: time.Now()}
	err := t.writeDown(ctx, d)
	if errors.Is(err, sessions.ErrDecided) {
		d, _ = t.decision(q.ID)
		return d, nil
	}
	return d, err
}

// writeDown writes entries of a question.
func (t *turn) writeDown(ctx context.Context, entries ...sessions.Entry) error {
	return t.log.append(ctx, sessions.Record{Entries: entries})
}

// closeLeft takes the buttons off the questions that the turn had left open and has not asked again.
func (t *turn) closeLeft(before []sessions.Question) {
	for _, q := range before {
		if !t.inquired[q.ID] {
			t.c.g.replace(t.address, q.MessageID, q.Text+"\n\nNo longer needed.")
		}
	}
}

// decide ends an update by what it decides about a question, in one commit with what it means for later, and lets the
// call that waits go on. Only the first decision counts; it reports whether this is it. After a restart an answer may come
// before the call has been made again: it is held back until then, because what was allowed may have run.
func (c *conversation) decide(ctx context.Context, in *input, q sessions.Question, d sessions.Decided, reply string) bool {
	answered := c.g.waits.get(q.ID)
	if answered == nil {
		c.held = append(c.held, in)
		return true
	}
	d.Turn, d.Call, d.Tool, d.By, d.At = q.Turn, q.Call, q.Tool, in.origin().Sender.ID, time.Now()
	if q.Tool == "" && in.Message != nil {
		d.Item = in.item
	}
	entries := []sessions.Entry{d}
	if extent := tools.Extent(d.Extent); d.Allowed && extent != tools.Once {
		entries = append(entries, sessions.Approved{
			Rule: q.Rule, Tool: q.Tool, Preview: q.Preview, Forever: extent == tools.Always,
			For: c.log.snapshot().Turn.Requester, By: d.By, At: d.At,
		})
	}
	r := sessions.Record{Entries: entries, Consumed: in.items(), Ended: string(in.ending(reply))}
	var outs []output
	if out, ok := c.g.answer(in, reply); ok {
		outs = append(outs, out)
	}
	switch err := c.commit(ctx, r, outs...); {
	case err == nil:
		answered <- struct{}{} // it has room for one, and there is one decision
		return true
	case errors.Is(err, sessions.ErrDecided) || !c.asks(q.ID):
		return false
	default:
		c.g.log.Error("an answer could not be written down; trying again", "conversation", c.key, "message", in.item, "error", err)
		c.torn = true
		if c.turn != nil {
			c.turn.cancel(errUnwritten)
		}
		return true
	}
}

// asks tells whether a question waits.
func (c *conversation) asks(id string) bool {
	q, ok := c.log.snapshot().Question(id)
	return ok && q.Decided == nil
}

// answers takes a plain word as the answer to the question that waits, and reports whether it is one. What was written before
// the question stood there is not, nor is any word where nobody knows whether it stands there: its buttons answer it then.
func (c *conversation) answers(ctx context.Context, in *input) bool {
	s, m := c.log.snapshot(), in.Message
	if s.Turn == nil || m.Sender.ID != s.Turn.Requester || in.Edited != nil || c.awaited(in) {
		return false
	}
	q, ok := s.Waiting(true)
	if d, word := permission(m, q); ok && word && q.MessageID != "" {
		return c.decide(ctx, in, q, d, "")
	}
	q, ok = s.Waiting(false)
	text := strings.TrimSpace(m.Text)
	d := choice(q, text)
	d.Answer += attached(m)
	return ok && text != "" && q.MessageID != "" && c.decide(ctx, in, q, d, "")
}
