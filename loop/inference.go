package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

const (
	backoffBase = 2 * time.Second
	backoffCap  = time.Minute
	longestWait = 10 * time.Minute // that a provider can ask for; the turn ends rather than wait longer

	graceHint = "You have no more tool calls in this task (%s). Do not call tools. Answer now from what you have: " +
		"what was asked, what you did and found, what is still open."
	cutNote = "\n\n_(The answer ends here because it reached the model's output limit. Say \"continue\" to get the rest.)_"
)

// errGraceTime is the cause with which the grace call's context ends.
const errGraceTime = cause("the time for a closing answer is up")

// reply is a model's reply after it was understood: valid for the ledger, whatever the model wrote.
type reply struct {
	message sessions.Message
	usage   sessions.Usage
	calls   []requested // one for each of message.ToolCalls
}

// requested is a call as the model asked for it.
type requested struct {
	sessions.ToolCall
	refusal string // why it must not run: its arguments cannot be read or were cut; empty = nothing against it yet
}

func (r reply) blank() bool { return r.message.Blank() }

// infer makes one model call and returns its reply, understood.
func (t *turn) infer(ctx context.Context) (reply, error) {
	req, err := t.request()
	if err != nil {
		t.fail(err)
		return reply{}, err
	}
	if t.ending != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, graceTime, errGraceTime)
		defer cancel()
	}
	t.emit(RoundStarted{Round: t.budget.rounds + 1})
	r, err := t.runner.Model.Call(ctx, req, func(delta string) { t.emit(TextDelta{Text: delta}) })
	if err != nil {
		return reply{}, err
	}
	if r.Finish == FinishFiltered {
		return reply{}, &ModelError{Class: ModelFiltered, Err: errors.New("the provider withheld the answer")}
	}
	return understand(r, req.Messages, t.ending == "", t.budget.rounds+1), nil
}

// request builds the next request. Everything but the hint is byte-stable over the rounds.
func (t *turn) request() (Request, error) {
	s := t.Journal.Session()
	messages, report := Repair(s.Messages)
	if len(report) > 0 && !t.repaired {
		t.repaired = true
		t.log.Warn("ledger repaired", "changes", []string(report))
	}
	if n := len(messages); n == 0 || messages[n-1].Role == sessions.RoleAssistant {
		return Request{}, errors.New("the ledger has nothing to answer")
	}
	req := Request{Messages: messages, MaxOutput: t.limits.MaxOutput, Hint: callHint(time.Now(), t.ending)}
	if s.Prompt != nil {
		req.System, req.Tools = s.Prompt.System, s.Prompt.Tools
	}
	if t.ending != "" {
		req.NoTools = true
	}
	return req, nil
}

// callHint returns what a model must know about this one call. It is never stored.
func callHint(now time.Time, ending EndReason) string {
	hint := now.Format("It is Monday, 2 January 2006, 15:04 -07:00.")
	if ending != "" {
		hint += " " + fmt.Sprintf(graceHint, ending)
	}
	return hint
}

// understand turns what a model wrote into what can be stored and executed.
func understand(r Reply, ledger []sessions.Message, toolsAllowed bool, round int) reply {
	out := reply{message: sessions.Message{Role: sessions.RoleAssistant, Text: r.Message.Text}, usage: r.Usage}
	if strings.TrimSpace(out.message.Text) == "" {
		out.message.Text = ""
	}
	if toolsAllowed {
		taken := func(id string) bool {
			return hasCall(out.message, id) ||
				slices.ContainsFunc(ledger, func(m sessions.Message) bool { return hasCall(m, id) })
		}
		for i, c := range r.Message.ToolCalls {
			if c.Name = strings.TrimSpace(c.Name); c.Name == "" {
				continue
			}
			call := readCall(c, r.Finish)
			if call.ID == "" {
				call.ID = fmt.Sprintf("call_%d_%d", round, i+1)
			}
			call.ID = uniqueID(call.ID, taken)
			out.calls = append(out.calls, call)
			out.message.ToolCalls = append(out.message.ToolCalls, call.ToolCall)
		}
	}
	if len(out.calls) == 0 && r.Finish == FinishLength && out.message.Text != "" {
		out.message.Text += cutNote
	}
	return out
}

// readCall makes a call's arguments fit for the ledger and says what speaks against running it.
func readCall(c sessions.ToolCall, finish Finish) requested {
	call := requested{ToolCall: c}
	if strings.TrimSpace(c.Arguments) == "" {
		call.Arguments = "{}"
	}
	problem := unreadable(c.Name, call.Arguments)
	if problem != "" {
		call.Arguments = "{}"
	}
	if finish == FinishLength {
		problem = truncatedCall(c.Name)
	}
	call.refusal = problem
	return call
}

func hasCall(m sessions.Message, id string) bool {
	return slices.ContainsFunc(m.ToolCalls, func(c sessions.ToolCall) bool { return c.ID == id })
}

// recover decides after a call that gave nothing usable: try again, perhaps later, or give up.
func (t *turn) recover(ctx context.Context) signal {
	if t.ending != "" {
		t.log.Warn("grace call failed", "err", t.err)
		return t.giveUp(t.ending, t.err)
	}
	if t.err == nil {
		t.empties++
		if t.empties > 1 {
			return t.giveUp(EndEmpty, nil)
		}
		t.log.Info("empty reply, asking again")
		return retry
	}
	class := ModelClass(t.err)
	t.tries++
	t.log.Info("model call failed", "class", class, "try", t.tries, "err", t.err)
	if class == ModelTooLong && !t.compressed {
		return t.shorten(ctx)
	}
	wait := backoff(t.err, t.tries)
	if !class.Retryable() || t.tries >= t.limits.RetryModel || wait > longestWait {
		return t.giveUp(EndModelFailed, t.err)
	}
	t.emit(Retrying{Class: class, Attempt: t.tries, Wait: wait})
	pause(ctx, wait)
	if on := halted(ctx); on != "" {
		return on
	}
	return retry
}

func (t *turn) giveUp(reason EndReason, err error) signal {
	t.outcome = Outcome{Reason: reason, Err: err}
	return gaveUp
}

// shorten compresses the history after the provider found it too long.
func (t *turn) shorten(ctx context.Context) signal {
	t.compressed = true
	if t.runner.Compressor == nil {
		return t.giveUp(EndModelFailed, t.err)
	}
	c, err := t.runner.Compressor.shorten(ctx, t.Journal.Session())
	if on := halted(ctx); on != "" {
		return on
	}
	if err != nil {
		return t.giveUp(EndModelFailed, errors.Join(t.err, err))
	}
	if err := t.commitCompaction(ctx, c); err != nil {
		return t.leave(err)
	}
	t.emit(Compacted{Before: c.Before, After: c.After})
	return retry
}

// backoff returns how long to wait after the n-th failed try: what the provider asked for, otherwise twice as long each
// time, between half and the whole of it, so that turns which failed together do not come back together.
func backoff(err error, try int) time.Duration {
	var e *ModelError
	if errors.As(err, &e) && e.Wait > 0 {
		return e.Wait
	}
	full := min(backoffBase<<min(try-1, 10), backoffCap)
	return full/2 + rand.N(full/2)
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
