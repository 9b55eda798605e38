package gateway_test

import (
	"testing"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
)

// TestStopReachesWhatWaits: /stop and /new end what waits as well as what runs, and say so.
func TestStopReachesWhatWaits(t *testing.T) {
	for _, busy := range []gateway.Busy{gateway.Queue, gateway.Interrupt} {
		for _, command := range []string{"/stop", "/new"} {
			t.Run(string(busy)+command, func(t *testing.T) {
				inBubble(t, func(b *bench, chat *fakeChat) {
					b.cfg.Busy, b.cfg.Debounce = busy, 2*time.Second
					b.start()
					chat.say("alice", "e1", "m1")
					chat.say("alice", "e2", command)
					time.Sleep(time.Minute)
					if n := len(b.model.asked()); n > 0 {
						t.Errorf("the model was called for %d messages", n)
					}
					chat.want(t, 1, "1 message that was waiting will not be answered")

					chat.say("alice", "e3", "m3 slow")
					time.Sleep(4 * time.Second)
					chat.say("alice", "e4", "m4")
					chat.say("alice", "e5", "m5")
					chat.say("alice", "e6", command)
					chat.say("alice", "e7", "m7")
					time.Sleep(time.Minute)
					chat.want(t, 1, "2 messages that were waiting will not be answered")
					for _, m := range []string{"re: m3", "re: m4", "m5."} {
						chat.want(t, 0, m)
					}
					chat.want(t, 1, "re: m7.")
				})
			})
		}
	}
}

// TestStopOfAResumedTurn: a turn that waits for a worker after a restart is stopped at once, although all are busy.
func TestStopOfAResumedTurn(t *testing.T) {
	for range 8 { // which of the two gets the worker is chance
		inBubble(t, func(b *bench, chat *fakeChat) {
			b.start()
			chat.say("alice", "e1", "m1 slow")
			chat.say("bob", "e2", "m2 slow")
			time.Sleep(time.Second)
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			b.cfg.Workers = 1
			b.start()
			time.Sleep(time.Second)
			chat.say("alice", "e3", "/stop")
			time.Sleep(time.Second)
			chat.want(t, 1, "Stopped. Send")
			time.Sleep(time.Minute)
			if n := chat.count("bob", "re: m2."); n != 1 {
				t.Errorf("bob was answered %d times", n)
			}
		})
	}
}

// TestResumedWithoutPermission: a turn whose starter was taken off the list ends at the next start, before any model call.
func TestResumedWithoutPermission(t *testing.T) {
	for range 20 {
		inBubble(t, func(b *bench, chat *fakeChat) {
			b.start()
			chat.say("alice", "e1", "m1 slow")
			time.Sleep(2 * time.Second)
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			b.model.forget()
			b.cfg.Access.Users = map[platforms.Name][]string{"test": {"bob"}}
			b.start()
			time.Sleep(time.Minute)
			if asked := b.model.asked(); len(asked) > 0 {
				t.Errorf("the model was called: %q", asked)
			}
			chat.want(t, 0, "re: m1")
		})
	}
}
