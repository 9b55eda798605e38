package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// withHomes runs a test over two platforms that each have a home, olivia's chat.
func withHomes(t *testing.T, store sessions.Store, test func(b *bench, one, two *fakeChat)) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newFakeChat("one"), newFakeChat("two")
		b := newBench(t, store, one, two)
		b.cfg.Homes = []platforms.Address{{Platform: "one", Chat: "olivia"}, {Platform: "two", Chat: "olivia"}}
		b.start()
		test(b, one, two)
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// TestOwnerHearsOfDeadPlatform: on another platform, with the cure, once however often the program is started.
func TestOwnerHearsOfDeadPlatform(t *testing.T) {
	withHomes(t, memory.New(), func(b *bench, one, two *fakeChat) {
		for range 2 {
			one.fail(&platforms.Error{Class: platforms.Fatal, Op: "test run"})
			time.Sleep(time.Minute)
			if err := b.stop(); err != nil {
				b.t.Error(err)
			}
			b.start()
		}
		if n := two.count("olivia", "One is off until the cause is cured and the program restarted: test run: fatal"); n != 1 {
			b.t.Errorf("told %d times", n)
		}
		if n := len(one.all()); n != 0 {
			b.t.Errorf("told where nothing can be said: %s", one)
		}
	})
}

// TestOwnerHearsOfPenalty: on the other platform; and when that makes us wait for the notice, nothing follows from it.
func TestOwnerHearsOfPenalty(t *testing.T) {
	withHomes(t, memory.New(), func(b *bench, one, two *fakeChat) {
		until := time.Now().Add(3 * time.Hour)
		wait := func(call string, _ platforms.Outgoing) error {
			if left := time.Until(until); left > 0 {
				return &platforms.Error{Class: platforms.RateLimited, Op: "test " + call, Wait: left}
			}
			return nil
		}
		one.setSpoil(wait)
		two.setSpoil(wait)
		one.say("alice", "e1", "m1")
		one.say("bob", "e2", "m2")
		time.Sleep(4 * time.Hour)
		if n := two.count("olivia", "One does not let me write in the chat `alice`") + two.count("olivia", "One does not let me write in the chat `bob`"); n != 1 {
			b.t.Errorf("told %d times", n)
		}
		if n := len(one.all()); n != 2 {
			b.t.Errorf("one shows %s", one)
		}
	})
}

// TestOwnerHearsOfFullDisk: when there is room again.
func TestOwnerHearsOfFullDisk(t *testing.T) {
	full := true
	store := &faulty{Store: memory.New(), err: sessions.ErrFull, consumed: map[sessions.ItemID]int{}}
	store.fails = func(_ int, c sessions.Commit) (bool, bool) {
		_, accept := c.(sessions.Accept)
		return accept && full, false
	}
	withHomes(t, store, func(b *bench, one, two *fakeChat) {
		go one.say("alice", "e1", "m1")
		time.Sleep(20*time.Minute - 500*time.Millisecond)
		store.mu.Lock()
		full = false
		store.mu.Unlock()
		time.Sleep(time.Minute)
		one.want(b.t, 1, "re: m1.")
		if n := one.count("olivia", "My disk was full for 20 min 00 s, "); n != 1 {
			b.t.Errorf("told %d times: %s", n, b.log)
		}
	})
}

// TestHomeOfNobody: who is no admin any more is told nothing, not even what was written down for him before.
func TestHomeOfNobody(t *testing.T) {
	withHomes(t, memory.New(), func(b *bench, one, two *fakeChat) {
		restart := func(admins ...string) {
			if err := b.stop(); err != nil {
				b.t.Error(err)
			}
			b.cfg.Access.Admins = map[platforms.Name][]string{"two": admins}
			b.start()
		}
		restart("alice")
		two.say("alice", "e1", "/sethome")
		time.Sleep(time.Minute)
		two.setSpoil(func(call string, out platforms.Outgoing) error {
			if strings.Contains(out.Text, "is off until") {
				return &platforms.Error{Class: platforms.RateLimited, Op: "test " + call, Wait: time.Hour}
			}
			return nil
		})
		one.fail(&platforms.Error{Class: platforms.Fatal, Op: "test run"})
		time.Sleep(time.Minute)
		restart()
		two.setSpoil(nil)
		time.Sleep(2 * time.Hour)
		if n := two.count("alice", "is off until") + two.count("olivia", "is off until"); n != 0 {
			b.t.Errorf("told %d times", n)
		}
		if !strings.Contains(b.log.String(), "this is not where the owner is told any more") {
			b.t.Error("the notice was never written down")
		}
	})
}

// TestRefusedHome: what one home does not take is told in the next, once, also if the program is started anew.
func TestRefusedHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead, one, two := newFakeChat("dead"), newFakeChat("one"), newFakeChat("two")
		b := newBench(t, memory.New(), dead, one, two)
		b.cfg.Homes = []platforms.Address{{Platform: "one", Chat: "olivia"}, {Platform: "two", Chat: "olivia"}}
		b.start()
		one.setSpoil(func(call string, _ platforms.Outgoing) error {
			return &platforms.Error{Class: platforms.Forbidden, Op: "test " + call}
		})
		for range 2 {
			dead.fail(&platforms.Error{Class: platforms.Fatal, Op: "test run"})
			time.Sleep(time.Minute)
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			b.start()
		}
		if n := two.count("olivia", "Dead is off until the cause is cured"); n != 1 {
			t.Errorf("told %d times", n)
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}
