package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// faulty is a store whose commits can fail: before anything was done, or after, so that only the caller does not know.
type faulty struct {
	sessions.Store
	fails func(n int, c sessions.Commit) (before, after bool)
	err   error // that commits fail with; nil = errFaulty

	mu       sync.Mutex
	n        int
	hit      string
	consumed map[sessions.ItemID]int
}

var errFaulty = errors.New("the disk is in trouble")

func (f *faulty) Commit(ctx context.Context, c sessions.Commit) (sessions.Revision, error) {
	f.mu.Lock()
	f.n++
	before, after := f.fails(f.n, c)
	if before || after {
		f.hit = fmt.Sprintf("%T", c)
		if m, ok := c.(sessions.Mark); ok {
			f.hit += fmt.Sprintf(" %s -> %s", m.From, m.To.State)
		}
	}
	f.mu.Unlock()
	if before && f.err != nil {
		return 0, f.err
	}
	if before {
		return 0, errFaulty
	}
	rev, err := f.Store.Commit(ctx, c)
	if a, ok := c.(sessions.Append); ok && err == nil {
		f.mu.Lock()
		for _, id := range a.Record.Consumed {
			f.consumed[id]++
		}
		f.mu.Unlock()
	}
	if after && err == nil {
		return 0, errFaulty
	}
	return rev, err
}

// TestStoreErrors lets every single commit of a conversation fail once, and then three in a row: nothing is lost, nothing
// comes twice, and the gateway goes on when the store does. If the disk was full, those whose messages could not be taken
// are told.
func TestStoreErrors(t *testing.T) {
	for _, kind := range []string{"before", "after", "full"} {
		for _, length := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", kind, length), func(t *testing.T) {
				for n := 1; ; n++ {
					var total int
					var hit string
					ok := t.Run(fmt.Sprint(n), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { total, hit = failCommit(t, kind, n, length) })
					})
					if !ok {
						t.Logf("the commit that failed: %s", hit)
					}
					if n >= total {
						return
					}
				}
			})
		}
	}
}

func failCommit(t *testing.T, kind string, n, length int) (total int, hit string) {
	store := &faulty{Store: memory.New(), consumed: map[sessions.ItemID]int{}}
	if kind == "full" {
		store.err = sessions.ErrFull
	}
	var refused atomic.Bool
	store.fails = func(at int, c sessions.Commit) (bool, bool) {
		hit := at >= n && at < n+length
		_, accept := c.(sessions.Accept)
		if hit && accept {
			refused.Store(true)
		}
		return hit && kind != "after", hit && kind == "after"
	}
	chat := newFakeChat("test")
	b := newBench(t, store, chat)
	b.start()
	said := make(chan struct{})
	go func() {
		defer close(said)
		chat.say("alice", "e1", "m1 tool")
		chat.say("alice", "e2", "m2 parts")
		chat.say("alice", "e3", "/status")
		chat.say("bob", "e4", "m3")
	}()
	time.Sleep(2 * time.Minute)
	<-said
	chat.say("alice", "e5", "/new")
	chat.say("alice", "e6", "m4")
	time.Sleep(5 * time.Minute)
	for user, texts := range map[string][]string{
		"alice": {"re: m1.", "re: m2.", "part two", "part three", "Busy mode", "New session", "re: m4."}, "bob": {"re: m3."},
	} {
		for _, text := range texts {
			if c := chat.count(user, text); c != 1 {
				t.Errorf("%q was posted %d times", text, c)
			}
		}
	}
	for _, id := range []sessions.ItemID{"e1", "e2", "e3", "e4", "e5", "e6"} {
		if store.consumed[id] != 1 {
			t.Errorf("%s was consumed %d times", id, store.consumed[id])
		}
	}
	told := chat.count("alice", "I cannot take your message") + chat.count("bob", "I cannot take your message")
	waits := chat.count("alice", "I have your message, but my disk is full")
	if waits > 1 || waits > 0 && kind != "full" {
		t.Errorf("that a message waits for room was said %d times", waits)
	}
	refusals := refused.Load() && kind == "full"
	if told > 0 && !refusals || refusals && told+waits == 0 || told > 2 { // who knows of the full disk is not told again
		t.Errorf("a message was refused: %t; that was said %d times", refused.Load(), told)
	}
	if err := b.stop(); err != nil {
		t.Error(err)
	}
	b.check()
	return store.n, store.hit
}

var _ platforms.Editor = (*fakeChat)(nil)
