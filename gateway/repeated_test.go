package gateway_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// TestRepeatedUpdateCountsOnce: a platform delivers a message a second time, long after it was answered, while the store is
// in trouble. bench.stop holds the counts against the store.
func TestRepeatedUpdateCountsOnce(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &faulty{Store: memory.New(), consumed: map[sessions.ItemID]int{}}
			trouble := 0
			store.fails = func(_ int, c sessions.Commit) (before, after bool) {
				if _, accepts := c.(sessions.Accept); !accepts || trouble == 0 {
					return false, false
				}
				trouble--
				return !late, late
			}
			chat := newFakeChat("test")
			b := newBench(t, store, chat)
			b.start()
			chat.say("alice", "e1", "m1")
			time.Sleep(time.Minute)
			trouble = 1
			chat.say("alice", "e1", "m1")
			trouble = 2
			chat.say("alice", "e2", "m2")
			time.Sleep(time.Minute)
			for text, want := range map[string]int{"re: m1.": 1, "re: m2.": 1} {
				if n := chat.count("alice", text); n != want {
					t.Errorf("%q was posted %d times", text, n)
				}
			}
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			b.check()
		})
	}
}
