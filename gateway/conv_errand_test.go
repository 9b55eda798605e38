package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/sessions/memory"
)

const errands = `
-- config --
chat = jobs, messaging
place = olympus: group
-- model --
on tell them
  call send_message {"chat":"olympus","message":"Lunch is ready."}
  say The message is out.
on water the plants
  call sleep {"seconds": 2}
  say The plants are wet.
`

// TestErrandsSurviveACrashAtEveryCommit: wherever the process dies, and whether or not what it was writing has been
// written, a message to another chat is sent at most once and not without the log knowing of it, a job runs once for each
// moment at which it is due, and a task in the background is answered once.
func TestErrandsSurviveACrashAtEveryCommit(t *testing.T) {
	for _, c := range []struct{ name, before, say, place, text string }{
		{"message", "", "alice dm: tell them", "group", "Lunch is ready."},
		{"job", "alice dm: /cron add in 10m water the plants\nsleep 9m", "sleep 20s", "dm", "The plants are wet."},
		{"task", "", "alice dm: /bg water the plants", "dm", "The plants are wet."},
	} {
		for _, lose := range []bool{false, true} {
			t.Run(c.name+map[bool]string{true: " lost", false: ""}[lose], func(t *testing.T) {
				whole := false
				for last := int64(1); !whole && last < 50; last++ {
					synctest.Test(t, func(t *testing.T) { whole = errandKilled(t, last, lose, c.before, c.say, c.place, c.text) })
				}
				if !whole {
					t.Error("it never got to the end")
				}
			})
		}
	}
}

// errandKilled plays an errand with a process that dies at a commit, and reports whether it did not.
func errandKilled(t *testing.T, last int64, lose bool, before, say, place, text string) (whole bool) {
	r := newRig(t, platforms.Telegram, memory.New(), txtar.Parse([]byte(errands)))
	r.uncounted = true // one that dies within a commit goes on counting here
	if before != "" {
		r.run(before)
	}
	r.mortal.lose = lose
	r.mortal.left.Store(last)
	r.run(say + "\nsleep 20s")
	if whole = !r.mortal.dead.Load(); whole && last < 4 {
		t.Fatalf("it was not killed at commit %d", last)
	}
	r.mortal.left.Store(0)
	r.run("stop\nstart\nsleep 2m\nrestart\nsleep 20m")
	chat, _ := r.place(place)
	shown, sent := 0, strings.Count(r.logged(), "sent: ")
	for _, m := range r.world.stage.Visible(chat) {
		if m.User == sim.Bot && strings.Contains(m.Visible, text) {
			shown++
		}
	}
	switch {
	case place != "group" && shown != 1 && !strings.Contains(r.seen(), "not know whether"):
		t.Errorf("killed at commit %d: it was answered %d times\n%s", last, shown, r.seen())
	case place == "group" && (shown > 1 || shown > sent || sent > 1):
		t.Errorf("killed at commit %d: %d messages were sent, and the log knows of %d\n%s", last, shown, sent, r.seen())
	}
	r.stop()
	for item, err := range r.store.Pending(t.Context()) {
		t.Errorf("killed at commit %d: an item has no outcome: %s, %v", last, item.ID, err)
	}
	return whole
}
