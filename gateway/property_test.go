package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// life is what happens to a gateway in one run of the property.
type life struct {
	busy     gateway.Busy
	workers  int
	debounce time.Duration
	steps    []lifeStep
}

type lifeStep struct {
	user, what string
	pause      time.Duration // afterwards
}

func drawLife(t *rapid.T) life {
	l := life{
		busy:     rapid.SampledFrom([]gateway.Busy{gateway.Queue, gateway.Interrupt, gateway.Steer, gateway.Collect}).Draw(t, "busy"),
		workers:  rapid.IntRange(1, 3).Draw(t, "workers"),
		debounce: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "debounce"),
	}
	what := rapid.SampledFrom([]string{
		"say", "say", "say slow", "say tool", "say ask", "say parts", "again", "/stop", "/new", "/status", "/help",
		"/queue", "/steer", "/busy queue", "/busy steer", "/busy collect", "/busy default", "crash",
		"press Stop", "press Allow", "press Deny", "press " + sendAgain, "restart", "lose", "refuse", "break", "break late",
	})
	for range rapid.IntRange(1, 25).Draw(t, "length") {
		l.steps = append(l.steps, lifeStep{
			user: rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "user"), what: what.Draw(t, "what"),
			pause: rapid.SampledFrom([]time.Duration{0, 0, 100 * time.Millisecond, time.Second, 4 * time.Second, 20 * time.Second}).Draw(t, "pause"),
		})
	}
	return l
}

// TestLife plays random lives: people write, stop, begin anew and press buttons, the platform loses and refuses calls, the
// store fails, the process restarts. In the end every accepted update has had exactly one outcome, nothing waits, the logs
// fold, and no message was answered twice.
func TestLife(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := drawLife(rt)
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = l.live(t) })
		if len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "\n"))
		}
	})
}

func (l life) live(t *testing.T) (wrong []string) {
	chat := newFakeChat("test")
	var mu sync.Mutex
	trouble := map[string]int{} // what goes wrong next, and how often
	take := func(what string) bool {
		mu.Lock()
		defer mu.Unlock()
		if trouble[what] == 0 {
			return false
		}
		trouble[what]--
		return true
	}
	chat.setSpoil(func(call string, out platforms.Outgoing) error {
		switch {
		case take("lose"):
			if call == "send" && rand.N(2) == 0 {
				chat.post(chat.direct("lost").Address, out)
			}
			return &platforms.Error{Class: platforms.OutcomeUnknown, Op: "test " + call}
		case take("refuse"):
			return &platforms.Error{Class: platforms.RateLimited, Op: "test " + call, Wait: 3 * time.Second}
		}
		return nil
	})
	disk := &mortal{Store: memory.New()}
	store := &faulty{Store: disk, consumed: map[sessions.ItemID]int{}}
	store.fails = func(int, sessions.Commit) (bool, bool) { return take("break"), take("break late") }
	b := newBench(t, store, chat)
	b.cfg.Busy, b.cfg.Workers, b.cfg.Debounce = l.busy, l.workers, l.debounce
	b.start()
	names := map[string]string{} // message name -> who wrote it
	last := func() {}            // repeats the newest message, as platforms do
	for i, s := range l.steps {
		id := fmt.Sprint("e", i)
		verb, rest, _ := strings.Cut(s.what, " ")
		switch verb {
		case "say":
			name := fmt.Sprint("m", i)
			names[name] = s.user
			last = func() { chat.say(s.user, id, name+" "+rest) }
			last()
		case "/queue", "/steer":
			name := fmt.Sprint("m", i)
			names[name] = s.user
			chat.say(s.user, id, s.what+" "+name+" tool")
		case "again":
			last()
		case "press":
			chat.press(s.user, id, rest)
		case "crash":
			disk.dead.Store(true)
			if err := b.stop(); err != nil {
				wrong = append(wrong, err.Error())
			}
			disk.dead.Store(false)
			b.start()
		case "restart":
			if err := b.stop(); err != nil {
				wrong = append(wrong, err.Error())
			}
			b.start()
		case "lose", "refuse", "break":
			mu.Lock()
			trouble[s.what] = 2
			mu.Unlock()
		default:
			chat.say(s.user, id, s.what)
		}
		time.Sleep(s.pause)
	}
	time.Sleep(30 * time.Minute)
	mu.Lock()
	clear(trouble)
	mu.Unlock()
	time.Sleep(30 * time.Minute)
	wrong = append(wrong, l.verdict(t, b, chat, store, names)...)
	if err := b.stop(); err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(wrong) > 0 {
		wrong = append(wrong, "posted:\n"+chat.String(), "log:\n"+b.log.String())
	}
	return wrong
}

func (l life) verdict(t *testing.T, b *bench, chat *fakeChat, store *faulty, names map[string]string) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for item, err := range store.Pending(t.Context()) {
		bad("without an outcome: %s %v", item.ID, err)
	}
	for row, err := range store.Undelivered(t.Context()) {
		for i, p := range row.Parts {
			if p.State != sessions.InDoubt && !p.State.Final() {
				bad("not delivered: %s part %d is %s (%v)", row.ID, i, p.State, err)
			}
		}
	}
	for id, n := range store.consumed {
		if n != 1 {
			bad("%s had %d outcomes", id, n)
		}
	}
	for key, err := range store.Keys(t.Context()) {
		if err != nil {
			bad("keys: %v", err)
			continue
		}
		var records []sessions.Record
		for r := range store.History(t.Context(), key, 0) {
			records = append(records, r)
		}
		if s, err := sessions.Fold(key, records); err != nil {
			bad("%v", err)
		} else if s.Turn != nil {
			bad("turn %s stands open", s.Turn.ID)
		}
	}
	if strings.Contains(b.log.String(), "where it cannot be") {
		bad("a conversation was where it cannot be")
	}
	calm := l.busy != gateway.Interrupt && !slices.ContainsFunc(l.steps, func(s lifeStep) bool {
		return slices.Contains([]string{"/stop", "/new", "press Stop", "lose", "restart", "crash", "break", "break late", "/busy default"}, s.what)
	})
	for name, user := range names {
		n := 0
		for _, p := range chat.all() {
			if p.to.Chat == user && strings.HasPrefix(p.out.Text, "re:") && slices.Contains(messageName.FindAllString(p.out.Text, -1), name) {
				n++
			}
		}
		if n > 1 || (calm && n == 0) {
			bad("%s was answered %d times", name, n)
		}
	}
	return wrong
}
