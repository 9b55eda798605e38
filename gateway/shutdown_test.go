package gateway_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
	"github.com/talaria-agent/talaria/tools"
)

// TestShutdownIsBounded: however much hangs, a call to a platform that does not end and a tool that does not stop, the end
// comes within the grace, and the next start goes on with what was left.
func TestShutdownIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		b := newBench(t, memory.New(), chat)
		stuck := make(chan struct{})
		var hangs atomic.Bool
		hangs.Store(true)
		chat.setSpoil(func(call string, out platforms.Outgoing) error {
			if hangs.Load() && (call == "edit" || out.Key != "") {
				<-stuck
				return &platforms.Error{Class: platforms.OutcomeUnknown, Op: "test " + call}
			}
			return nil
		})
		b.tools = []tools.Tool{deafTool(t, stuck)}
		b.erased = true // what hangs goes on counting
		b.start()
		chat.say("alice", "e1", "m1")      // its answer hangs
		chat.say("bob", "e2", "m2 mark x") // its tool hangs, and its progress message
		time.Sleep(3 * time.Second)
		began := time.Now()
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > b.cfg.Grace {
			t.Errorf("it took %s to end", took)
		}
		hangs.Store(false)
		close(stuck)
		synctest.Wait()
		b.start()
		time.Sleep(5 * time.Minute)
		chat.want(t, 1, "If it is missing") // this platform cannot be asked what became of the answer
		if n := chat.count("bob", "re: m2."); n != 1 {
			t.Errorf("the parked turn was answered %d times", n)
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// deafTool does not stop when it is told to.
func deafTool(t *testing.T, stuck <-chan struct{}) tools.Tool {
	t.Helper()
	type args struct {
		Name string `json:"name"`
	}
	tool, err := tools.New(tools.Spec{Name: "mark", Toolset: "test", Description: "Hangs.", Risk: tools.Writes},
		func(context.Context, tools.Scope, args) (tools.Result, error) {
			<-stuck
			return tools.Result{Text: "late"}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// TestCrashLoop: who crashes over and over connects ever more slowly; an end on purpose, or a long life, ends that.
func TestCrashLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryOf{Store: memory.New()}
		life := func(lives time.Duration, crash bool) (connected time.Duration) {
			chat := newFakeChat("test")
			b := newBench(t, store, chat)
			b.cfg.CrashPause = 5 * time.Minute
			began := time.Now()
			store.dead.Store(false)
			b.start()
			<-chat.arrived
			connected = time.Since(began)
			time.Sleep(lives)
			store.dead.Store(crash)
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			return connected
		}
		var pauses []time.Duration
		for range 16 {
			pauses = append(pauses, life(time.Second, true))
		}
		for n, pause := range pauses {
			want := time.Duration(0)
			if n > 5 {
				want = min(time.Second<<(n-6), 5*time.Minute)
			}
			if pause != want {
				t.Errorf("start %d connected after %s, want %s", n+1, pause, want)
			}
		}
		if pause := life(time.Second, false); pause != 5*time.Minute {
			t.Errorf("after many crashes it connected after %s", pause)
		}
		if pause := life(time.Second, true); pause != 0 {
			t.Errorf("after an end on purpose it connected after %s", pause)
		}
		for range 5 {
			life(11*time.Minute, true)
		}
		if pause := life(time.Second, false); pause != 0 {
			t.Errorf("after crashes with long lives between it connected after %s", pause)
		}
	})
}

// memoryOf is a store that forgets nothing and, while its process is dead, takes nothing.
type memoryOf struct {
	sessions.Store
	dead atomic.Bool
}

func (m *memoryOf) Commit(ctx context.Context, c sessions.Commit) (sessions.Revision, error) {
	if m.dead.Load() {
		return 0, sessions.ErrClosed
	}
	return m.Store.Commit(ctx, c)
}
