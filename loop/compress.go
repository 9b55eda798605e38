package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	protectedShare = 0.3              // of the window: what a compression leaves at most

	defaultPreflightAt = 0.5
	defaultSummarizeAt = 0.7
	defaultMaxMessages = 400
)

// Compressor makes a session's ledger shorter: the first exchange and the newest messages stay, what lies between
// becomes a summary. It has no state of its own and may be used from any goroutine; its fields do not change after the
// first use.
type Compressor struct {
	PreflightAt float64             // share of the usable window at which a turn prunes old results; 0 = 0.5
	SummarizeAt float64             // share at which a turn summarises its history; 0 = 0.7
	MaxMessages int                 // messages in the ledger that count as if over SummarizeAt; 0 = 400
	Redact      func(string) string // takes known secrets out; what looks like one is taken out anyway; nil = nothing more
	Log         *slog.Logger        // nil = none

	model  Model
	window int // tokens that a prompt may have
}

// Thresholds returns the shares of the usable window at which a turn prunes old results and summarises its history.
func (c *Compressor) Thresholds() (preflight, summarize float64) {
	return cmp.Or(c.PreflightAt, defaultPreflightAt), cmp.Or(c.SummarizeAt, defaultSummarizeAt)
}

// Aim says what a compression is for.
type Aim struct {
	Focus string                // what a person wants to be kept in particular; empty = nothing
	Flush func(context.Context) // notes what is about to leave the history; called before a summary is made; nil = nothing is noted
	Work  string                // absolute path of the conversation's work folder, for what has to be cut; empty = there is none

	tape Tape   // nil = none
	lane string // of the turn that it happens in
}

// model makes a model call for a summary.
func (a Aim) model(ctx context.Context, m Model, req Request) (Reply, error) {
	tape := a.tape
	if tape == nil {
		tape = straight{}
	}
	return tape.Model(ctx, a.lane+"summary", m, req, func(string) {})
}

// NewCompressor returns a compressor that lets model write its summaries (nil = it writes plain digests), for a context
// of window tokens (0 = 128,000), of which maxOutput are reserved for the reply.
func NewCompressor(model Model, window, maxOutput int) *Compressor {
	if window <= 0 {
		window = defaultWindow
	}
	return &Compressor{model: model, window: max(window-maxOutput, window/4)}
}

// within returns a compressor for the window of a model, as far as that is smaller and known; output is what a reply may
// have.
func (c *Compressor) within(p Profile, output int) *Compressor {
	if p.MaxOutput > 0 {
		output = min(output, p.MaxOutput)
	}
	window := max(p.Window-output, p.Window/4)
	if p.Window <= 0 || window >= c.window {
		return c
	}
	smaller := *c
	smaller.window = window
	return &smaller
}

// compressor returns the compressor for the model that is asked now, nil if the turn has none.
func (t *turn) compressor() *Compressor {
	if t.runner.Compressor == nil {
		return nil
	}
	return t.runner.Compressor.within(t.route.profile(), t.limits.MaxOutput)
}

// fills tells whether a session fills a share of the window.
func (c *Compressor) fills(s *sessions.Session, share, byDefault float64) bool {
	if share <= 0 {
		share = byDefault
	}
	return ContextTokens(s) >= int(share*float64(c.window))
}

func (c *Compressor) maxMessages() int {
	if c.MaxMessages > 0 {
		return c.MaxMessages
	}
	return defaultMaxMessages
}

func (c *Compressor) redact(text string) string {
	if c.Redact != nil {
		text = c.Redact(text)
	}
	return WithoutSecrets(text)
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
func (c *Compressor) Compress(ctx context.Context, s *sessions.Session, aim Aim) (sessions.Compaction, error) {
	if s.Ineffective >= maxIneffective {
		return sessions.Compaction{}, ErrIneffective
	}
	return c.compress(ctx, s, aim, c.tailBudget()/2)
}

// shorten is Compress for a context that a provider has refused: earlier failures do not count, and the results that
// stay are cut harder.
func (c *Compressor) shorten(ctx context.Context, s *sessions.Session, aim Aim) (sessions.Compaction, error) {
	return c.compress(ctx, s, aim, c.tailBudget()/8)
}

// tailBudget is how many tokens of the newest messages stay: a fortieth of the window, between 10,000 and 25,000, but
// never more than a fifth of the window.
func (c *Compressor) tailBudget() int {
	return min(max(c.window/40, 10_000), 25_000, c.window/5)
}

func (c *Compressor) compress(ctx context.Context, s *sessions.Session, aim Aim, maxResult int) (sessions.Compaction, error) {
	if s.Turn != nil && len(s.Turn.Open) > 0 {
		return sessions.Compaction{}, errOpenCalls(s)
	}
	out := carry(s)
	out.Before, out.Count = ContextTokens(s), s.Compactions+1
	name := fmt.Sprintf("compacted%d-%d", s.Revision, out.Count) // before notes are taken
	ratio := calibrate(s)
	messages, _ := Repair(s.Messages)
	plan := layOut(messages, c.tailBudget(), c.maxMessages()/2)
	var tags []tag
	if size := estimateUnits(plan.middle); size >= minMiddle || len(messages) > c.maxMessages() && len(plan.middle) > 0 {
		if aim.Flush != nil {
			aim.Flush(ctx)
		}
		text, byModel, err := c.summarise(ctx, plan, aim, size)
		if err != nil {
			return sessions.Compaction{}, err
		}
		cutResults(plan.tail, maxResult)
		out.Messages, tags = plan.assemble(text)
		out.Summary = byModel
	} else {
		all := units(messages)
		if !cutResults(all, maxResult) {
			return sessions.Compaction{}, ErrNothingToCompress
		}
		out.Messages, tags = spread(all, tagUnits(all, c.tailBudget(), c.maxMessages()/2))
	}
	protect(out.Messages, tags, int(protectedShare*float64(c.window)/max(ratio.factor(), 0.1)), aim.Work, name)
	if err := CheckLedger(out.Messages); err != nil {
		return sessions.Compaction{}, fmt.Errorf("compress: the shorter ledger is not valid: %w", err)
	}
	out.Turn = turnIn(s, out.Messages)
	out.After = ratio.apply(estimatePrompt(s.Prompt) + estimate(out.Messages...))
	c.log().Info("compressed", "before", out.Before, "after", out.After, "by_model", out.Summary, "count", out.Count)
	return out, nil
}

// carry returns a compaction that carries everything over.
func carry(s *sessions.Session) sessions.Compaction {
	return sessions.Compaction{Checkpoint: s.Checkpoint(), At: time.Now()}
}

// turnIn returns the open turn as it stands in a ledger that takes the place of the session's, nil if none is open.
func turnIn(s *sessions.Session, messages []sessions.Message) *sessions.Turn {
	if s.Turn == nil {
		return nil
	}
	t := *s.Turn
	t.From = newestRequest(messages)
	return &t
}

func errOpenCalls(s *sessions.Session) error {
	return fmt.Errorf("compress: %d tool calls are open", len(s.Turn.Open))
}

// summarise returns the summary of the plan's middle, the earlier one included, and whether a model wrote it.
func (c *Compressor) summarise(ctx context.Context, plan layout, aim Aim, size int) (text string, byModel bool, err error) {
	limit := min(max(size/5, 2_000), max(min(c.window/20, 12_000), 500))
	for try := 1; c.model != nil && try <= summaryTries; try++ {
		text, err := c.ask(ctx, plan, aim, limit)
		if err == nil {
			return c.redact(completeNotes(text, plan.earlier, plan.middle, limit)), true, nil
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
	return c.redact(completeNotes(digest(plan), plan.earlier, plan.middle, min(limit, maxDigest/8))), false, nil
}

// ask lets the model write or update the summary.
func (c *Compressor) ask(ctx context.Context, plan layout, aim Aim, limit int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	question := c.redact(summaryQuestion(plan, aim.Focus, limit, min(maxTranscript, c.window*2)))
	r, err := aim.model(ctx, c.model, Request{
		System:   summarySystem,
		Messages: []sessions.Message{{Role: sessions.RoleUser, Text: question}},
	})
	if err != nil {
		return "", fmt.Errorf("summarise: %w", err)
	}
	if r.Message.Blank() || r.Finish == FinishFiltered {
		return "", &ModelError{Class: ModelOverloaded, Err: errors.New("the summary is empty")}
	}
	return bounded(r.Message.Text, limit), nil
}
