package bench

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/metrics"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/recording"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/telegram"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// house is a gateway as the program makes it: with bbolt, recordings, figures, a log that is written to nowhere, and the
// tools for files.
type house struct {
	store   *counted
	gateway *gateway.Gateway
	stop    func() // ends it and waits
}

// counted is a store that counts what is committed.
type counted struct {
	sessions.Store
	commits atomic.Int64
}

func (c *counted) Commit(ctx context.Context, what sessions.Commit) (sessions.Revision, error) {
	c.commits.Add(1)
	return c.Store.Commit(ctx, what)
}

// newHouse runs a gateway over a database. It ends with the benchmark, if not before.
func newHouse(b *testing.B, database string, adapter platforms.Adapter, model loop.Model) *house {
	store, err := bolt.Open(database)
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	folder, registry := filepath.Dir(database), equip(b)
	const window = 128_000
	runner := &loop.Runner{Model: model, Limits: loop.DefaultLimits(), Compressor: loop.NewCompressor(model, window, 0), Log: log}
	h := &house{store: &counted{Store: store}}
	h.gateway, err = gateway.New(gateway.Config{
		Access:  gateway.Access{Users: map[platforms.Name][]string{adapter.Name(): {gateway.Anyone}}},
		Workers: 8, Busy: gateway.Interrupt, Window: window, CompressAt: 0.85, Progress: gateway.ProgressAll,
		EditEvery: 1500 * time.Millisecond, WorkRoot: filepath.Join(folder, "work"), Grace: 10 * time.Second,
	}, gateway.Parts{
		Store: h.store, Adapters: []platforms.Adapter{adapter}, Tools: registry, Compressor: runner, Log: log, Runner: runner,
		Recorder: &recording.Folder{Path: filepath.Join(folder, "recordings"), Max: 1 << 30},
		Observe:  metrics.New("bench").Observe,
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.gateway.Run(ctx) }()
	h.stop = func() {
		if ctx.Err() != nil {
			return
		}
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	}
	b.Cleanup(h.stop)
	return h
}

// inTown runs a gateway whose platform is a town.
func inTown(b *testing.B, t *town, model loop.Model) *house {
	unlimited := platforms.NewPacer(func(string) platforms.Limit { return platforms.Limit{} })
	adapter, err := telegram.New(telegram.Config{Token: t.stage.Token(), APIURL: t.server.URL, Pacer: unlimited})
	if err != nil {
		b.Fatal(err)
	}
	return newHouse(b, filepath.Join(b.TempDir(), "talaria.db"), adapter, model)
}
