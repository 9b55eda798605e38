package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/loop/openai"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
	"github.com/talaria-agent/talaria/sessions/memory"
	"github.com/talaria-agent/talaria/tools"
)

const rounds = 30

// provider is a model without latency behind HTTP that asks for one tool call a round and answers in the last. It keeps
// the bodies of the requests, so that a bare client can make the same calls.
type provider struct {
	server *httptest.Server
	script *demo.Scripted
	model  loop.Model

	mu     sync.Mutex
	bodies [][]byte
}

func newProvider(b *testing.B) *provider {
	p := &provider{}
	script := demo.NewScripted(demo.Options{Delay: -1}, func(req demo.Request) demo.Response {
		n := 0
		for _, m := range req.Messages { // each conversation has one turn
			if m.Role == "assistant" {
				n++
			}
		}
		if n < rounds-1 {
			return demo.CallTool("echo", `{"text":"`+strconv.Itoa(n)+`"}`)
		}
		return demo.Say("Done.")
	})
	p.script = script
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.bodies = append(p.bodies, body)
		p.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		script.ServeHTTP(w, r)
	}))
	b.Cleanup(p.server.Close)
	model, err := openai.New(openai.Config{BaseURL: p.server.URL + "/v1", Model: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(model.Close)
	p.model = model
	return p
}

// take returns the requests so far and forgets them.
func (p *provider) take() [][]byte {
	p.script.Forget() // or what both sides have asked would fill the memory that the collector goes through
	p.mu.Lock()
	defer p.mu.Unlock()
	bodies := p.bodies
	p.bodies = nil
	return bodies
}

// bare makes the same calls as a turn did, with nothing around them.
func (p *provider) bare(b *testing.B, bodies [][]byte, between func()) {
	client := p.server.Client()
	for _, body := range bodies {
		res, err := client.Post(p.server.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
		between()
	}
	p.take()
}

// journal is the least loop.Journal over a store.
type journal struct {
	store   sessions.Store
	lease   sessions.Lease
	session *sessions.Session
	commits int
}

func newJournal(b *testing.B, store sessions.Store, key sessions.Key) *journal {
	conv, err := store.Acquire(context.Background(), key, "bench")
	if err != nil {
		b.Fatal(err)
	}
	session, err := sessions.Fold(key, conv.Records)
	if err != nil {
		b.Fatal(err)
	}
	return &journal{store: store, lease: conv.Lease, session: session}
}

func (j *journal) Session() *sessions.Session { return j.session }

func (j *journal) Append(ctx context.Context, entries ...sessions.Entry) error {
	r := sessions.Record{At: time.Now(), Entries: entries}
	revision, err := j.store.Commit(ctx, sessions.Append{Lease: j.lease, After: j.session.Revision, Record: r})
	if err != nil {
		return err
	}
	j.commits++
	r.Revision = revision
	return j.session.Apply(r)
}

func (j *journal) End(ctx context.Context, _ loop.Outcome, entries ...sessions.Entry) error {
	return j.Append(ctx, entries...)
}

func echo(b *testing.B) *tools.Registry {
	type args struct {
		Text string `json:"text"`
	}
	tool, err := tools.New(tools.Spec{Name: "echo", Description: "Echoes.", Risk: tools.ReadOnly, Parallel: true},
		func(_ context.Context, _ tools.Scope, a args) (tools.Result, error) {
			return tools.Result{Text: a.Text}, nil
		})
	if err != nil {
		b.Fatal(err)
	}
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		b.Fatal(err)
	}
	return registry
}

// turn runs one whole turn in a conversation of its own and returns how many commits it took.
func (p *provider) turn(b *testing.B, store sessions.Store, key sessions.Key, registry *tools.Registry) int {
	j := newJournal(b, store, key)
	p.turnOn(b, j, registry)
	return j.commits
}

func (p *provider) turnOn(b *testing.B, j *journal, registry *tools.Registry) {
	declared, err := loop.Declare(registry)
	if err != nil {
		b.Fatal(err)
	}
	id := fmt.Sprintf("t%d", j.session.Revision)
	user := sessions.Message{Role: sessions.RoleUser, Text: "go"}
	err = j.Append(context.Background(), sessions.TurnStarted{Turn: id, Requester: "1", At: time.Now()},
		sessions.PromptBuilt{System: "You are a benchmark.", Tools: declared}, sessions.UserMessage{Turn: id, Message: user})
	if err != nil {
		b.Fatal(err)
	}
	limits := loop.DefaultLimits()
	limits.RepeatThreshold = 1000
	runner := &loop.Runner{Model: p.model, Limits: limits}
	outcome := runner.Run(context.Background(), loop.Turn{
		ID: id, Journal: j, Tools: registry, Scope: tools.Scope{Conversation: "bench", Turn: id, Work: b.TempDir()},
	})
	if outcome.Reason != loop.EndAnswered {
		b.Fatalf("the turn ended by %q: %v", outcome.Reason, outcome.Err)
	}
}

// BenchmarkTurnInMemory: a 30-round turn with a model without latency against a bare client that makes the same 30
// calls. Goal: at most 1.3.
func BenchmarkTurnInMemory(b *testing.B) {
	p, registry := newProvider(b), echo(b)
	p.turn(b, memory.New(), "bench/0", registry)
	bodies := p.take()
	pairs(b, 15,
		func() { p.turn(b, memory.New(), "bench/0", registry); p.take() },
		func() { p.bare(b, bodies, func() {}) })
}

// BenchmarkTurnOnDisk: the same with bbolt, against a bare client that makes the same calls and as many bare commits of
// about the same size. Goal: at most 1.2.
func BenchmarkTurnOnDisk(b *testing.B) {
	p, registry := newProvider(b), echo(b)
	store, err := bolt.Open(filepath.Join(b.TempDir(), "ours.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	bare, err := bbolt.Open(filepath.Join(b.TempDir(), "bare.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	commits := p.turn(b, store, "bench/0", registry)
	bodies := p.take()
	n, row, done := 0, 0, 0
	commit := func() { // spread as evenly over the calls as the turn's are
		for ; done < commits*(row+1)/rounds; done++ {
			err := bare.Update(func(tx *bbolt.Tx) error {
				bucket, err := tx.CreateBucketIfNotExists([]byte("records"))
				if err != nil {
					return err
				}
				key := []byte(fmt.Sprintf("%d/%d", n, done))
				return bucket.Put(key, make([]byte, 300))
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		row++
	}
	pairs(b, 7,
		func() { n++; p.turn(b, store, sessions.Key("bench/"+strconv.Itoa(n)), registry); p.take() },
		func() { row, done = 0, 0; p.bare(b, bodies, commit) })
	b.ReportMetric(float64(commits), "commits")
}

// BenchmarkRoundLateInSession: a turn at message 5,000 of a session against one at message 50; the model is not behind
// HTTP here, so that the request's own size does not count. Goal: at most 1.2.
func BenchmarkRoundLateInSession(b *testing.B) {
	registry := echo(b)
	early, late := filled(b, 50), filled(b, 5000)
	p := &provider{model: instant{}}
	pairs(b, 15, func() { p.turnOn(b, late, registry) }, func() { p.turnOn(b, early, registry) })
}

// filled returns a conversation of n messages.
func filled(b *testing.B, n int) *journal {
	j := newJournal(b, memory.New(), "bench/filled")
	for i := range n / 2 {
		id := "f" + strconv.Itoa(i)
		err := j.Append(context.Background(),
			sessions.TurnStarted{Turn: id, Requester: "1"},
			sessions.UserMessage{Turn: id, Message: sessions.Message{Role: sessions.RoleUser, Text: "What about this?"}},
			sessions.AssistantMessage{Turn: id, Message: sessions.Message{Role: sessions.RoleAssistant, Text: "This is so."}, Usage: sessions.Usage{Input: 10 * i, Output: 5}},
			sessions.TurnEnded{Turn: id, Reason: "answered"})
		if err != nil {
			b.Fatal(err)
		}
	}
	return j
}

// instant answers from memory: a tool call a round, and a text in the last.
type instant struct{}

func (instant) Name() string { return "instant" }

func (instant) Call(_ context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	n := 0
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role != sessions.RoleUser; i-- {
		if req.Messages[i].Role == sessions.RoleAssistant {
			n++
		}
	}
	reply := loop.Reply{Finish: loop.FinishStop, Message: sessions.Message{Role: sessions.RoleAssistant, Text: "Done."}}
	if n < rounds-1 {
		reply.Finish, reply.Message.Text = loop.FinishTools, ""
		reply.Message.ToolCalls = []sessions.ToolCall{{ID: "c" + strconv.Itoa(n), Name: "echo", Arguments: `{"text":"` + strconv.Itoa(n) + `"}`}}
		return reply, nil
	}
	onText(reply.Message.Text)
	return reply, nil
}
