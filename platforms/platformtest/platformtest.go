// Package platformtest is the contract suite of the adapters: what the gateway relies on, checked for each platform
// over its simulator, in virtual time. An adapter's own tests add what only its platform has.
package platformtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// Harness makes what the suite runs on.
type Harness struct {
	// New starts a simulator and an adapter on it, for one case, inside a testing/synctest bubble. It registers its
	// teardown with t.Cleanup; by then the suite has ended the adapter's Run.
	New func(t *testing.T) Fixture
}

// Fixture is one simulator with its adapter, not yet running. The people and places in it must exist.
type Fixture struct {
	Stage   sim.Stage
	Adapter platforms.Adapter

	User string            // a person's id
	Chat string            // the person's direct chat with the bot, as the Stage names it
	At   platforms.Address // the same chat, as the adapter names it

	// TypingAt tells where typing shows after the person's message, where that is not At; nil = it is.
	TypingAt func(messageID string) platforms.Address

	Group string // a shared chat with the person in it, as the Stage names it; empty = no such cases

	Forbid func() // makes the platform refuse messages to the chat for good; nil = no such case
	Fatal  func() // makes the platform refuse the bot's credentials from now on; nil = no such case

	// Methods as faults name them; an empty one matches every call.
	Send, Edit string

	Settle time.Duration // virtual time that the adapter needs to connect; 0 = a second
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for _, c := range cases() {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			synctest.Test(t, func(t *testing.T) {
				c.run(t, start(t, h))
			})
			goleak.VerifyNone(t, before)
		})
	}
}

// running is a fixture whose adapter runs.
type running struct {
	Fixture
	stop  context.CancelFunc
	ended chan error // what Run returned

	mu   sync.Mutex
	got  []platforms.Update // what the sink has accepted
	sink func(platforms.Update) (platforms.Receipt, error)
}

// start runs the adapter with a sink that accepts everything, until the case or the test ends.
func start(t *testing.T, h Harness) *running {
	r := &running{Fixture: h.New(t), ended: make(chan error, 1)}
	if r.Settle == 0 {
		r.Settle = time.Second
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.ended <- r.Adapter.Run(ctx, r.accept)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	time.Sleep(r.Settle)
	return r
}

// accept is the sink.
func (r *running) accept(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
	r.mu.Lock()
	sink := r.sink
	r.mu.Unlock()
	var receipt platforms.Receipt
	if sink != nil {
		var err error
		if receipt, err = sink(u); err != nil {
			return receipt, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, u)
	return receipt, nil
}

// onUpdate puts a function before the sink's acceptance.
func (r *running) onUpdate(f func(platforms.Update) (platforms.Receipt, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sink = f
}

// say writes as the person and returns the message's id.
func (r *running) say(t *testing.T, text string) string {
	t.Helper()
	id, err := r.Stage.Say(sim.Say{User: r.User, Chat: r.Chat, Text: text})
	if err != nil {
		t.Fatalf("the person could not say %q: %v", text, err)
	}
	return id
}

// sayInGroup writes as the person in the shared chat and returns what the sink accepted of it, without duplicates.
func (r *running) sayInGroup(t *testing.T, say sim.Say) []*platforms.Message {
	t.Helper()
	if r.Group == "" {
		t.Skip("no shared chat in the fixture")
	}
	say.User, say.Chat = r.User, r.Group
	if _, err := r.Stage.Say(say); err != nil {
		t.Fatalf("the person could not say %q: %v", say.Text, err)
	}
	var messages []*platforms.Message
	seen := map[string]bool{}
	for _, u := range r.accepted(5 * time.Second) {
		if m, ok := u.(*platforms.Message); ok && !seen[m.Native] {
			messages = append(messages, m)
			seen[m.Native] = true
		}
	}
	return messages
}

// accepted waits for a virtual while and returns what the sink has accepted.
func (r *running) accepted(wait time.Duration) []platforms.Update {
	time.Sleep(wait)
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]platforms.Update(nil), r.got...)
}

// send posts and fails the test on an error.
func (r *running) send(t *testing.T, out platforms.Outgoing) string {
	t.Helper()
	id, err := r.Adapter.Send(t.Context(), r.At, out)
	if err != nil {
		t.Fatalf("send %q: %v", out.Text, err)
	}
	if id == "" {
		t.Fatalf("send %q returned no message id", out.Text)
	}
	return id
}

// mine returns the bot's visible messages.
func (r *running) mine() []sim.Message {
	var mine []sim.Message
	for _, m := range r.Stage.Visible(r.Chat) {
		if m.User == sim.Bot {
			mine = append(mine, m)
		}
	}
	return mine
}

// wantClass checks an error's class, and that it is a *platforms.Error.
func wantClass(t *testing.T, what string, err error, class platforms.Class) {
	t.Helper()
	var e *platforms.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: error %v is not a *platforms.Error", what, err)
	}
	if e.Class != class {
		t.Fatalf("%s: error %v has class %q, want %q", what, err, e.Class, class)
	}
}
