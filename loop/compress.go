package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// Why a history was not compressed. Callers match with errors.Is.
var (
	// ErrNothingToCompress: what could be summarised is too little to be worth it.
	ErrNothingToCompress = errors.New("there is nothing to compress")
	// ErrIneffective: the last two compressions hardly made the prompt smaller, so no further one is tried. The
	// person should be told: only a new session helps.
	ErrIneffective = errors.New("compressing does not make this conversation smaller any more")
)

const (
	defaultWindow  = 128_000
	maxIneffective = 2
	summaryTries   = 2
	summaryTimeout = 2 * time.Minute  // of one try
	summaryWait    = 15 * time.Second // between two; a person waits meanwhile
	minMiddle      = 500              // tokens; less is not worth a summary
	maxFirst       = 2_000            // tokens of each message of the first exchange
)

// Compressor makes a session's ledger shorter: the first exchange and the newest messages stay, what lies between
// becomes a summary. It has no state of its own and may be used from any goroutine.
type Compressor struct {
	Log *slog.Logger // nil = none

	model  Model
	window int // tokens that a prompt may have
}

// NewCompressor returns a compressor that lets model write its summaries (nil = it writes plain digests), for a context
// of window tokens (0 = 128,000), of which maxOutput are reserved for the reply.
func NewCompressor(model Model, window, maxOutput int) *Compressor {
	if window <= 0 {
		window = defaultWindow
	}
	return &Compressor{model: model, window: max(window-maxOutput, window/4)}
}

func (c *Compressor) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

// Compress returns the entry that makes the session's ledger shorter; whoever owns the log appends it, and may put
// another Prompt into it first. It works between turns and inside one, as long as no tool call is open. If no model
// answers, the summary is a plain digest of what was said (Summary is false). It fails with ErrNothingToCompress, with
// ErrIneffective, or with the cause with which the context ended.
func (c *Compressor) Compress(ctx context.Context, s *sessions.Session) (sessions.Compaction, error) {
	if s.Ineffective >= maxIneffective {
		return sessions.Compaction{}, ErrIneffective
	}
	return c.compress(ctx, s, c.tailBudget()/2)
}

// shorten is Compress for a context that a provider has refused: earlier failures do not count, and the results that
// stay are cut harder.
func (c *Compressor) shorten(ctx context.Context, s *sessions.Session) (sessions.Compaction, error) {
	return c.compress(ctx, s, c.tailBudget()/8)
}

// tailBudget is how many tokens of the newest messages stay: a fortieth of the window, between 10,000 and 25,000, but
// never more than a fifth of the window.
func (c *Compressor) tailBudget() int {
	return min(max(c.window/40, 10_000), 25_000, c.window/5)
}

func (c *Compressor) compress(ctx context.Context, s *sessions.Session, maxResult int) (sessions.Compaction, error) {
	if s.Turn != nil && len(s.Turn.Open) > 0 {
		return sessions.Compaction{}, fmt.Errorf("compress: %d tool calls are open", len(s.Turn.Open))
	}
	out := sessions.Compaction{
		Prompt: s.Prompt, Segment: s.ID, Started: s.Started, Before: ContextTokens(s), Count: s.Compactions + 1,
		Ineffective: s.Ineffective, Todos: s.Todos, Notes: s.Notes,
	}
	messages, _ := Repair(s.Messages)
	plan := layOut(messages, c.tailBudget())
	if size := estimateUnits(plan.middle); size >= minMiddle {
		text, byModel, err := c.summarise(ctx, plan, size)
		if err != nil {
			return sessions.Compaction{}, err
		}
		cutResults(plan.tail, maxResult)
		out.Messages, out.Summary = plan.assemble(text), byModel
	} else {
		all := units(messages)
		if !cutResults(all, maxResult) {
			return sessions.Compaction{}, ErrNothingToCompress
		}
		out.Messages = slices.Concat(all...)
	}
	if err := CheckLedger(out.Messages); err != nil {
		return sessions.Compaction{}, fmt.Errorf("compress: the shorter ledger is not valid: %w", err)
	}
	if s.Turn != nil {
		t := *s.Turn
		t.From = newestRequest(out.Messages)
		out.Turn = &t
	}
	out.After = calibrate(s).apply(estimatePrompt(s.Prompt) + estimate(out.Messages...))
	out.At = time.Now()
	c.log().Info("compressed", "before", out.Before, "after", out.After, "by_model", out.Summary, "count", out.Count)
	return out, nil
}

// summarise returns the summary of the plan's middle, the earlier one included, and whether a model wrote it.
func (c *Compressor) summarise(ctx context.Context, plan layout, size int) (text string, byModel bool, err error) {
	limit := min(max(size/5, 2_000), max(min(c.window/20, 12_000), 500))
	for try := 1; c.model != nil && try <= summaryTries; try++ {
		text, err := c.ask(ctx, plan, limit)
		if err == nil {
			return text, true, nil
		}
		if ctx.Err() != nil {
			return "", false, context.Cause(ctx)
		}
		c.log().Warn("no summary from the model", "try", try, "err", err)
		wait := backoff(err, try)
		if !ModelClass(err).Retryable() || try == summaryTries || wait > summaryWait {
			break
		}
		pause(ctx, wait)
	}
	return digest(plan), false, nil
}

// ask lets the model write or update the summary.
func (c *Compressor) ask(ctx context.Context, plan layout, limit int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	question := summaryQuestion(plan, limit, min(maxTranscript, c.window*2))
	r, err := c.model.Call(ctx, Request{
		System:   summarySystem,
		Messages: []sessions.Message{{Role: sessions.RoleUser, Text: question}},
	}, func(string) {})
	if err != nil {
		return "", fmt.Errorf("summarise: %w", err)
	}
	if r.Message.Blank() || r.Finish == FinishFiltered {
		return "", &ModelError{Class: ModelOverloaded, Err: errors.New("the summary is empty")}
	}
	return bounded(r.Message.Text, limit), nil
}
