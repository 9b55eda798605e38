package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Difference is the first thing that the loop did differently.
type Difference struct {
	Line      int    // of the file, from 1
	What      string // what it is about
	Want, Got string // as recorded, and as it is now
}

func (d *Difference) Error() string {
	return fmt.Sprintf("line %d: %s differs\nrecorded: %s\nnow:      %s", d.Line, d.What, d.Want, d.Got)
}

// stuckAfter is how long something waits for a cancellation that must follow, before that counts as a difference.
const stuckAfter = 10 * time.Second

// player says what was said in one stretch of a recording: from one line "turn" to the end or the crash.
type player struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	live   map[string]bool // tools that run for real
	redact func(string) string

	mu      sync.Mutex
	lines   []numbered
	used    []bool
	before  map[string]loop.Request
	crashed bool // what comes now was never recorded
	first   *Difference
}

// numbered is a line and where it stands.
type numbered struct {
	line
	index  int // in the stretch
	number int // in the file, from 1
}

var _ loop.Tape = (*player)(nil)

// played tells whether a kind of line is used up by the loop's doing the same again.
func played(k kind) bool {
	switch k {
	case kindRequest, kindReply, kindCall, kindResult, kindAsk, kindDecision, kindQuestion, kindAnswer, kindSteered, kindMoved, kindWrote:
		return true
	}
	return false
}

// differ notes a difference, if it is the first, and stops the turn.
func (p *player) differ(i int, what, want, got string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.differs(i, what, want, got)
}

func (p *player) differs(i int, what, want, got string) {
	if p.first != nil || p.crashed {
		return
	}
	number := 0
	if i < len(p.lines) {
		number = p.lines[i].number
	} else if len(p.lines) > 0 {
		number = p.lines[len(p.lines)-1].number + 1
	}
	p.first = &Difference{Line: number, What: what, Want: want, Got: got}
	p.cancel(loop.ErrParked)
}

// take uses up the first unused line that fits. If there is none, the loop goes on where the recording does not: that is
// a difference, unless the process died there.
func (p *player) take(what, got string, fits func(line) bool) (numbered, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range p.lines {
		if !p.used[i] && fits(l.line) {
			p.use(i)
			return l, true
		}
	}
	if p.died() {
		p.crash()
	} else {
		p.differs(p.next(), what, p.describe(p.next()), got)
	}
	return numbered{}, false
}

// use marks a line as used, and does what follows by itself: a cancellation of the turn, or the death of the process.
func (p *player) use(i int) {
	p.used[i] = true
	n := p.next()
	if n < len(p.lines) && p.lines[n].Kind == kindCancelled {
		p.used[n] = true
		p.cancel(causeOf(p.lines[n].Cause))
	}
	if n == len(p.lines) && p.died() {
		p.crash()
	}
}

// next returns the first line that is still to be played.
func (p *player) next() int {
	for i, l := range p.lines {
		if !p.used[i] && (played(l.Kind) || l.Kind == kindCancelled || l.Kind == kindEnd) {
			return i
		}
	}
	return len(p.lines)
}

// died tells whether the recording of this stretch ends without the loop's leaving the turn.
func (p *player) died() bool {
	return len(p.lines) == 0 || p.lines[len(p.lines)-1].Kind != kindEnd
}

func (p *player) crash() {
	p.crashed = true
	p.cancel(loop.ErrParked)
}

func (p *player) describe(i int) string {
	if i >= len(p.lines) {
		return "nothing more"
	}
	l := p.lines[i].line
	l.MS, l.N = 0, 0
	text, err := json.Marshal(l)
	if err != nil {
		return err.Error()
	}
	return clip(string(text))
}

func causeOf(text string) error {
	for _, c := range []error{loop.ErrStopped, loop.ErrSuperseded} {
		if c.Error() == text {
			return c
		}
	}
	return loop.ErrParked
}

// due waits until the turn has been cancelled, if it was before a line was written.
func (p *player) due(ctx context.Context, l numbered) {
	p.mu.Lock()
	wait := false
	for i, other := range p.lines[:l.index] {
		wait = wait || other.Kind == kindCancelled && !p.used[i]
	}
	p.mu.Unlock()
	if !wait {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(stuckAfter):
		p.mu.Lock()
		n := p.next()
		p.differs(n, "what leads to the cancellation", p.describe(n), "nothing")
		p.mu.Unlock()
	}
}

// outcome returns the line that ends what a line began, when its time has come; none means that nothing ever came back,
// and the context is over.
func (p *player) outcome(ctx context.Context, fits func(line) bool) (numbered, bool) {
	p.mu.Lock()
	for i, l := range p.lines {
		if !p.used[i] && fits(l.line) {
			p.mu.Unlock()
			p.due(ctx, l)
			if l.Error != nil && l.Error.Ended {
				<-ctx.Done()
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.use(i)
			return l, true
		}
	}
	p.mu.Unlock()
	<-ctx.Done()
	return numbered{}, false
}

// Model implements loop.Tape.
func (p *player) Model(ctx context.Context, lane string, m loop.Model, req loop.Request, onText func(string)) (loop.Reply, error) {
	l, ok := p.take("a model call", "a call of "+m.Name(), func(l line) bool { return l.Kind == kindRequest && l.Lane == lane })
	if !ok {
		<-ctx.Done()
		return loop.Reply{}, context.Cause(ctx)
	}
	p.compare(l, m.Name(), req)
	answer, ok := p.outcome(ctx, func(o line) bool { return o.Kind == kindReply && o.N == l.N })
	if !ok {
		return loop.Reply{}, context.Cause(ctx)
	}
	if text := answer.Reply.Message.Text; text != "" {
		onText(text)
	}
	switch e := answer.Error; {
	case e == nil:
		return loop.Reply{Message: answer.Reply.Message, Usage: answer.Reply.Usage, Finish: answer.Reply.Finish}, nil
	case e.Ended:
		return loop.Reply{}, context.Cause(ctx)
	case e.Class == "":
		return loop.Reply{}, errors.New(e.Text)
	default:
		return loop.Reply{}, &loop.ModelError{Class: loop.ErrorClass(e.Class), Wait: shortened(e.Wait), Err: errors.New(e.Text)}
	}
}

// shortened makes the waits that a turn takes short; longer ones it does not take.
func shortened(wait time.Duration) time.Duration {
	if wait > 10*time.Second {
		return wait
	}
	return time.Millisecond
}

// Look implements loop.Tape.
func (p *player) Look(lane string, call sessions.ToolCall, find func() loop.Look) loop.Look {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		if l.Kind == kindLook && l.Lane == lane && l.Call == call.ID {
			return loop.Look{Problems: l.Look.Problems, Paths: l.Look.Paths, Preview: l.Look.Preview, Judged: tools.Judgement{
				Verdict: l.Look.Verdict, Reason: l.Look.Reason, Rule: l.Look.Rule, Fleeting: l.Look.Fleeting, Grants: l.Look.Grants,
			}}
		}
	}
	if p.died() {
		p.crash()
		return find()
	}
	n := p.next()
	p.differs(n, "a look at a call", p.describe(n), fmt.Sprintf("%s %s", call.Name, clip(call.Arguments)))
	return find()
}

// Tool implements loop.Tape.
func (p *player) Tool(ctx context.Context, lane string, call sessions.ToolCall, run func() loop.Returned) loop.Returned {
	of := func(k kind) func(line) bool {
		return func(l line) bool { return l.Kind == k && l.Lane == lane && l.Call == call.ID }
	}
	if _, ok := p.take("a tool call", fmt.Sprintf("%s %s %s", call.ID, call.Name, clip(call.Arguments)), of(kindCall)); !ok {
		<-ctx.Done()
		return loop.Returned{Err: context.Cause(ctx)}
	}
	var real loop.Returned
	if p.live[call.Name] {
		real = run()
	}
	l, ok := p.outcome(ctx, of(kindResult))
	switch {
	case !ok:
		return loop.Returned{Err: context.Cause(ctx)}
	case p.live[call.Name]:
		return real
	}
	out := loop.Returned{
		Result: tools.Result{Text: l.Result.Text, Failed: l.Result.Failed, Class: l.Result.Class},
		Tries:  l.Result.Tries, Note: l.Result.Note, Aside: l.Result.Aside, Cost: l.Result.Cost,
	}
	if e := l.Error; e != nil {
		if out.Err = errors.New(e.Text); e.Class != "" {
			out.Err = &tools.Trouble{Class: tools.Failure(e.Class), Wait: e.Wait, Err: out.Err}
		}
	}
	if len(l.Result.Entries) > 0 {
		r, err := sessions.DecodeRecord(l.Result.Entries, 1)
		if err != nil {
			out.Err = err
		}
		out.Entries = r.Entries
	}
	return out
}

// Approve implements loop.Tape.
func (p *player) Approve(ctx context.Context, lane, call string, _ func() (tools.Decision, error)) (tools.Decision, error) {
	l, err := p.person(ctx, lane, call, kindAsk, kindDecision)
	if err != nil || l.Decision == nil {
		return tools.Decision{}, err
	}
	return *l.Decision, nil
}

// Answer implements loop.Tape.
func (p *player) Answer(ctx context.Context, lane, call string, _ func() (tools.Answer, error)) (tools.Answer, error) {
	l, err := p.person(ctx, lane, call, kindQuestion, kindAnswer)
	if err != nil || l.Answer == nil {
		return tools.Answer{}, err
	}
	return *l.Answer, nil
}

func (p *player) person(ctx context.Context, lane, call string, asked, said kind) (numbered, error) {
	of := func(k kind) func(line) bool {
		return func(l line) bool { return l.Kind == k && l.Lane == lane && l.Call == call }
	}
	l, ok := p.take("a question to a person", call, of(asked))
	if ok {
		l, ok = p.outcome(ctx, of(said))
	} else {
		<-ctx.Done()
	}
	switch {
	case !ok, l.Error != nil && l.Error.Ended:
		return l, context.Cause(ctx)
	case l.Error != nil:
		return l, errors.New(l.Error.Text)
	}
	return l, nil
}

// steer says what people said to the turn, if they did where it stands now.
func (p *player) steer() (sessions.Steered, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.next()
	if n == len(p.lines) || p.lines[n].Kind != kindSteered {
		return sessions.Steered{}, false
	}
	r, err := sessions.DecodeRecord(p.lines[n].Record, 1)
	if err != nil || len(r.Entries) != 1 {
		return sessions.Steered{}, false
	}
	p.use(n)
	e, ok := r.Entries[0].(sessions.Steered)
	return e, ok
}

// Moved implements loop.Tape.
func (p *player) Moved(lane string, from loop.State, signal string, to loop.State) {
	now := moved{from, signal, to}
	l, ok := p.take("a transition", fmt.Sprint(now), func(l line) bool { return l.Kind == kindMoved && l.Lane == lane })
	if ok && *l.Moved != now {
		p.differ(l.index, "a transition", fmt.Sprint(*l.Moved), fmt.Sprint(now))
	}
}

func (m moved) String() string { return fmt.Sprintf("%s → %s on %q", m.From, m.To, m.Signal) }
