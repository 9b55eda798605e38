package discord

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

// TestConnectionsEnd breaks the connection in every way that Discord and the network know. A message written while the
// bot is away must arrive where the session can be resumed, and the next one in any case.
func TestConnectionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		breaks  func(*simulator.Server)
		resumes bool
	}{
		"cut":                      {func(s *simulator.Server) { s.CloseSockets(0) }, true},
		"op 7":                     {func(s *simulator.Server) { s.Reconnect() }, true},
		"op 9, resumable":          {func(s *simulator.Server) { s.Invalidate(true) }, true},
		"op 9, not resumable":      {func(s *simulator.Server) { s.Invalidate(false) }, false},
		"closed with 4000":         {func(s *simulator.Server) { s.CloseSockets(4000) }, true},
		"closed with 4008":         {func(s *simulator.Server) { s.CloseSockets(4008) }, true},
		"closed with 4009":         {func(s *simulator.Server) { s.CloseSockets(4009) }, false},
		"closed with 1001":         {func(s *simulator.Server) { s.CloseSockets(1001) }, false},
		"not JSON, then cut":       {func(s *simulator.Server) { s.Frame("{nonsense"); s.CloseSockets(0) }, true},
		"zombie":                   {func(s *simulator.Server) { s.Zombie(true) }, true},
		"op 1, then cut":           {func(s *simulator.Server) { s.Heartbeat(); s.CloseSockets(0) }, true},
		"unknown opcode, then cut": {func(s *simulator.Server) { s.Frame(`{"op":42}`); s.CloseSockets(0) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, simulator.Options{ResumeURL: "ws://resume.discord.test/resume/"})
				time.Sleep(20 * time.Second) // between two heartbeats
				c.breaks(r.sim)
				away := r.say(sim.Say{User: ann, Chat: dm, Text: "while you were away"})
				time.Sleep(2 * time.Minute)
				r.sim.Zombie(false)
				time.Sleep(10 * time.Second)
				if c.resumes != (r.sim.Resumed() > 0) {
					t.Errorf("resumed %d times", r.sim.Resumed())
				}
				if r.sim.Connected() != 1 {
					t.Fatalf("%d sessions are connected", r.sim.Connected())
				}
				back := r.say(sim.Say{User: ann, Chat: dm, Text: "are you there?"})
				var ids []string
				for _, u := range r.take() {
					ids = append(ids, u.(*platforms.Message).ID)
				}
				want := back
				if c.resumes {
					want = away + " " + back
				}
				if got := strings.Join(ids, " "); got != want && got != away+" "+back {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// TestFirstFrames puts frames before READY that make discordgo's Open wait for itself for ever.
func TestFirstFrames(t *testing.T) {
	for name, knob := range map[string]func(*simulator.Server){
		"op 7":  func(s *simulator.Server) { s.Op7First(2) },
		"op 11": func(s *simulator.Server) { s.Op11First(1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := prepare(t, simulator.Options{})
				knob(r.sim)
				r.run()
				time.Sleep(time.Minute)
				r.say(sim.Say{User: ann, Chat: dm, Text: "hello"})
				one[*platforms.Message](r)
			})
		})
	}
}

// TestNetworkDown takes the network away for a while: the session is resumed when it comes back in time.
func TestNetworkDown(t *testing.T) {
	for _, c := range []struct {
		down    time.Duration
		resumes bool
	}{{10 * time.Second, true}, {time.Hour, false}} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, simulator.Options{})
			r.offline.Store(true)
			r.sim.CloseSockets(0)
			time.Sleep(time.Second)
			r.say(sim.Say{User: ann, Chat: dm, Text: "missed"})
			time.Sleep(c.down)
			r.offline.Store(false)
			time.Sleep(2 * time.Minute)
			if got := r.take(); (len(got) == 1) != c.resumes || (r.sim.Resumed() == 1) != c.resumes {
				t.Errorf("after %s: %d updates, resumed %d times", c.down, len(got), r.sim.Resumed())
			}
			r.say(sim.Say{User: ann, Chat: dm, Text: "hello"})
			one[*platforms.Message](r)
		})
	}
}

// TestSilentGateway lets the gateway accept the IDENTIFY and say nothing more.
func TestSilentGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, simulator.Options{})
		r.sim.Mute(true)
		r.run()
		time.Sleep(openTimeout + time.Second)
		r.sim.Mute(false)
		time.Sleep(time.Minute)
		r.say(sim.Say{User: ann, Chat: dm, Text: "hello"})
		one[*platforms.Message](r)
	})
}

func TestFatal(t *testing.T) {
	for name, c := range map[string]struct {
		opts  simulator.Options
		knob  func(*simulator.Server)
		after func(*simulator.Server)
		says  string
	}{
		"bad token":         {knob: func(s *simulator.Server) { s.SetToken("other") }, says: "token"},
		"token reset later": {after: func(s *simulator.Server) { s.SetToken("other"); s.CloseSockets(0) }, says: "token"},
		"no intent":         {opts: simulator.Options{NoMessageContent: true}, says: "Message Content"},
		"sharding":          {after: func(s *simulator.Server) { s.CloseSockets(4011) }, says: "too many servers"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := prepare(t, c.opts)
				if c.knob != nil {
					c.knob(r.sim)
				}
				r.run()
				if c.after != nil {
					time.Sleep(10 * time.Second)
					c.after(r.sim)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if platforms.ClassOf(r.ended) != platforms.Fatal || !strings.Contains(r.ended.Error(), c.says) {
					t.Errorf("Run returned %v", r.ended)
				}
				if strings.Contains(r.ended.Error(), token) {
					t.Error("the error holds the token")
				}
			})
		})
	}
}

// TestSessionLimit holds back below the reserve: the last IDENTIFY of a day costs the token.
func TestSessionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, simulator.Options{})
		r.sim.SetIdentifies(sessionReserve - 1)
		r.run()
		time.Sleep(3 * time.Hour)
		if n := r.sim.Identifies(); n != sessionReserve-1 || r.sim.Connected() != 0 {
			t.Errorf("%d left, %d connected", n, r.sim.Connected())
		}
		r.sim.SetIdentifies(1000)
		time.Sleep(2 * time.Hour)
		if r.sim.Connected() != 1 {
			t.Error("not connected after the limit was lifted")
		}
	})
}

// TestManyBreaks counts that a gateway which throws the bot out at once does not cost the day's session starts.
func TestManyBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		before := r.sim.Identifies()
		for range 60 {
			r.sim.Invalidate(false)
			time.Sleep(10 * time.Second)
		}
		if used := before - r.sim.Identifies(); used > 20 {
			t.Errorf("%d session starts in ten minutes", used)
		}
	})
}

// TestStoreDown lets the sink fail for longer than the lanes can hold: nothing is lost and the order is kept.
func TestStoreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{ResumeWindow: time.Hour})
		r.fail = 1 << 30
		const n = backlog + 200
		for range n {
			r.say(sim.Say{User: ann, Chat: dm, Text: "hello"})
		}
		time.Sleep(5 * time.Minute)
		r.mu.Lock()
		r.fail = 0
		r.mu.Unlock()
		time.Sleep(5 * time.Minute)
		got := r.take()
		if len(got) != n {
			t.Fatalf("got %d updates, want %d", len(got), n)
		}
		last := ""
		for _, u := range got {
			id := u.(*platforms.Message).ID
			if id <= last {
				t.Fatalf("%s came after %s", id, last)
			}
			last = id
		}
	})
}

// TestDrain stops the adapter while updates wait: what was received is still handed over.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, simulator.Options{})
		stop := r.run()
		r.delay = 500 * time.Millisecond
		for range 3 {
			r.say(sim.Say{User: ann, Chat: dm, Text: "hello"})
		}
		time.Sleep(100 * time.Millisecond)
		stop()
		if got := r.take(); len(got) != 3 {
			t.Errorf("got %d updates, want 3", len(got))
		}
	})
}

func TestLastAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, simulator.Options{})
		if !r.adapter.LastAlive().IsZero() {
			t.Error("alive before it ran")
		}
		r.run()
		time.Sleep(10 * time.Minute)
		if since := time.Since(r.adapter.LastAlive()); since > 42*time.Second {
			t.Errorf("last sign of life %s ago", since)
		}
		before := r.adapter.LastAlive()
		r.sim.Zombie(true)
		time.Sleep(30 * time.Second) // one heartbeat is due, and the connection is not yet given up
		if after := r.adapter.LastAlive(); !after.Equal(before) {
			t.Errorf("a deaf connection counts as alive")
		}
		r.sim.Zombie(false)
	})
}
