package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions/memory"
)

const asking = `
-- config --
approval = ask
agent = clarify
-- model --
on danger
  call execute {}
  say It went {result}.
on book
  call clarify {"question":"Which day?","choices":["Monday","Tuesday"]}
  say {result}
`

// TestQuestionsSurviveACrashAtEveryCommit: wherever the process dies between a message and the end of its turn, no call
// runs without a person's permission, none runs twice, and the person is always answered. What is left of a question
// says that it is closed.
func TestQuestionsSurviveACrashAtEveryCommit(t *testing.T) {
	for _, c := range []struct {
		say, button string
		lose        bool // the commit with which the process dies
	}{
		{"do something with danger", "Allow", false},
		{"do something with danger", "Allow", true},
		{"book a table", "Tuesday", false},
		{"book a table", "Tuesday", true},
	} {
		whole := false
		for last := int64(1); !whole && last < 50; last++ {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, platforms.Telegram, memory.New(), txtar.Parse([]byte(asking)))
				r.uncounted = true // one that dies within a commit goes on counting here
				r.mortal.lose = c.lose
				r.mortal.left.Store(last)
				r.run("alice dm: " + c.say + "\nsleep 5s")
				early := r.executed.Load()
				_ = r.press(r.world.users["alice"], "dm", c.button) // there may be none yet
				r.run("sleep 5s")
				if whole = !r.mortal.dead.Load(); whole && last < 6 {
					t.Fatalf("it was not killed at commit %d", last)
				}
				r.mortal.left.Store(0)
				r.run("stop\nstart\nsleep 5s")
				_ = r.press(r.world.users["alice"], "dm", c.button)
				r.run("sleep 65m")
				if early > 0 || r.executed.Load() > 1 {
					t.Errorf("killed at commit %d: run %d times before anybody allowed it, %d in all", last, early, r.executed.Load())
				}
				if log := r.logged(); r.executed.Load() > 0 && !strings.Contains(log, "decided: once") || !strings.Contains(log, "end: answered") {
					t.Errorf("killed at commit %d: the log holds\n%s", last, log)
				}
				if r.press(r.world.users["alice"], "dm", c.button) == nil {
					if err := r.noted("closed already"); err != nil {
						t.Errorf("killed at commit %d: a button that is left: %v", last, err)
					}
				}
				r.stop()
				for item, err := range r.store.Pending(t.Context()) {
					t.Errorf("killed at commit %d: an item has no outcome: %s, %v", last, item.ID, err)
				}
			})
		}
		if !whole {
			t.Errorf("%q: it never got to the end", c.say)
		}
	}
}
