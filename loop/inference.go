package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

const (
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
	cut     bool        // by the output limit
}

// requested is a call as the model asked for it.
type requested struct {
	sessions.ToolCall
	refusal *callError // why it must not run: its arguments cannot be read or were cut; nil = nothing against it yet
}

func (r reply) blank() bool { return r.message.Blank() }

// infer makes one model call and returns its reply, understood.
func (t *turn) infer(ctx context.Context) (reply, error) {
	req, err := t.request(ctx)
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
	began := time.Now()
	r, err := t.Tape.Model(ctx, t.lane, t.route.model(), req, func(delta string) { t.emit(TextDelta{Text: delta}) })
	t.log.Debug("model called", "model", t.route.name(), "round", t.budget.rounds+1, "took", time.Since(began),
		"tokens_in", r.Usage.Input, "tokens_cached", r.Usage.Cached, "tokens_out", r.Usage.Output, "err", err)
	t.emit(ModelReturned{
		Round: t.budget.rounds + 1, Model: t.route.name(), Class: endOfCall(ctx, r, err), Took: time.Since(began), Usage: r.Usage,
	})
	if err != nil {
		return reply{}, err
	}
	if r.Finish == FinishFiltered {
		return reply{}, &ModelError{Class: ModelFiltered, Err: errors.New("the provider withheld the answer")}
	}
	return understand(r, t.verified.taken(req.Messages), t.ending == "", t.budget.rounds+1), nil
}

// request builds the next request. Everything but the hint is byte-stable over the rounds.
func (t *turn) request(ctx context.Context) (Request, error) {
	s := t.Journal.Session()
	messages, report := t.verified.repair(s)
	if len(report) > 0 && !t.repaired {
		t.repaired = true
		t.log.Warn("ledger repaired", "changes", []string(report))
	}
	if n := len(messages); n == 0 || messages[n-1].Role == sessions.RoleAssistant {
		return Request{}, errors.New("the ledger has nothing to answer")
	}
	if t.flattened == flatForCall {
		messages, _ = flatten(messages)
	}
	req := Request{Messages: messages, MaxOutput: t.limits.MaxOutput, Hint: callHint(time.Now(), t.ending, t.nudge)}
	if most := t.route.profile().MaxOutput; most > 0 {
		req.MaxOutput = min(req.MaxOutput, most)
	}
	if s.Prompt != nil {
		req.System, req.Tools = s.Prompt.System, s.Prompt.Tools
	}
	req.Hint += todoHint(s)
	if t.ending != "" {
		req.NoTools = true
	}
	t.show(ctx, s, &req)
	return req, nil
}

// callHint returns what a model must know about this one call. It is never stored.
func callHint(now time.Time, ending EndReason, nudge string) string {
	hint := now.Format("It is Monday, 2 January 2006, 15:04 -07:00.")
	switch {
	case ending != "":
		hint += " " + fmt.Sprintf(graceHint, ending)
	case nudge != "":
		hint += "\n\n" + nudge
	}
	return hint
}

// understand turns what a model wrote into what can be stored and executed. Ids that are taken are not given again.
func understand(r Reply, ids map[string]bool, toolsAllowed bool, round int) reply {
	out := reply{usage: r.Usage, message: sessions.Message{
		Role: sessions.RoleAssistant, Text: r.Message.Text, Reasoning: r.Message.Reasoning,
	}}
	if strings.TrimSpace(out.message.Text) == "" {
		out.message.Text = ""
	}
	if toolsAllowed {
		taken := func(id string) bool { return ids[id] || hasCall(out.message, id) }
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
		out.cut = true
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
	if problem != nil {
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
