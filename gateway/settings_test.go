package gateway_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/tools"
)

// anew makes what turns are run with of another model.
func (b *bench) anew(model *echoModel) gateway.Live {
	compressor := loop.NewCompressor(model, b.cfg.Window, b.cfg.MaxOutput)
	log := slog.New(slog.DiscardHandler)
	runner := &loop.Runner{Model: model, Policy: tools.AskByRisk{tools.Executes}, Compressor: compressor, Log: log}
	return gateway.Live{Compressor: runner, Runner: runner}
}

// TestChange: who may, how many turns run at once and which model answers change while the gateway works. The turn that runs
// keeps its model, and its person an answer.
func TestChange(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.cfg.Workers = 1
		b.start()
		chat.say("alice", "e1", "m1 tool slow") // two model calls
		time.Sleep(time.Second)
		chat.say("bob", "e2", "m2") // waits for the only worker
		time.Sleep(time.Second)
		if posted := chat.all(); len(posted) > 1 {
			t.Fatalf("bob was served already: %s", chat)
		}
		next, other := b.cfg, &echoModel{begun: time.Now(), calls: map[string]int{}, prompts: map[string]bool{}, at: map[string]time.Duration{}}
		next.Workers, next.Access = 2, gateway.Access{Users: map[platforms.Name][]string{"test": {"bob", "carol"}}}
		b.gateway.Change(next, b.anew(other))
		chat.say("carol", "e3", "m3")
		time.Sleep(2 * time.Second)
		if n := chat.count("bob", "re: m2.") + chat.count("carol", "re: m3."); n != 2 || chat.count("alice", "re: m1.") != 0 {
			t.Errorf("two workers have served %d people beside alice: %s", n, chat)
		}
		time.Sleep(time.Minute)
		if chat.count("alice", "re: m1.") != 1 {
			t.Errorf("alice has no answer: %s", chat)
		}
		chat.say("alice", "e4", "m4")
		time.Sleep(time.Minute)
		asked, others := strings.Join(b.model.asked(), " "), strings.Join(other.asked(), " ")
		if !strings.Contains(asked, "m1") || strings.Contains(others, "m1") || !strings.Contains(others, "m2") || !strings.Contains(others, "m3") {
			t.Errorf("the first model was asked %q, the second %q", asked, others)
		}
		if strings.Contains(asked+others, "m4") {
			t.Error("somebody who may not any more has got an answer")
		}
	})
}

// TestFewerWorkers: turns that run go on, and no more than the new number run after that.
func TestFewerWorkers(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		people := []string{"p1", "p2", "p3", "p4", "p5", "p6"}
		b.cfg.Workers, b.cfg.Access.Users["test"] = 3, people
		b.start()
		for _, p := range people[:3] {
			chat.say(p, "e"+p, "m"+p[1:]+" slow")
		}
		time.Sleep(time.Second)
		next := b.cfg
		next.Workers = 1
		b.gateway.Change(next, b.anew(b.model))
		for _, p := range people[3:] {
			chat.say(p, "e"+p, "m"+p[1:]+" slow")
		}
		time.Sleep(time.Minute)
		var began []time.Duration
		for _, p := range people {
			began = append(began, b.model.since("m"+p[1:]))
			if chat.count(p, "re: m"+p[1:]+".") != 1 {
				t.Errorf("%s has no answer", p)
			}
		}
		late := began[3:]
		slices.Sort(late)
		if max(began[0], began[1], began[2]) > 2*time.Second || late[1]-late[0] < 5*time.Second || late[2]-late[1] < 5*time.Second {
			t.Errorf("the turns began at %v", began)
		}
	})
}

// TestTellOwner: once for each cause, at the home of this moment.
func TestTellOwner(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.cfg.Homes = []platforms.Address{{Platform: "test", Chat: "olivia"}}
		b.start()
		for range 2 {
			b.gateway.TellOwner(b.t.Context(), "cause-1", "It is broken.")
			time.Sleep(time.Second)
		}
		next := b.cfg
		next.Homes = []platforms.Address{{Platform: "test", Chat: "oscar"}}
		b.gateway.Change(next, b.anew(b.model))
		b.gateway.TellOwner(b.t.Context(), "cause-2", "It is broken in another way.")
		time.Sleep(time.Second)
		if chat.count("olivia", "It is broken.") != 1 || chat.count("oscar", "It is broken in another way.") != 1 || len(chat.all()) != 2 {
			t.Errorf("said: %s", chat)
		}
	})
}
