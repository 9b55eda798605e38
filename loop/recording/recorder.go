package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Recorder writes the recording of one turn, or of a compression that comes before one. It stands before the turn's journal and observer, and is its tape. A line
// that cannot be written ends the recording, never the turn.
type Recorder struct {
	ctx     context.Context // the turn's
	observe func(loop.Event)

	mu        sync.Mutex
	out       io.Writer
	pending   []byte // lines that are not in out yet
	room      int    // bytes
	began     time.Time
	requests  int
	before    map[string]loop.Request // by lane: the last request
	cancelled bool
	err       error
}

var _ loop.Tape = (*Recorder)(nil)

// Record begins the recording of a turn that the loop is about to take up under ctx, in at most limit bytes, and returns
// the turn to run instead. program is the version of it all.
func Record(ctx context.Context, out io.Writer, limit int, program string, setup loop.Setup, work loop.Turn) (loop.Turn, *Recorder) {
	return record(ctx, kindTurn, out, limit, program, setup, work, specsOf(work.Tools))
}

// RecordCompression is Record for a compression that comes before a turn (loop.Runner.Compress).
func RecordCompression(ctx context.Context, out io.Writer, limit int, program string, setup loop.Setup, work loop.Turn) (loop.Turn, *Recorder) {
	return record(ctx, kindSqueeze, out, limit, program, setup, work, specsOf(work.Tools))
}

// record is either for a turn whose tools have been described.
func record(ctx context.Context, what kind, out io.Writer, limit int, program string, setup loop.Setup, work loop.Turn, specs []toolSpec) (loop.Turn, *Recorder) {
	s := work.Journal.Session()
	r := &Recorder{
		ctx: ctx, observe: work.Observe, out: out, room: limit, began: time.Now(),
		before: map[string]loop.Request{"": baseline(s)},
	}
	h := header{
		Version: version, Key: s.Key, ID: work.ID, Chat: work.Scope.Chat, Program: program, At: r.began, Resumed: work.Resumed, Within: work.Within, Revision: s.Revision,
		Setup: setup, Tools: specs,
	}
	if s.Turn == nil {
		h.Requester = work.Scope.Requester
	}
	r.write(line{Kind: what, Turn: &h})
	if steer := work.Steer; steer != nil {
		work.Steer = func() (sessions.Steered, bool) { return r.steered(steer()) }
	}
	work.Journal, work.Observe, work.Tape = journal{work.Journal, r}, r.event, r
	return work, r
}

// baseline is what the first request of a turn is compared with.
func baseline(s *sessions.Session) loop.Request {
	req := loop.Request{Messages: s.Messages}
	if s.Prompt != nil {
		req.System, req.Tools = s.Prompt.System, s.Prompt.Tools
	}
	return req
}

// specsOf describes all tools of a registry, which may be nil.
func specsOf(registry *tools.Registry) (all []toolSpec) {
	if registry == nil {
		return nil
	}
	for _, t := range registry.Tools() {
		all = append(all, specOf(t))
	}
	return all
}

func specOf(t tools.Tool) toolSpec {
	s := t.Spec()
	_, session := t.(loop.SessionTool)
	var schema json.RawMessage
	if s.Schema != nil {
		schema, _ = json.Marshal(s.Schema) // it was declared to the model as JSON, too
	}
	return toolSpec{
		Name: s.Name, Toolset: s.Toolset, Description: s.Description, Schema: schema, Risk: s.Risk, Parallel: s.Parallel, Ranged: s.Ranged,
		Timeout: s.Timeout, Untrusted: s.Untrusted, Verifies: s.Verifies, Substitute: s.Substitute, Paths: s.Paths != nil,
		Session: session,
	}
}

// End writes how the loop left the turn, and returns why the recording is not complete, nil if it is.
func (r *Recorder) End(o loop.Outcome) error {
	e := end{Reason: o.Reason, Text: o.Text, Rounds: o.Rounds, Calls: o.Calls, Usage: o.Usage}
	if o.Err != nil {
		e.Error = o.Err.Error()
	}
	return r.end(line{Kind: kindEnd, End: &e})
}

// EndCompression is End for a compression.
func (r *Recorder) EndCompression(c sessions.Compaction, failed error) error {
	l, err := endOf(c, failed)
	return errors.Join(r.end(l), err)
}

// endOf is the last line of a compression.
func endOf(c sessions.Compaction, failed error) (line, error) {
	if failed != nil {
		return line{Kind: kindEnd, End: &end{Error: failed.Error()}}, nil
	}
	text, err := sessions.Record{Entries: []sessions.Entry{c}}.Encode()
	return line{Kind: kindEnd, End: &end{}, Record: text}, err
}

func (r *Recorder) end(l line) error {
	r.write(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// write writes a line, after one about the turn's cancellation if that is news.
func (r *Recorder) write(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cause := context.Cause(r.ctx); cause != nil && !r.cancelled {
		r.cancelled = true
		r.put(line{Kind: kindCancelled, Cause: cause.Error()})
	}
	r.put(l)
}

// errFull is why a recording ends that is as long as it may be.
var errFull = errors.New("the recording is as long as it may be")

func (r *Recorder) put(l line) {
	if r.err != nil {
		return
	}
	l.MS = time.Since(r.began).Milliseconds()
	text, err := json.Marshal(l)
	if err == nil && len(text) >= r.room {
		r.room, err = 0, errFull
		text, _ = json.Marshal(line{Kind: kindFull, MS: l.MS})
	}
	if text != nil {
		r.room -= len(text) + 1
		r.pending = append(append(r.pending, text...), '\n')
	}
	if l.Kind.pauses() || err != nil {
		_, failed := r.out.Write(r.pending)
		err = errors.Join(err, failed)
		r.pending = r.pending[:0]
	}
	r.err = err
}

// Model implements loop.Tape.
func (r *Recorder) Model(ctx context.Context, lane string, m loop.Model, req loop.Request, onText func(string)) (loop.Reply, error) {
	n := r.request(lane, m.Name(), req)
	var heard strings.Builder
	got, began := reply{}, time.Now()
	answer, err := m.Call(ctx, req, func(piece string) {
		if got.Pieces++; got.Pieces == 1 {
			got.FirstMS = time.Since(began).Milliseconds()
		}
		heard.WriteString(piece)
		onText(piece)
	})
	got.Message, got.Usage, got.Finish = answer.Message, answer.Usage, answer.Finish
	if err != nil {
		got.Message = sessions.Message{Role: sessions.RoleAssistant, Text: heard.String()}
	}
	r.write(line{Kind: kindReply, Lane: lane, N: n, Reply: &got, Error: failureOf(ctx, err)})
	return answer, err
}

func (r *Recorder) request(lane, model string, req loop.Request) int {
	r.mu.Lock()
	before, first := r.before[lane]
	r.before[lane] = req
	r.requests++
	n := r.requests
	r.mu.Unlock()
	out := request{Model: model, Hint: req.Hint, NoTools: req.NoTools, MaxOutput: req.MaxOutput}
	if !first || req.System != before.System {
		out.System = &req.System
	}
	if declared := string(req.Tools); !first || declared != string(before.Tools) {
		out.Tools = &declared
	}
	out.Keep = common(req.Messages, before.Messages)
	out.Messages = req.Messages[out.Keep:]
	r.write(line{Kind: kindRequest, Lane: lane, N: n, Request: &out})
	return n
}

// common returns how many messages two ledgers begin with that are the same. Ledgers only ever grow at their end, so if
// they are in one place nothing has to be compared: the cost of a round does not grow with the history.
func common(a, b []sessions.Message) (n int) {
	most := min(len(a), len(b))
	if most > 0 && &a[0] == &b[0] {
		return most
	}
	for n < most && same(a[n], b[n]) {
		n++
	}
	return n
}

func same(a, b sessions.Message) bool {
	if a.Role != b.Role || a.Text != b.Text || a.ToolCallID != b.ToolCallID || len(a.ToolCalls) != len(b.ToolCalls) ||
		len(a.Reasoning) != len(b.Reasoning) || !slices.Equal(a.Pictures, b.Pictures) {
		return false
	}
	for i, c := range a.ToolCalls {
		if c != b.ToolCalls[i] {
			return false
		}
	}
	for i, o := range a.Reasoning {
		p := b.Reasoning[i]
		if o.Provider != p.Provider || o.Text != p.Text || o.Calls != p.Calls || string(o.Data) != string(p.Data) {
			return false
		}
	}
	return true
}

// failureOf describes an error of a call under ctx.
func failureOf(ctx context.Context, err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error()}
	var model *loop.ModelError
	var tool *tools.Trouble
	switch {
	case errors.As(err, &model):
		f.Text, f.Class, f.Wait = model.Err.Error(), string(model.Class), model.Wait
	case ctx.Err() != nil:
		f.Ended = true
	case errors.As(err, &tool):
		f.Class, f.Wait = string(tool.Class), tool.Wait
	}
	return f
}

// Look implements loop.Tape.
func (r *Recorder) Look(lane string, call sessions.ToolCall, find func() loop.Look) loop.Look {
	l := find()
	r.write(line{Kind: kindLook, Lane: lane, Call: call.ID, Look: &look{
		Problems: l.Problems, Paths: l.Paths, Preview: l.Preview, Verdict: l.Judged.Verdict, Reason: l.Judged.Reason,
		Rule: l.Judged.Rule, Fleeting: l.Judged.Fleeting, Grants: l.Judged.Grants,
	}})
	return l
}

// Tool implements loop.Tape.
func (r *Recorder) Tool(ctx context.Context, lane string, call sessions.ToolCall, run func() loop.Returned) loop.Returned {
	r.write(line{Kind: kindCall, Lane: lane, Call: call.ID})
	got := run()
	out := result{
		Text: got.Result.Text, Failed: got.Result.Failed, Class: got.Result.Class, Tries: got.Tries, Note: got.Note,
		Aside: got.Aside, Cost: got.Cost,
	}
	failed := failureOf(ctx, got.Err)
	if len(got.Entries) > 0 {
		entries, err := sessions.Record{Entries: got.Entries}.Encode()
		if err != nil { // the log will not take them either
			failed = &failure{Text: err.Error()}
		}
		out.Entries = entries
	}
	r.write(line{Kind: kindResult, Lane: lane, Call: call.ID, Result: &out, Error: failed})
	return got
}

// Approve implements loop.Tape.
func (r *Recorder) Approve(ctx context.Context, lane, call string, ask func() (tools.Decision, error)) (tools.Decision, error) {
	r.write(line{Kind: kindAsk, Lane: lane, Call: call})
	d, err := ask()
	r.write(line{Kind: kindDecision, Lane: lane, Call: call, Decision: &d, Error: failureOf(ctx, err)})
	return d, err
}

// Answer implements loop.Tape.
func (r *Recorder) Answer(ctx context.Context, lane, call string, ask func() (tools.Answer, error)) (tools.Answer, error) {
	r.write(line{Kind: kindQuestion, Lane: lane, Call: call})
	a, err := ask()
	r.write(line{Kind: kindAnswer, Lane: lane, Call: call, Answer: &a, Error: failureOf(ctx, err)})
	return a, err
}

// steered writes what people said to the turn, if they did.
func (r *Recorder) steered(e sessions.Steered, ok bool) (sessions.Steered, bool) {
	if ok {
		text, err := sessions.Record{Entries: []sessions.Entry{e}}.Encode()
		l := line{Kind: kindSteered, Record: text}
		if err != nil {
			l.Error = &failure{Text: err.Error()}
		}
		r.write(l)
	}
	return e, ok
}

// Moved implements loop.Tape.
func (r *Recorder) Moved(lane string, from loop.State, signal string, to loop.State) {
	r.write(line{Kind: kindMoved, Lane: lane, Moved: &moved{from, signal, to}})
}

// journal tells the recorder what is written.
type journal struct {
	loop.Journal
	r *Recorder
}

// Append implements loop.Journal.
func (j journal) Append(ctx context.Context, entries ...sessions.Entry) error {
	err := j.Journal.Append(ctx, entries...)
	j.r.wrote(err)
	return err
}

// End implements loop.Journal.
func (j journal) End(ctx context.Context, o loop.Outcome, entries ...sessions.Entry) error {
	err := j.Journal.End(ctx, o, entries...)
	j.r.wrote(err)
	return err
}

func (r *Recorder) wrote(err error) {
	l := line{Kind: kindWrote}
	if err != nil {
		l.Error = &failure{Text: err.Error()}
	}
	r.write(l)
}

// event writes what the turn's observer is told, but for what is fleeting, and tells it.
func (r *Recorder) event(e loop.Event) {
	if r.observe != nil {
		defer r.observe(e)
	}
	if loop.Fleeting(e) {
		return
	}
	data, err := json.Marshal(e)
	if err != nil {
		data = nil
	}
	r.write(line{Kind: kindEvent, Event: strings.TrimPrefix(fmt.Sprintf("%T", e), "loop."), Data: data})
}
