package gateway

import (
	"context"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// Recorder writes down what turns get from models, tools and people, so that they can be played again.
type Recorder interface {
	// Begin returns the turn that is to be run instead of work, under ctx, and what is to be told how it came out.
	Begin(ctx context.Context, setup loop.Setup, work loop.Turn) (loop.Turn, func(loop.Outcome) error, error)
	// BeginCompression is Begin for a compression that comes before a turn; work is the turn as it is given to the Compressor.
	BeginCompression(ctx context.Context, setup loop.Setup, work loop.Turn) (loop.Turn, func(sessions.Compaction, error) error, error)
}

// recorded is the turn with its recording, if there is to be one. What goes wrong with it is no matter of the turn's.
func (t *turn) recorded(work loop.Turn) (recorded loop.Turn, ended func(loop.Outcome)) {
	g := t.c.g
	if g.parts.Recorder == nil {
		return work, func(loop.Outcome) {}
	}
	setup := t.settings.Runner.Setup()
	if work.MaxTurns > 0 {
		setup.Limits.MaxTurns = min(setup.Limits.MaxTurns, work.MaxTurns)
	}
	recorded, end, err := g.parts.Recorder.Begin(t.ctx, setup, work)
	if err != nil {
		g.log.Warn("the turn is not recorded", "task", t.id, "error", err)
		return work, func(loop.Outcome) {}
	}
	return recorded, func(o loop.Outcome) {
		if err := end(o); err != nil {
			g.log.Info("the recording of the turn is not complete", "task", t.id, "error", err)
		}
	}
}

// recordedCompression is recorded for a compression that comes before the turn.
func (t *turn) recordedCompression(work loop.Turn) (recorded loop.Turn, ended func(sessions.Compaction, error)) {
	g := t.c.g
	if g.parts.Recorder == nil {
		return work, func(sessions.Compaction, error) {}
	}
	recorded, end, err := g.parts.Recorder.BeginCompression(t.ctx, t.settings.Runner.Setup(), work)
	if err != nil {
		g.log.Warn("the compression before a turn is not recorded", "task", t.id, "error", err)
		return work, func(sessions.Compaction, error) {}
	}
	return recorded, func(c sessions.Compaction, failed error) {
		if err := end(c, failed); err != nil {
			g.log.Info("the recording of the compression before a turn is not complete", "task", t.id, "error", err)
		}
	}
}
