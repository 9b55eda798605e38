package discord

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
)

const (
	token   = "MTAwMDAw.secret.token"
	ann     = "2001"
	bob     = "2002"
	dm      = "3001"
	general = "3002"
	forum   = "3003"
)

// rig is an adapter that runs over a simulator, inside a bubble.
type rig struct {
	t       *testing.T
	sim     *simulator.Server
	adapter *Adapter
	net     *memnet.Listener
	offline atomic.Bool // no connection can be made

	mu      sync.Mutex
	updates []platforms.Update
	fail    int // sink calls that are to fail
	receipt platforms.Receipt
	delay   time.Duration
	ended   error
}

// start serves a simulator and runs an adapter over it until the test ends.
func start(t *testing.T, opts simulator.Options) *rig {
	r := prepare(t, opts)
	r.run()
	return r
}

// prepare is start without running the adapter.
func prepare(t *testing.T, opts simulator.Options) *rig {
	t.Helper()
	opts.Token = token
	if opts.Permissions == 0 {
		opts.Permissions = PermissionBits() // so that every test shows that these are enough
	}
	r := &rig{t: t, sim: simulator.New(opts), net: memnet.Listen()}
	server := &http.Server{Handler: r.sim.Handler()}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(r.net)
	}()
	t.Cleanup(func() {
		r.sim.Close()
		_ = server.Close()
		<-served
	})
	r.sim.AddUser(sim.User{ID: ann, Name: "Ann"})
	r.sim.AddUser(sim.User{ID: bob, Name: "Bob"})
	r.sim.AddChat(sim.Chat{ID: dm, Kind: "dm", Members: []string{ann}})
	r.sim.AddChat(sim.Chat{ID: general, Kind: "channel", Title: "general", Members: []string{ann, bob}})
	r.sim.AddChat(sim.Chat{ID: forum, Kind: "forum", Title: "help", Members: []string{ann, bob}})
	adapter, err := New(Config{Token: token, APIURL: "http://discord.test", Dial: r.dial})
	if err != nil {
		t.Fatal(err)
	}
	r.adapter = adapter
	return r
}

func (r *rig) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if r.offline.Load() {
		return nil, errors.New("network is unreachable")
	}
	return r.net.Dial(ctx, network, address)
}

// run starts the adapter; it is stopped, and waited for, by the returned function and at the end of the test.
func (r *rig) run() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.ended = r.adapter.Run(ctx, r.sink)
	}()
	stop = func() {
		cancel()
		<-done
	}
	r.t.Cleanup(stop)
	r.settle()
	return stop
}

// settle lets a moment of virtual time pass, so that everything that is under way has happened.
func (r *rig) settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

func (r *rig) sink(ctx context.Context, u platforms.Update) (platforms.Receipt, error) {
	r.mu.Lock()
	delay, receipt := r.delay, r.receipt
	if r.fail > 0 {
		r.fail--
		r.mu.Unlock()
		return platforms.Receipt{}, errors.New("the disk is full")
	}
	r.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return platforms.Receipt{}, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates = append(r.updates, u)
	return receipt, nil
}

// take returns what has arrived and forgets it.
func (r *rig) take() []platforms.Update {
	r.settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.updates
	r.updates = nil
	return out
}

// one returns the only update that has arrived.
func one[T platforms.Update](r *rig) T {
	r.t.Helper()
	got := r.take()
	if len(got) != 1 {
		r.t.Fatalf("got %d updates, want 1: %+v", len(got), got)
	}
	u, ok := got[0].(T)
	if !ok {
		r.t.Fatalf("got %T", got[0])
	}
	return u
}

// say makes a person write something.
func (r *rig) say(s sim.Say) string {
	r.t.Helper()
	id, err := r.sim.Say(s)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func at(chat string) platforms.Address {
	return platforms.Address{Platform: platforms.Discord, Account: simulator.Application, Chat: chat}
}

func in(chat, thread string) platforms.Address {
	a := at(chat)
	a.Thread = thread
	return a
}
