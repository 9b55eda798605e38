package gateway_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// TestStory greps one message's id out of a log: what is found tells what became of that message, and of no other.
func TestStory(t *testing.T) {
	script := txtar.Parse([]byte(`
-- model --
on one
  call read_file {"path": "a.txt"}
  say The first answer.
on two
  say The second answer.
-- work/a.txt --
something
`))
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, platforms.Telegram, memory.New(), script)
		r.run("alice dm: one\nexpect dm: The first answer.\nbob dm2: two\nexpect dm2: The second answer.\n")
		r.stop()
		id := regexp.MustCompile(`msg=accepted message=(\S+)`).FindStringSubmatch(r.log.String())
		if id == nil {
			t.Fatalf("nothing was accepted:\n%s", r.log)
		}
		var story []string
		for line := range strings.Lines(r.log.String()) {
			if strings.Contains(line, id[1]) {
				story = append(story, strings.Trim(regexp.MustCompile(`msg=("[^"]*"|\S+)`).FindStringSubmatch(line)[1], `"`))
			}
		}
		story = slices.DeleteFunc(story, func(s string) bool { return s == "transition" })
		slices.Sort(story[max(0, len(story)-2):]) // the lane delivers while the turn says that it has ended
		want := "accepted, queued, taken up, turn started, model called, call ended, model called, delivery ended, turn ended"
		if got := strings.Join(story, ", "); got != want {
			t.Errorf("the story is\n%s\nwant\n%s", got, want)
		}
	})
}

// TestPressesOfAStranger: a stranger who presses buttons all day writes one line into the log.
func TestPressesOfAStranger(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.start()
		before := strings.Count(b.log.String(), "\n")
		for i := range 50 {
			chat.deliver(&platforms.ButtonPressed{Origin: chat.direct("mallory"), Native: fmt.Sprint("p", i), Data: "stop:x"})
		}
		if n := strings.Count(b.log.String(), "\n") - before; n != 1 {
			t.Errorf("it was logged %d times", n)
		}
	})
}
