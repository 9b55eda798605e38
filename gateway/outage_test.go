package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// TestPlatformTakenAway: what was accepted on a platform that is not configured any more waits for its return.
func TestPlatformTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat, other := newFakeChat("test"), newFakeChat("other")
		b := newBench(t, memory.New(), other, chat)
		b.start()
		other.say("alice", "e1", "m1 slow")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.chats = []*fakeChat{chat}
		b.start()
		chat.say("alice", "e2", "m2")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m2.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.chats = []*fakeChat{other, chat}
		b.start()
		time.Sleep(time.Minute)
		other.want(t, 1, "re: m1.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// TestDeadPlatform: a platform that only the operator can cure harms no other, and what it was to say waits for the cure.
func TestDeadPlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat, dead := newFakeChat("test"), newFakeChat("dead")
		b := newBench(t, memory.New(), chat, dead)
		b.start()
		dead.setSpoil(func(call string, _ platforms.Outgoing) error {
			return &platforms.Error{Class: platforms.Fatal, Op: "test " + call}
		})
		dead.say("alice", "e1", "m1 slow")
		dead.fail(&platforms.Error{Class: platforms.Fatal, Op: "test run"})
		chat.say("alice", "e2", "m2 tool")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m2.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		dead.setSpoil(nil)
		b.start()
		time.Sleep(2 * time.Minute)
		dead.want(t, 1, "re: m1.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// TestRefusedByAll: a platform that refuses every call for minutes gets everything in the end, in order and once.
func TestRefusedByAll(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		until := time.Now().Add(5 * time.Minute)
		chat.setSpoil(func(call string, _ platforms.Outgoing) error {
			if time.Now().Before(until) {
				return &platforms.Error{Class: platforms.RateLimited, Op: "test " + call, Wait: 7 * time.Second}
			}
			return nil
		})
		b.start()
		for i, text := range []string{"m0 tool", "m1 parts", "/status", "m2 ask"} {
			chat.say("alice", fmt.Sprint("e", i), text)
		}
		time.Sleep(time.Hour)
		for _, text := range []string{"re: m0.", "re: m1.", "part two", "part three", "Busy mode", "re: m2."} {
			chat.want(t, 1, text)
		}
	})
}

// TestStopWhileSending: an answer whose sending ends badly while the gateway shuts down is in doubt at the next start.
func TestStopWhileSending(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		lose := vanish("send", "re: m1", 1)
		chat.setSpoil(func(call string, out platforms.Outgoing) error {
			if strings.Contains(out.Text, "re: m1") {
				time.Sleep(3 * time.Second)
			}
			return lose(call, out)
		})
		b.start()
		chat.say("alice", "e1", "m1")
		time.Sleep(time.Second)
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.start()
		time.Sleep(time.Minute)
		chat.want(t, 0, "re: m1")
		chat.want(t, 1, "If it is missing")
	})
}

// TestSlowBubbleAndTornLog: a progress message that is still being posted when its turn cannot be written down.
func TestSlowBubbleAndTornLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		chat.setSpoil(func(call string, out platforms.Outgoing) error {
			if call == "send" && strings.HasPrefix(out.Text, "**Working") {
				time.Sleep(7 * time.Second)
			}
			return nil
		})
		store := &faulty{Store: memory.New(), consumed: map[sessions.ItemID]int{}}
		failed := false
		store.fails = func(_ int, c sessions.Commit) (bool, bool) {
			a, ok := c.(sessions.Append)
			first := ok && !failed && len(a.Record.Consumed) > 0
			failed = failed || first
			return first, false
		}
		b := newBench(t, store, chat)
		b.start()
		chat.say("alice", "e1", "m1 tool")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// TestErasedWhileItWaits: an answer whose conversation is erased before the platform takes it is not sent any more, and does
// not count as on its way for ever.
func TestErasedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		b := newBench(t, memory.New(), chat)
		b.erased = true
		b.start()
		chat.setSpoil(func(call string, _ platforms.Outgoing) error {
			return &platforms.Error{Class: platforms.RateLimited, Op: "test " + call, Wait: time.Hour}
		})
		chat.say("alice", "e1", "m1")
		time.Sleep(time.Minute)
		e, err := b.gateway.Eraser(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Delete(t.Context(), "test/a/dm/alice"); err != nil {
			t.Error(err)
		}
		chat.setSpoil(nil)
		chat.say("alice", "e2", "m2")
		time.Sleep(2 * time.Hour)
		chat.want(t, 1, "re: m2.")
		if n := chat.count("alice", "re: m1."); n != 0 {
			t.Errorf("what was erased was sent %d times", n)
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		if n := b.counts.rows; n != 0 {
			t.Errorf("by what was counted %d answers are on their way", n)
		}
		b.check()
	})
}

// TestStopWhileFrozen: a chat in which the platform lets nobody write for hours does not hold up the end of the program.
func TestStopWhileFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		b := newBench(t, memory.New(), chat)
		b.start()
		chat.setSpoil(func(call string, _ platforms.Outgoing) error {
			return &platforms.Error{Class: platforms.RateLimited, Op: "test " + call, Wait: time.Hour}
		})
		chat.say("alice", "e1", "m1")
		time.Sleep(time.Minute)
		began := time.Now()
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
		chat.setSpoil(nil)
		b.start()
		time.Sleep(2 * time.Hour)
		chat.want(t, 1, "re: m1.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}
