package recording_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/loop/recording"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// rig is a conversation with one turn, and its recording.
type rig struct {
	t       *testing.T
	runner  *loop.Runner
	tools   *tools.Registry
	prompt  sessions.PromptBuilt
	session *sessions.Session
	records []sessions.Record
	out     bytes.Buffer
	cancel  context.CancelCauseFunc // of the running turn
	said    []string                // to the turn while it runs
}

const key, turnID = sessions.Key("telegram/1/dm/2"), "turn-1"

// newRig begins a turn with a request (empty = none yet), behind a history of entries.
func newRig(t *testing.T, runner *loop.Runner, all []tools.Tool, request string, history ...sessions.Entry) *rig {
	t.Helper()
	registry, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	declared, err := loop.Declare(registry)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, runner: runner, tools: registry, session: &sessions.Session{Key: key}}
	if len(history) > 0 {
		r.must(history...)
	}
	r.prompt = sessions.PromptBuilt{System: "You are a test.", Tools: declared}
	if request != "" {
		r.begin(request)
	}
	return r
}

func (r *rig) begin(request string) {
	r.t.Helper()
	r.must(
		sessions.TurnStarted{Turn: turnID, Requester: "2", At: time.Now()}, r.prompt,
		sessions.UserMessage{Turn: turnID, Message: sessions.Message{Role: sessions.RoleUser, Text: request}},
	)
}

// compress compresses before the turn, and records that.
func (r *rig) compress() {
	r.t.Helper()
	work := loop.Turn{ID: turnID, Journal: r, Tools: r.tools, Scope: r.scope()}
	work, recorder := recording.RecordCompression(r.t.Context(), &r.out, 1<<20, "test", r.runner.Setup(), work)
	c, err := r.runner.Compress(r.t.Context(), work, "")
	if err := errors.Join(err, recorder.EndCompression(c, err)); err != nil {
		r.t.Fatal(err)
	}
	r.must(c)
}

func (r *rig) scope() tools.Scope {
	return tools.Scope{Conversation: string(key), Turn: turnID, Requester: "2", Chat: "telegram/1/dm/2", Work: r.t.TempDir()}
}

func (r *rig) must(entries ...sessions.Entry) {
	r.t.Helper()
	if err := r.Append(r.t.Context(), entries...); err != nil {
		r.t.Fatal(err)
	}
}

// Session implements loop.Journal.
func (r *rig) Session() *sessions.Session { return r.session }

// Append implements loop.Journal, as a store does it: the entries are encoded and decoded on the way.
func (r *rig) Append(_ context.Context, entries ...sessions.Entry) error {
	data, err := sessions.Record{At: time.Now(), Entries: entries}.Encode()
	if err != nil {
		return err
	}
	record, err := sessions.DecodeRecord(data, r.session.Revision+1)
	if err != nil {
		return err
	}
	r.records = append(r.records, record)
	return r.session.Apply(record)
}

// End implements loop.Journal.
func (r *rig) End(ctx context.Context, _ loop.Outcome, entries ...sessions.Entry) error {
	return r.Append(ctx, entries...)
}

// run runs the turn and records it.
func (r *rig) run(resumed bool) loop.Outcome {
	r.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	r.cancel = cancel
	work := loop.Turn{
		ID: turnID, Journal: r, Tools: r.tools, Resumed: resumed, Steer: r.steer, Scope: r.scope(),
	}
	work, recorder := recording.Record(ctx, &r.out, 1<<20, "test", r.runner.Setup(), work)
	o := r.runner.Run(ctx, work)
	r.runner.Wait()
	if err := recorder.End(o); err != nil {
		r.t.Error(err)
	}
	return o
}

// crash goes on as after the death of the process: with what was written when a turn was in the middle of it, and
// without what it writes later.
func (r *rig) crash(middle <-chan struct{}) {
	r.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.run(false)
	}()
	<-middle
	out, records := bytes.Clone(r.out.Bytes()), r.records[:len(r.records):len(r.records)]
	r.cancel(loop.ErrParked)
	<-ended
	session, err := sessions.Fold(key, records)
	if err != nil {
		r.t.Fatal(err)
	}
	r.out.Reset()
	r.out.Write(out)
	r.out.WriteString(`{"kind":"even`) // cut in the middle of a line
	r.out.WriteString("\n")
	r.records, r.session = records, session
}

func (r *rig) steer() (e sessions.Steered, ok bool) {
	if len(r.said) == 0 {
		return e, false
	}
	m := sessions.Message{Role: sessions.RoleUser, Text: r.said[0]}
	r.said = r.said[1:]
	return sessions.Steered{Turn: turnID, Message: m}, true
}

func (r *rig) history() iter.Seq2[sessions.Record, error] {
	return func(yield func(sessions.Record, error) bool) {
		for _, record := range r.records {
			if !yield(record, nil) {
				return
			}
		}
	}
}

// export returns the recording as a file.
func (r *rig) export() []byte {
	r.t.Helper()
	var out bytes.Buffer
	if n, err := recording.Export(&out, r.history(), []string{turnID}, r.open, loop.WithoutSecrets); err != nil || n != 1 {
		r.t.Fatalf("export: %d recordings, %v", n, err)
	}
	return out.Bytes()
}

func (r *rig) open(string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(r.out.Bytes())), nil
}

// replay plays a file; sub-agents and questions run for real.
func replay(t *testing.T, file []byte) ([]recording.Summary, error) {
	t.Helper()
	live, err := agenttools.NewDelegation(agenttools.Delegation{MaxIterations: 50, MaxParallel: 3})
	if err != nil {
		t.Fatal(err)
	}
	clarify, err := agenttools.NewClarify()
	if err != nil {
		t.Fatal(err)
	}
	return recording.Replay(t.Context(), bytes.NewReader(file), append(live, clarify...), loop.WithoutSecrets)
}

// script is a model made of a function.
type script struct {
	name string
	call func(ctx context.Context, n int, req loop.Request, onText func(string)) (loop.Reply, error)
	n    int
}

func (s *script) Name() string { return s.name }

func (s *script) Call(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	s.n++
	r, err := s.call(ctx, s.n, req, onText)
	if err == nil {
		onText(r.Message.Text)
		r.Usage = sessions.Usage{Input: 100 * s.n, Output: 10}
	}
	return r, err
}

// steps is a script of replies in order.
func steps(all ...loop.Reply) *script {
	return &script{name: "first", call: func(_ context.Context, n int, _ loop.Request, _ func(string)) (loop.Reply, error) {
		if n > len(all) {
			return loop.Reply{}, errors.New("the script is over")
		}
		return all[n-1], nil
	}}
}

func says(text string) loop.Reply {
	return loop.Reply{Message: sessions.Message{Role: sessions.RoleAssistant, Text: text}, Finish: loop.FinishStop}
}

// asks is a reply with calls, of pairs of a tool's name and its argument.
func asks(pairs ...string) loop.Reply {
	m := sessions.Message{Role: sessions.RoleAssistant}
	for i := 0; i < len(pairs); i += 2 {
		m.ToolCalls = append(m.ToolCalls, sessions.ToolCall{
			ID: fmt.Sprintf("call-%s-%s", pairs[i], pairs[i+1]), Name: pairs[i], Arguments: fmt.Sprintf(`{"text":%q}`, pairs[i+1]),
		})
	}
	return loop.Reply{Message: m, Finish: loop.FinishTools}
}

type argument struct {
	Text string `json:"text"`
}

func tool(t *testing.T, spec tools.Spec, call func(ctx context.Context, text string) (tools.Result, error)) tools.Tool {
	t.Helper()
	made, err := tools.New(spec, func(ctx context.Context, _ tools.Scope, a argument) (tools.Result, error) {
		return call(ctx, a.Text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// echo is a tool that says what it was told, after a while that depends on it.
func echo(t *testing.T) tools.Tool {
	return tool(t, tools.Spec{Name: "echo", Risk: tools.ReadOnly, Parallel: true}, func(_ context.Context, text string) (tools.Result, error) {
		time.Sleep(time.Second / time.Duration(len(text)))
		return tools.Result{Text: "it says " + text}, nil
	})
}
