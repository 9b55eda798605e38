package gateway_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// TestDay is a day of virtual time in which people write every few minutes, strangers too, change what they wrote, and
// the platform limits now and then. At its end nothing may be left of it in memory, the ids of the updates are still
// known, and a message is answered as at its beginning. On Telegram a quiet week follows, after which they are not.
func TestDay(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for a short run")
	}
	for _, p := range []platforms.Name{platforms.Telegram, platforms.Slack, platforms.Discord} {
		t.Run(string(p), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if p == platforms.Discord {
					time.Sleep(16 * 366 * 24 * time.Hour) // a bubble's clock begins in 2000, Discord's ids in 2015
				}
				newChaos(t, p, number("TALARIA_SEED", 1)).day()
			})
		})
	}
}

func (c *chaos) day() {
	c.born()
	time.Sleep(10 * time.Second)
	first := c.ask()
	time.Sleep(10 * time.Minute)
	before := c.weigh()
	for end := time.Now().Add(24 * time.Hour); time.Now().Before(end); time.Sleep(time.Duration(c.chance.IntN(15)) * time.Minute) {
		where := pick(c.chance, [2]string{"dm", "alice"}, [2]string{"dm2", "bob"}, [2]string{"group", "alice"}, [2]string{"group", "bob"})
		switch c.chance.IntN(8) {
		case 0:
			c.stranger()
		case 1:
			c.world.stage.Faults().Add(sim.Fault{Method: c.world.send, Status: 429, RetryAfter: time.Duration(1+c.chance.IntN(600)) * time.Second})
		case 2:
			id := c.say(where[0], where[1], "plain")
			time.Sleep(time.Minute)
			if err := c.world.stage.EditAs(c.world.users[where[1]], c.world.places[where[0]], id, fmt.Sprintf("m%d, never mind", len(c.said))); err != nil {
				c.t.Fatal(err)
			}
		default:
			c.say(where[0], where[1], pick(c.chance, "plain", "plain", "slow", "tool", "mark", "ask", "long"))
		}
	}
	c.mend()
	time.Sleep(30 * time.Minute)
	last := c.ask()
	time.Sleep(10 * time.Minute)
	after := c.weigh()
	for what, n := range c.gateway.Held() {
		if n != 0 {
			c.t.Errorf("%d %s are left", n, what)
		}
	}
	if !slices.Equal(first, last) {
		c.t.Errorf("at the end of the day the answers took %v, at its beginning %v", last, first)
	}
	ids := c.consumed()
	c.remembers(ids, true)
	if c.world.name == platforms.Telegram {
		time.Sleep(8 * 24 * time.Hour)
	}
	if err := c.stop(); err != nil {
		c.t.Error(err)
	}
	v := c.check()
	if c.world.name == platforms.Telegram {
		c.remembers(ids[:1], false)
	}
	c.t.Logf("%d messages: %+v; heap %+d KiB, goroutines %+d", len(c.said), v, (after.heap-before.heap)/1024, after.goroutines-before.goroutines)
	if grown := after.heap - before.heap; grown > 16<<20 {
		c.t.Errorf("the heap has grown by %d KiB", grown/1024)
	}
	if after.goroutines > before.goroutines {
		c.t.Errorf("%d goroutines have become %d", before.goroutines, after.goroutines)
	}
}

// ask lets somebody write at each place in turn, and returns how long the answers took.
func (c *chaos) ask() (took []time.Duration) {
	for _, where := range [][2]string{{"dm", "alice"}, {"dm2", "bob"}, {"group", "alice"}} {
		began := time.Now()
		c.say(where[0], where[1], "plain")
		name := fmt.Sprint("m", len(c.said))
		for c.answers(name, where[0]) == 0 && time.Since(began) < patience {
			time.Sleep(time.Second)
		}
		took = append(took, time.Since(began).Truncate(10*time.Second))
		time.Sleep(5 * time.Minute)
	}
	return took
}

// stranger lets somebody write who may not.
func (c *chaos) stranger() {
	say := sim.Say{User: c.world.users["mallory"], Chat: c.world.places["dmx"], Text: "let me in"}
	if _, err := c.world.stage.Say(say); err != nil {
		c.t.Fatal(err)
	}
}

// consumed returns the ids of all updates that came to an end.
func (c *chaos) consumed() (ids []sessions.Item) {
	for key, err := range c.disk.Keys(c.t.Context()) {
		if err != nil {
			c.t.Fatal(err)
		}
		for r, err := range c.disk.History(c.t.Context(), key, 0) {
			if err != nil {
				c.t.Fatal(err)
			}
			for _, id := range r.Consumed {
				ids = append(ids, sessions.Item{ID: id, Key: key, Payload: []byte("{}"), At: time.Now()})
			}
		}
	}
	return ids
}

// remembers checks whether the store knows updates that came to an end.
func (c *chaos) remembers(items []sessions.Item, want bool) {
	for _, item := range items {
		_, err := c.disk.Commit(c.t.Context(), sessions.Accept{Item: item})
		if known := errors.Is(err, sessions.ErrSeen); known != want {
			c.t.Errorf("the store knows %s: %v (%v)", item.ID, known, err)
		}
	}
}

// TestDayOfUpkeep is a day of virtual time and some hours in which somebody else says much each hour: conversations that were
// quiet for long go, the file gives its room back, questions that nobody answers end by their clock, the owner hears once of
// what concerns him, and what the platform repeats is answered once, also if its conversation is gone.
func TestDayOfUpkeep(t *testing.T) {
	if number("TALARIA_LONG", 0) == 0 {
		t.Skip("it writes 40 MiB; TALARIA_LONG=1 runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		disk, err := bolt.Open(filepath.Join(t.TempDir(), "talaria.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer disk.Close()
		one, two := newFakeChat("one"), newFakeChat("two")
		b := newBench(t, disk, one, two)
		b.erased = true
		b.cfg.Homes = []platforms.Address{{Platform: "two", Chat: "olivia"}}
		b.cfg.Retention = gateway.Retention{Age: 6 * time.Hour}
		for hour := range 24 {
			b.cfg.Access.Users["one"] = append(b.cfg.Access.Users["one"], fmt.Sprint("p", hour))
		}
		b.start()
		total := func() int64 {
			size, err := disk.Size(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return size.Total
		}
		one.setSpoil(func(call string, _ platforms.Outgoing) error {
			if call == "send" {
				return &platforms.Error{Class: platforms.RateLimited, Op: "test send", Wait: 20 * time.Minute}
			}
			return nil
		})
		said := 0
		say := func(user, what string) {
			said++
			one.say(user, fmt.Sprint("e", said), fmt.Sprintf("m%d %s", said, what))
		}
		say("alice", "plain")
		time.Sleep(time.Minute)
		one.setSpoil(nil)
		highest := int64(0)
		for hour := range 24 {
			user := fmt.Sprint("p", hour)
			for range 6 {
				say(user, "plain "+strings.Repeat("word ", 52_000))
				time.Sleep(time.Minute)
				one.say(user, fmt.Sprint("n", said), "/new")
				time.Sleep(time.Minute)
			}
			say(user, "ask")
			time.Sleep(time.Hour - 12*time.Minute)
			highest = max(highest, total())
		}
		one.say("alice", "e1", "m1 plain") // the platform repeats itself after a day
		time.Sleep(3 * time.Hour)
		answers := map[string]int{}
		for _, p := range one.all() {
			answers[p.out.Text]++
		}
		for n := 1; n <= said; n++ {
			if answer := fmt.Sprintf("re: m%d.", n); answers[answer] != 1 {
				t.Errorf("%s stands there %d times", answer, answers[answer])
			}
		}
		if n := two.count("olivia", "One does not let me write"); n != 1 {
			t.Errorf("the owner was told %d times", n)
		}
		last := total()
		t.Logf("%d messages; the file had %d MiB at most, and has %d now", said, highest>>20, last>>20)
		if highest < 33<<20 || last > 16<<20 {
			t.Error("it did not give its room back")
		}
		for what, n := range b.gateway.Held() {
			if n != 0 {
				t.Errorf("%d %s are left", n, what)
			}
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}
