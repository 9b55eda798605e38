package gateway_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/memnet"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// TestChaos lets people talk to a gateway for some minutes of virtual time (TALARIA_MINUTES) in which everything goes wrong that a
// platform can do wrong: it limits, fails, cuts connections, loses answers, is slow, says things twice and in the wrong
// order, goes deaf. The store is slow, and the process dies now and then. Afterwards every message must have been
// answered once, be offered, or have given way to a newer one, where that is the mode. TALARIA_SEED is where chance begins, TALARIA_RUNS how many seeds from there on are tried.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for a short run")
	}
	length := time.Duration(number("TALARIA_MINUTES", 3)) * time.Minute
	first, runs := number("TALARIA_SEED", 1), number("TALARIA_RUNS", 1)
	for _, p := range []platforms.Name{platforms.Telegram, platforms.Slack, platforms.Discord} {
		for seed := first; seed < first+runs; seed++ {
			t.Run(fmt.Sprintf("%s/%d", p, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if p == platforms.Discord {
						time.Sleep(16 * 366 * 24 * time.Hour) // a bubble's clock begins in 2000, Discord's ids in 2015
					}
					c := newChaos(t, p, seed)
					c.run(length)
				})
			})
		}
	}
}

// number reads a number from the environment.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// chaos is the running test.
type chaos struct {
	*bench
	world  world
	disk   sessions.Store
	chance *rand.Rand // of the test's goroutine
	marks  marks
	said   map[string]said // by the message's name
	faults int
	kills  int
}

func newChaos(t *testing.T, p platforms.Name, seed int) *chaos {
	w := newWorld(p)
	w.people()
	disk, err := bolt.Open(filepath.Join(t.TempDir(), "talaria.db"))
	if err != nil {
		t.Fatal(err)
	}
	c := &chaos{world: w, disk: disk, chance: rand.New(rand.NewPCG(uint64(seed)*0x9e3779b97f4a7c15, uint64(len(p)))), said: map[string]said{}}
	net := memnet.Listen()
	server := &http.Server{Handler: w.stage.Handler()}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(net) })
	c.bench = newBench(t, nil)
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
		w.stage.Close()
		_ = server.Close()
		serving.Wait()
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	mark, err := c.marks.tool()
	if err != nil {
		t.Fatal(err)
	}
	c.tools = append(c.tools, mark)
	c.connect = func(log *slog.Logger) (platforms.Adapter, error) { return w.adapter(net, log) }
	c.cfg.Access = gateway.Access{
		Users: map[platforms.Name][]string{p: {w.users["alice"], w.users["bob"]}},
		Chats: map[platforms.Name][]string{p: {w.places["group"]}},
	}
	c.cfg.CatchUp = 24 * time.Hour
	c.cfg.Busy = pick(c.chance, gateway.Interrupt, gateway.Queue, gateway.Steer, gateway.Collect)
	c.cfg.Delivery = gateway.Deliveries{"": {
		Final: pick(c.chance, gateway.FinalNew, gateway.FinalEdit), Stream: pick(c.chance, gateway.StreamOff, gateway.StreamEdit),
	}}
	return c
}

// said is where somebody said something, and the platform's id of it.
type said struct{ place, id string }

func pick[T any](chance *rand.Rand, from ...T) T { return from[chance.IntN(len(from))] }

// born starts a process over the disk.
func (c *chaos) born() *mortal {
	m := &mortal{Store: c.disk}
	c.store = &sluggish{Store: m, chance: rand.New(rand.NewPCG(c.chance.Uint64(), 0))}
	c.start()
	return m
}

func (c *chaos) run(length time.Duration) {
	process := c.born()
	time.Sleep(10 * time.Second)
	for place, user := range map[string]string{"dm": "alice", "dm2": "bob", "group": "alice"} {
		c.say(place, user, "plain")
	}
	time.Sleep(20 * time.Minute)
	before := c.weigh()
	for end := time.Now().Add(length); time.Now().Before(end); {
		switch n := c.chance.IntN(40); {
		case n < 20:
			where := pick(c.chance, [2]string{"dm", "alice"}, [2]string{"dm2", "bob"}, [2]string{"group", "alice"}, [2]string{"group", "bob"})
			c.say(where[0], where[1], pick(c.chance, "plain", "plain", "slow", "tool", "mark", "mark", "long"))
		case n < 38:
			c.faults++
			c.spoil()
		case n == 38:
			process.dead.Store(true)
			fallthrough
		default:
			c.kills++
			if err := c.stop(); err != nil {
				c.t.Error(err)
			}
			time.Sleep(time.Duration(c.chance.IntN(20_000)) * time.Millisecond)
			process = c.born()
		}
		time.Sleep(time.Duration(c.chance.IntN(4_000)) * time.Millisecond)
	}
	c.mend()
	time.Sleep(time.Hour)
	for place, user := range map[string]string{"dm": "alice", "dm2": "bob", "group": "alice"} {
		c.say(place, user, "plain")
	}
	time.Sleep(20 * time.Minute)
	after := c.weigh()
	if err := c.stop(); err != nil {
		c.t.Error(err)
	}
	v := c.check()
	c.t.Logf("busy %s, %+v: %d messages, %d faults, %d restarts: %+v; heap %+d KiB, goroutines %+d",
		c.cfg.Busy, c.cfg.Delivery[""], len(c.said), c.faults, c.kills, v,
		(after.heap-before.heap)/1024, after.goroutines-before.goroutines)
	if grown := after.heap - before.heap; grown > 16<<20 {
		c.t.Errorf("the heap has grown by %d KiB", grown/1024)
	}
	if after.goroutines > before.goroutines {
		c.t.Errorf("%d goroutines have become %d", before.goroutines, after.goroutines)
	}
}

// say lets somebody write something in which the message's name stands, and returns the platform's id of it.
func (c *chaos) say(place, user, what string) (id string) {
	name := fmt.Sprint("m", len(c.said)+1)
	chat := c.world.places[place]
	id, err := c.world.stage.Say(sim.Say{User: c.world.users[user], Chat: chat, Text: name + " " + what, Mention: place == "group"})
	if err != nil {
		c.t.Fatal(err)
	}
	c.said[name] = said{place, id}
	return id
}

// weight is what a process takes, without its log.
type weight struct{ heap, goroutines int }

// weigh looks at a quiet moment.
func (c *chaos) weigh() weight {
	synctest.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return weight{int(m.HeapAlloc) - c.log.size(), runtime.NumGoroutine()}
}
