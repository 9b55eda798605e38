package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/recording"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
	"github.com/talaria-agent/talaria/sessions/memory"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/files"
)

// equip returns a tool that echoes, and those for files, so that as much is declared as in use.
func equip(b *testing.B) *tools.Registry {
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
	secrets, err := files.NewSecrets(nil)
	if err != nil {
		b.Fatal(err)
	}
	all, err := files.New(secrets)
	if err != nil {
		b.Fatal(err)
	}
	registry, err := tools.NewRegistry(append(all, tool)...)
	if err != nil {
		b.Fatal(err)
	}
	return registry
}

// turn runs one whole turn in a conversation of its own and returns how many commits it took.
func (p *provider) turn(b *testing.B, store sessions.Store, key sessions.Key, registry *tools.Registry) int {
	j := newJournal(b, store, key)
	p.run(b, open(b, j, registry))
	return j.commits
}

// open begins a turn in a journal.
func open(b *testing.B, j loop.Journal, registry *tools.Registry) loop.Turn {
	declared, err := loop.Declare(registry)
	if err != nil {
		b.Fatal(err)
	}
	id := fmt.Sprintf("t%d", j.Session().Revision)
	user := sessions.Message{Role: sessions.RoleUser, Text: "go"}
	err = j.Append(context.Background(), sessions.TurnStarted{Turn: id, Requester: "1"},
		sessions.PromptBuilt{System: "You are a benchmark.", Tools: declared}, sessions.UserMessage{Turn: id, Message: user})
	if err != nil {
		b.Fatal(err)
	}
	return loop.Turn{ID: id, Journal: j, Tools: registry, Scope: tools.Scope{Conversation: "bench", Turn: id, Work: b.TempDir()}}
}

// run runs a turn to its answer.
func (p *provider) run(b *testing.B, work loop.Turn) loop.Outcome {
	limits := loop.DefaultLimits()
	limits.RepeatThreshold = 1000
	runner := &loop.Runner{Model: p.model, Limits: limits}
	outcome := runner.Run(context.Background(), work)
	if outcome.Reason != loop.EndAnswered {
		b.Errorf("the turn ended by %q: %v", outcome.Reason, outcome.Err)
	}
	return outcome
}

// BenchmarkTurnInMemory: a turn of 30 rounds, with a model without latency and the store in memory, against a bare client
// that works through the same 30 calls (see client). Goal: at most 1.3. Resent is the same against the calls alone (see
// resend). The model's server runs in the same process and costs both sides the same.
func BenchmarkTurnInMemory(b *testing.B) {
	p, registry := newProvider(b), equip(b)
	p.turn(b, memory.New(), "bench/0", registry)
	bodies := p.take()
	ours := func() { p.turn(b, memory.New(), "bench/0", registry); p.take() }
	b.Run("client", func(b *testing.B) {
		pairs(b, 15, ours, func() { p.bare(b, bodies[0], func() {}) })
	})
	b.Run("resent", func(b *testing.B) {
		pairs(b, 15, ours, func() { p.resend(b, bodies, func() {}); p.take() })
	})
}

// bare has a bare client work through a turn.
func (p *provider) bare(b *testing.B, first []byte, between func()) {
	if calls := p.newClient(b, first).turn(b, between); calls != rounds {
		b.Fatalf("the bare client made %d calls", calls)
	}
	p.take()
}

// BenchmarkTurnOnDisk: the same with bbolt, against a bare client that makes as many bare commits of about the same size
// beside its calls. Goal: at most 1.2.
func BenchmarkTurnOnDisk(b *testing.B) {
	p, registry := newProvider(b), equip(b)
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
			if err := bareCommit(bare); err != nil {
				b.Fatal(err)
			}
		}
		row++
	}
	ours := func() { n++; p.turn(b, store, sessions.Key("bench/"+strconv.Itoa(n)), registry); p.take() }
	b.Run("client", func(b *testing.B) {
		pairs(b, 7, ours, func() { row, done = 0, 0; p.bare(b, bodies[0], commit) })
		b.ReportMetric(float64(commits), "commits")
	})
	b.Run("resent", func(b *testing.B) {
		pairs(b, 7, ours, func() { row, done = 0, 0; p.resend(b, bodies, commit); p.take() })
	})
}

// BenchmarkRecording: a turn that is recorded, as all are unless the config says otherwise, against one that is not; both
// with the store in memory. No goal.
func BenchmarkRecording(b *testing.B) {
	p, registry := newProvider(b), equip(b)
	folder := &recording.Folder{Path: b.TempDir(), Max: 1 << 30}
	recorded := func() {
		work, end, err := folder.Begin(context.Background(), loop.Setup{}, open(b, newJournal(b, memory.New(), "bench/0"), registry))
		if err != nil {
			b.Fatal(err)
		}
		if err := end(p.run(b, work)); err != nil {
			b.Fatal(err)
		}
		p.take()
	}
	pairs(b, 15, recorded, func() { p.turn(b, memory.New(), "bench/0", registry); p.take() })
}
