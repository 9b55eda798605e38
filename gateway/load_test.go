package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// TestManyMessages: whoever sends hundreds of messages is told which were not taken; nobody else waits for him.
func TestManyMessages(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.cfg.Workers = 2
		b.start()
		for i := range 500 {
			chat.say("alice", fmt.Sprint("a", i), fmt.Sprintf("m%d slow", i))
		}
		chat.say("bob", "b1", "m1000")
		time.Sleep(time.Second)
		if n := chat.count("bob", "re: m1000."); n != 1 {
			t.Errorf("bob was answered %d times", n)
		}
		time.Sleep(time.Hour)
		refused, notices := 0, 0
		for _, p := range chat.all() {
			if strings.Contains(p.out.Text, "I did not take this one") {
				n, notice := 1, p.out.Text
				_, _ = fmt.Sscanf(notice[strings.LastIndex(notice, "."+" ")+2:], "This goes for %d messages.", &n)
				refused, notices = refused+n, notices+1
			}
		}
		if answered := chat.count("alice", "re: m"); answered+refused != 500 || notices > 3 {
			t.Errorf("%d were answered and %d refused, in %d notices:\n%s", answered, refused, notices, chat)
		}
	})
}

// TestWaitingForPermission: a turn that waits for a person holds no worker.
func TestWaitingForPermission(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.cfg.Workers = 1
		b.start()
		chat.say("alice", "e1", "m1 ask")
		time.Sleep(time.Second)
		chat.say("bob", "e2", "m2 slow")
		time.Sleep(2 * time.Second)
		chat.press("alice", "b1", "Allow")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1.")
		if at := b.model.since("m2"); at == 0 || at > 2*time.Second {
			t.Errorf("bob's turn began after %s", at)
		}
		chat.say("alice", "e3", "m3")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m3.")
	})
}

// TestFairWorkers: somebody who writes in hundreds of threads delays somebody who comes after him by one turn of his.
func TestFairWorkers(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.cfg.Workers, b.cfg.MaxQueuedPerUser = 1, 1000
		b.start()
		for i := range 500 {
			o := chat.direct("alice")
			o.Address.Thread = fmt.Sprint("t", i)
			id := fmt.Sprint("a", i)
			chat.deliver(&platforms.Message{Origin: o, Native: id, ID: id, Text: fmt.Sprintf("m%d slow", i), Mentioned: true, At: time.Now()})
		}
		time.Sleep(7 * time.Second) // in the middle of her second turn
		chat.say("bob", "b1", "m1000 slow")
		chat.say("bob", "b2", "m1001 slow")
		time.Sleep(24 * time.Hour)
		if at := b.model.since("m1000"); at > 11*time.Second {
			t.Errorf("bob's first turn began after %s", at)
		}
		if at := b.model.since("m1001"); at > 21*time.Second {
			t.Errorf("bob's second turn began after %s", at)
		}
		if n := chat.count("alice", "re: m"); n != 500 {
			t.Errorf("alice was answered %d times", n)
		}
	})
}
