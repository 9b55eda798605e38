package recording

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Summary counts what was played again and was the same.
type Summary struct {
	Turn                     string
	Requests, Calls, Entries int
	Reason                   loop.EndReason // empty = the turn is still open
}

func (s Summary) String() string {
	how := "is still open"
	if s.Reason != "" {
		how = fmt.Sprintf("ended by %q", s.Reason)
	}
	return fmt.Sprintf("turn %s, %d model calls, %d tool calls, %d log entries, %s", s.Turn, s.Requests, s.Calls, s.Entries, how)
}

// Replay runs the loop on an export. live are tools that run for real, if a turn had them: such as only start more of the
// loop, or ask people. redact is what takes out secrets that differ only by how they were taken out. It returns what it
// has found to be the same. An error that is a *Difference says what the loop does differently; any other, why that
// cannot be told. A turn that ran out of time takes as long as it took.
func Replay(ctx context.Context, r io.Reader, live []tools.Tool, redact func(string) string) ([]Summary, error) {
	records, stretches, err := read(r)
	if err != nil {
		return nil, err
	}
	var all []Summary
	for i, lines := range stretches {
		turn := lines[0].Turn.ID
		if n := len(all); n == 0 || all[n-1].Turn != turn {
			all = append(all, Summary{Turn: turn})
		}
		if err := replay(ctx, lines, records, live, redact, &all[len(all)-1]); err != nil {
			return all[:len(all)-1], err
		}
		if last := lines[len(lines)-1]; !whole(lines, stretches[i+1:]) {
			return all[:len(all)-1], &Cut{Line: last.number, Turn: turn}
		}
	}
	return all, nil
}

// Cut is what a recording is that ends in the middle of its last turn: because the file was cut, or the program died there
// and has not gone on with the turn.
type Cut struct {
	Line int // the last one, of the file, from 1
	Turn string
}

func (c *Cut) Error() string {
	return fmt.Sprintf("the recording is cut: it ends with line %d, in the middle of turn %s; up to there the loop does the same", c.Line, c.Turn)
}

// whole tells whether nothing is missing behind a stretch: the loop has left the turn, or the next one goes on with it, after
// the compression before it or the death of the program in it.
func whole(lines []numbered, after [][]numbered) bool {
	ended, before := lines[len(lines)-1].Kind == kindEnd, lines[0].Kind == kindSqueeze
	if ended && !before {
		return true
	}
	if len(after) == 0 || after[0][0].Turn.ID != lines[0].Turn.ID {
		return false
	}
	return ended || after[0][0].Turn.Resumed
}

// read takes an export apart: the records of the log, and the stretches of the recording.
func read(r io.Reader) (records []sessions.Record, stretches [][]numbered, err error) {
	in := bufio.NewReader(r)
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) == 0 && err != nil {
			break
		}
		var l line
		if failed := json.Unmarshal(text, &l); failed != nil && errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("line %d is cut in the middle, and so is the recording", number)
		} else if err := failed; err != nil {
			return nil, nil, fmt.Errorf("line %d is no line of a recording: %w", number, err)
		}
		switch l.Kind {
		case kindRecord:
			record, err := sessions.DecodeRecord(l.Record, l.Revision)
			if err != nil {
				return nil, nil, fmt.Errorf("line %d: %w", number, err)
			}
			records = append(records, record)
			continue
		case kindFull:
			return nil, nil, fmt.Errorf("line %d: the recording is not complete, because the turn was too long for it", number)
		case kindTurn, kindSqueeze:
			if l.Turn.Version != version {
				return nil, nil, fmt.Errorf("line %d: recording of version %d; known is %d", number, l.Turn.Version, version)
			}
			stretches = append(stretches, nil)
		}
		if len(stretches) == 0 {
			return nil, nil, fmt.Errorf("line %d stands before the beginning of a turn", number)
		}
		last := &stretches[len(stretches)-1]
		*last = append(*last, numbered{l, len(*last), number})
	}
	if len(stretches) == 0 {
		return nil, nil, errors.New("there is no recording of the turn in it, only what the log holds")
	}
	return records, stretches, nil
}

// replay plays one stretch.
func replay(ctx context.Context, lines []numbered, records []sessions.Record, live []tools.Tool, redact func(string) string, sum *Summary) error {
	h := lines[0].Turn
	n := 0
	for n < len(records) && records[n].Revision <= h.Revision {
		n++
	}
	session, err := sessions.Fold(h.Key, records[:n])
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "talaria-replay-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(work)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &player{
		ctx: ctx, cancel: cancel, live: map[string]bool{}, redact: redact, lines: lines, used: make([]bool, len(lines)),
		before: map[string]loop.Request{"": baseline(session)},
	}
	registry, err := p.registry(h.Tools, live)
	if err != nil {
		return err
	}
	j := newReplayed(p, session, records[n:])
	runner := h.Setup.Runner(func(name string) loop.Model { return named(name) })
	runner.Approver, runner.Asker = nobody{}, nobody{}
	if runner.Compressor != nil {
		runner.Compressor.Redact = redact
	}
	requester := h.Requester
	if session.Turn != nil {
		requester = session.Turn.Requester
	}
	task := loop.Turn{
		ID: h.ID, Journal: j, Tools: registry, Resumed: h.Resumed, Within: h.Within, Tape: p, Steer: p.steer,
		Scope: tools.Scope{Conversation: string(h.Key), Turn: h.ID, Requester: requester, Chat: h.Chat, Work: work},
	}
	var o loop.Outcome
	if lines[0].Kind == kindSqueeze {
		unhurried, stop := loop.Unhurried(ctx)
		c, err := runner.Compress(unhurried, task, "")
		stop()
		p.finishCompression(c, err)
	} else {
		o = runner.Run(ctx, task)
		runner.Wait()
		p.finish(o)
	}
	if p.first != nil {
		return p.first
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, loop.ErrParked) && !errors.Is(err, loop.ErrStopped) && !errors.Is(err, loop.ErrSuperseded) {
		return err
	}
	sum.add(lines, j.entries, o)
	return nil
}

// finish compares the end, and notes what the loop left out.
func (p *player) finish(o loop.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.next()
	if n == len(p.lines) {
		return
	}
	l := p.lines[n]
	if l.Kind != kindEnd {
		p.differs(n, "the rest of the turn", p.describe(n), fmt.Sprintf("the turn ends here (%s)", o.Reason))
		return
	}
	want := fmt.Sprintf("%s after %d model calls: %s", l.End.Reason, l.End.Rounds, l.End.Text)
	if got := fmt.Sprintf("%s after %d model calls: %s", o.Reason, o.Rounds, o.Text); p.redact(got) != p.redact(want) {
		p.differs(n, "the end", want, got)
	}
}

// finishCompression is finish for a compression.
func (p *player) finishCompression(c sessions.Compaction, failed error) {
	p.mu.Lock()
	n := p.next()
	p.mu.Unlock()
	if n == len(p.lines) {
		return
	}
	got, err := endOf(c, failed)
	if err != nil {
		p.differ(n, "the end of the compression", p.describe(n), err.Error())
		return
	}
	l := p.lines[n]
	if l.Kind != kindEnd {
		p.differ(n, "the rest of the compression", p.describe(n), "it ends here")
		return
	}
	p.same(n, "the end of the compression", l.End.Error+withoutTimes(l.Record), got.End.Error+withoutTimes(got.Record))
}

func (s *Summary) add(lines []numbered, entries int, o loop.Outcome) {
	s.Reason = o.Reason // empty of a compression, behind which the turn comes
	s.Entries += entries
	for _, l := range lines {
		switch l.Kind {
		case kindRequest:
			s.Requests++
		case kindCall:
			s.Calls++
		}
	}
}

// registry makes tools of what the recording says about them; those that are there live take their places.
func (p *player) registry(specs []toolSpec, live []tools.Tool) (*tools.Registry, error) {
	var all []tools.Tool
	for _, s := range specs {
		i := slices.IndexFunc(live, func(t tools.Tool) bool { return t.Spec().Name == s.Name })
		switch {
		case i >= 0:
			p.live[s.Name] = true
			all = append(all, live[i])
		default:
			t, err := silently(s)
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
	}
	return tools.NewRegistry(all...)
}

// named is a model of which there is nothing but its name: the player speaks for it.
type named string

func (n named) Name() string { return string(n) }

func (n named) Call(context.Context, loop.Request, func(string)) (loop.Reply, error) {
	return loop.Reply{}, errors.New("a recorded model was called for real")
}

// silent is a tool that only describes itself.
type silent struct{ spec tools.Spec }

// silently makes a tool of what a recording says about it.
func silently(s toolSpec) (tools.Tool, error) {
	spec := tools.Spec{
		Name: s.Name, Toolset: s.Toolset, Description: s.Description, Risk: s.Risk, Parallel: s.Parallel, Ranged: s.Ranged,
		Timeout: s.Timeout, Untrusted: s.Untrusted, Verifies: s.Verifies, Substitute: s.Substitute,
	}
	if s.Schema != nil {
		if err := json.Unmarshal(s.Schema, &spec.Schema); err != nil {
			return nil, fmt.Errorf("read the schema of tool %s: %w", s.Name, err)
		}
	}
	if s.Paths {
		spec.Paths = func(json.RawMessage) []string { return nil }
	}
	if s.Session {
		return silentSession{silent{spec}}, nil
	}
	return silent{spec}, nil
}

func (s silent) Spec() tools.Spec { return s.spec }

func (s silent) Call(context.Context, tools.Scope, json.RawMessage) (tools.Result, error) {
	return tools.Result{}, errors.New("a recorded tool was called for real")
}

// silentSession is one that works on the session.
type silentSession struct{ silent }

func (s silentSession) CallSession(ctx context.Context, call loop.SessionCall, arguments json.RawMessage) (tools.Result, []sessions.Entry, error) {
	r, err := s.Call(ctx, call.Scope, arguments)
	return r, nil, err
}

// nobody is there to be asked: the player speaks for people.
type nobody struct{}

func (nobody) Approve(context.Context, tools.Ask) (tools.Decision, error) {
	return tools.Decision{}, errors.New("nobody is there")
}

func (nobody) Ask(context.Context, tools.Question) (tools.Answer, error) {
	return tools.Answer{}, errors.New("nobody is there")
}
