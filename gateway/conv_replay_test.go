package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/loop/recording"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// replays plays the recordings of all turns again: whatever happened in a script, models, tools and people who say the same
// lead the loop to the same requests, transitions and log entries.
func (r *rig) replays() {
	delegation, err := agenttools.NewDelegation(agenttools.Delegation{MaxIterations: 5, MaxParallel: 2})
	if err != nil {
		r.t.Fatal(err)
	}
	clarify, err := agenttools.NewClarify()
	if err != nil {
		r.t.Fatal(err)
	}
	for key, err := range r.store.Keys(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		for _, turn := range r.turns(key) {
			r.replay(key, turn, append(delegation, clarify...))
		}
	}
}

func (r *rig) replay(key sessions.Key, turn string, live []tools.Tool) {
	unchanged := func(text string) string { return text }
	var file bytes.Buffer
	open := func(turn string) (io.ReadCloser, error) { return r.recordings.Open(key, turn) }
	n, err := recording.Export(&file, r.store.History(context.Background(), key, 0), []string{turn}, open, unchanged)
	if err != nil {
		r.t.Errorf("export turn %s: %v", turn, err)
	}
	if n == 0 {
		return // it was stopped before the loop took it up
	}
	_, err = recording.Replay(context.Background(), bytes.NewReader(file.Bytes()), live, loop.WithoutSecrets)
	var cut *recording.Cut
	if errors.As(err, &cut) && !r.over(key, turn) {
		return // it is still to go on
	}
	if err != nil {
		r.t.Errorf("turn %s played again: %v", turn, err)
	}
}

// over tells whether a turn has ended.
func (r *rig) over(key sessions.Key, turn string) bool {
	for record, err := range r.store.History(context.Background(), key, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range record.Entries {
			if e, ok := e.(sessions.TurnEnded); ok && e.Turn == turn {
				return true
			}
		}
	}
	return false
}

// turns returns the turns of a conversation, in order.
func (r *rig) turns(key sessions.Key) (all []string) {
	for record, err := range r.store.History(context.Background(), key, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range record.Entries {
			if e, ok := e.(sessions.TurnStarted); ok {
				all = append(all, e.Turn)
			}
		}
	}
	return all
}
