package telegram

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// TestUncommittedUpdatesComeAgain stops an adapter whose sink fails and starts another one, as after a crash.
func TestUncommittedUpdatesComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, crash := context.WithCancel(t.Context())
		ended := make(chan error)
		var first []string
		go func() {
			ended <- w.adapter.Run(ctx, func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
				first = append(first, u.NativeID())
				if len(first) == 2 {
					return platforms.Receipt{}, errors.New("the store is full")
				}
				return platforms.Receipt{}, nil
			})
		}()
		for _, text := range []string{"one", "two", "three"} {
			if _, err := w.sim.Say(sim.Say{User: "100", Chat: "100", Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		crash()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		w.adapter = newAdapter(t, Config{Token: w.sim.Token(), APIURL: "http://telegram.test", Dial: w.net.Dial})
		w.run(t)
		got := w.updates(10 * time.Second)
		if len(got) != 3 || got[0].NativeID() != first[0] || got[1].NativeID() != first[1] {
			t.Errorf("after the restart came %v; before it %v", got, first)
		}
	})
}

// TestDeafConnection lets a poll neither return nor fail.
func TestDeafConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.sim.Faults().Add(sim.Fault{Method: "getUpdates", Delay: 24 * time.Hour})
		w.run(t)
		if _, err := w.sim.Say(sim.Say{User: "100", Chat: "100", Text: "hello?"}); err != nil {
			t.Fatal(err)
		}
		if alive := w.adapter.LastAlive(); !alive.IsZero() {
			t.Errorf("a deaf connection counts as alive since %v", alive)
		}
		if got := w.updates(pollTimeout + pollGrace + 5*time.Second); len(got) != 1 {
			t.Errorf("the deaf connection was not given up: %d updates", len(got))
		}
		if time.Since(w.adapter.LastAlive()) > time.Minute {
			t.Error("the new connection does not count as alive")
		}
	})
}

func TestConflictsAreExplainedAndOvercome(t *testing.T) {
	for name, c := range map[string]struct{ description, advice string }{
		"second poller": {"Conflict: terminated by other getUpdates request; make sure that only one bot instance is running", "another program receives this bot's messages"},
		"webhook":       {"Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first", "delete the webhook (method deleteWebhook)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.sim.Faults().Add(sim.Fault{Method: "getUpdates", Status: 409, Error: c.description, Times: 5})
				w.run(t)
				if _, err := w.sim.Say(sim.Say{User: "100", Chat: "100", Text: "hello?"}); err != nil {
					t.Fatal(err)
				}
				if got := w.updates(10 * time.Minute); len(got) != 1 {
					t.Errorf("after the conflict came %d updates", len(got))
				}
				if n := strings.Count(w.log.String(), c.advice); n != 1 {
					t.Errorf("the advice was logged %d times:\n%s", n, w.log)
				}
			})
		})
	}
}

func TestBadTokenEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := newAdapter(t, Config{Token: "7000000001:WRONG", APIURL: "http://telegram.test", Dial: w.net.Dial})
		if err := a.Run(t.Context(), nil); platforms.ClassOf(err) != platforms.Fatal || !strings.Contains(err.Error(), "the bot token is refused; copy the right one") {
			t.Errorf("Run with a wrong token: %v", err)
		}
	})
}

// TestStrangeUpdates are acknowledged and counted, and what comes after them arrives.
func TestStrangeUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(t)
		time.Sleep(time.Second)
		w.sim.Deliver(map[string]any{"business_connection": map[string]any{"id": "x"}})
		w.sim.Deliver(map[string]any{"message": "not an object"})
		w.sim.Deliver(map[string]any{"message": []any{}})
		w.sim.Deliver(map[string]any{})
		w.sim.Deliver(map[string]any{"message": map[string]any{}})
		w.sim.Deliver(map[string]any{"callback_query": map[string]any{"id": "1", "inline_message_id": "x", "data": "y"}})
		huge := strings.Repeat("x", 10<<20)
		w.sim.Deliver(map[string]any{"message": map[string]any{
			"message_id": 1, "date": 1, "text": huge,
			"chat": map[string]any{"id": 100, "type": "private"}, "from": map[string]any{"id": 100},
		}})
		if _, err := w.sim.Say(sim.Say{User: "100", Chat: "100", Text: "after all that"}); err != nil {
			t.Fatal(err)
		}
		got := w.updates(time.Minute)
		if len(got) != 2 || len(got[0].(*platforms.Message).Text) != 10<<20 || got[1].(*platforms.Message).Text != "after all that" {
			t.Fatalf("%d updates arrived", len(got))
		}
		for kind, n := range map[string]int{
			"business_connection": 1, "unreadable": 2, "empty": 1, "service message": 1, "callback_query without message or data": 1,
		} {
			if ignored := w.adapter.Ignored(); ignored[kind] != n {
				t.Errorf("ignored %d of kind %q, want %d", ignored[kind], kind, n)
			}
		}
	})
}

// TestLongNoteIsCut shows a receipt that is too long for Telegram.
func TestLongNoteIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- w.adapter.Run(ctx, func(context.Context, platforms.Update) (platforms.Receipt, error) {
				return platforms.Receipt{Note: strings.Repeat("é", 500)}, nil
			})
		}()
		id, err := w.adapter.Send(t.Context(), w.at("100", ""), platforms.Outgoing{Text: "x", Buttons: [][]platforms.Button{{{Label: "a", Data: "b"}}}})
		if err != nil {
			t.Fatal(err)
		}
		shown, err := w.sim.Press("200", "100", id, "b")
		if err != nil {
			t.Fatal(err)
		}
		if note := []rune(<-shown); len(note) != 200 || note[199] != '…' {
			t.Errorf("the note has %d characters", len(note))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestTroubleOfOneChat: while an update cannot be stored, those of other chats behind it reach the sink all the same, in
// the same chat none overtakes it, and in the end each has been taken once, in order.
func TestTroubleOfOneChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.sim.AddChat(sim.Chat{ID: "200", Kind: "dm"})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		var mu sync.Mutex // of what follows
		full := true
		var taken []string
		seen := map[string]int{}
		go func() {
			ended <- w.adapter.Run(ctx, func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
				m := u.(*platforms.Message)
				mu.Lock()
				defer mu.Unlock()
				seen[m.Text]++
				if full && m.Address.Chat == "100" {
					return platforms.Receipt{}, errors.New("the disk is full")
				}
				if seen[m.Text] == 1 || m.Address.Chat == "100" {
					taken = append(taken, m.Text)
				}
				return platforms.Receipt{}, nil
			})
		}()
		say := func(user, text string) {
			if _, err := w.sim.Say(sim.Say{User: user, Chat: user, Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		say("100", "a1")
		say("200", "b1")
		time.Sleep(10 * time.Second)
		say("100", "a2")
		say("200", "b2")
		time.Sleep(time.Minute)
		mu.Lock()
		if got := strings.Join(taken, " "); got != "b1 b2" || seen["a1"] < 2 || seen["a2"] != 0 {
			t.Errorf("taken were %q; offered: %v", got, seen)
		}
		full = false
		mu.Unlock()
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := strings.Join(taken, " "); got != "b1 b2 a1 a2" {
			t.Errorf("taken were %q", got)
		}
	})
}
