package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// vanish makes the first n calls that carry a text end without anybody knowing how; nothing is posted.
func vanish(call, text string, n int) func(string, platforms.Outgoing) error {
	return func(c string, out platforms.Outgoing) error {
		if c == call && strings.Contains(out.Text, text) && n > 0 {
			n--
			return &platforms.Error{Class: platforms.OutcomeUnknown, Op: "test send"}
		}
		return nil
	}
}

// each plays several spoilers as one.
func each(spoilers ...func(string, platforms.Outgoing) error) func(string, platforms.Outgoing) error {
	return func(call string, out platforms.Outgoing) error {
		for _, spoil := range spoilers {
			if err := spoil(call, out); err != nil {
				return err
			}
		}
		return nil
	}
}

const sendAgain = "Send it again"

// doubtBench plays a conversation in a bubble over a platform that is spoiled.
func doubtBench(t *testing.T, spoil func(string, platforms.Outgoing) error, play func(b *bench, chat *fakeChat)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		chat.setSpoil(spoil)
		b := newBench(t, memory.New(), chat)
		b.start()
		play(b, chat)
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

func (f *fakeChat) want(t *testing.T, n int, text string) {
	t.Helper()
	if c := f.count("alice", text); c != n {
		t.Errorf("%q stands there %d times, not %d", text, c, n)
	}
}

// TestSeveralPartsInDoubt: one offer names all parts in doubt and one press sends all of them, once.
func TestSeveralPartsInDoubt(t *testing.T) {
	for _, text := range []string{"m1 parts", "m1 parts tool"} { // with a progress message the offer stands in it
		t.Run(text, func(t *testing.T) {
			doubtBench(t, each(vanish("send", "re: m1", 1), vanish("send", "part three", 1)), func(b *bench, chat *fakeChat) {
				chat.say("alice", "e1", text)
				time.Sleep(time.Minute)
				chat.want(t, 1, "parts 1 and 3 of 3")
				chat.want(t, 1, "part two")
				chat.press("alice", "b1", sendAgain)
				chat.press("alice", "b2", sendAgain)
				time.Sleep(time.Minute)
				chat.want(t, 1, "re: m1")
				chat.want(t, 1, "part two")
				chat.want(t, 1, "part three")
				chat.want(t, 1, "Sending it again.")
			})
		})
	}
}

// TestInDoubtAgain: an answer whose repetition is lost too is offered once more, by a notice of its own.
func TestInDoubtAgain(t *testing.T) {
	doubtBench(t, vanish("send", "re: m1", 2), func(b *bench, chat *fakeChat) {
		chat.say("alice", "e1", "m1")
		for _, press := range []string{"b1", "b2"} {
			time.Sleep(time.Minute)
			chat.want(t, 1, "If it is missing")
			if !chat.press("alice", press, sendAgain) {
				t.Fatal("there is no button")
			}
		}
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1")
		chat.want(t, 2, "Sending it again.")
	})
}

// TestDoubtSurvives: what is in doubt at a restart is offered once, and the button works after it.
func TestDoubtSurvives(t *testing.T) {
	doubtBench(t, vanish("send", "re: m1", 1), func(b *bench, chat *fakeChat) {
		chat.say("alice", "e1", "m1")
		time.Sleep(time.Minute)
		for range 2 {
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			b.start()
			time.Sleep(time.Minute)
		}
		chat.want(t, 1, "If it is missing")
		chat.press("alice", "b1", sendAgain)
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1")
	})
}

// TestDoubtWithoutBubble: somebody deleted the progress message, so the offer is a message of its own.
func TestDoubtWithoutBubble(t *testing.T) {
	gone := func(call string, _ platforms.Outgoing) error {
		if call == "edit" {
			return &platforms.Error{Class: platforms.Gone, Op: "test edit"}
		}
		return nil
	}
	doubtBench(t, each(gone, vanish("send", "re: m1", 1)), func(b *bench, chat *fakeChat) {
		chat.say("alice", "e1", "m1 tool")
		time.Sleep(time.Minute)
		chat.want(t, 1, "If it is missing")
		chat.press("alice", "b1", sendAgain)
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1")
	})
}

// TestNoticeInDoubt: a notice that is lost comes a second time and not a third.
func TestNoticeInDoubt(t *testing.T) {
	for lost, seen := range map[int]int{1: 1, 2: 0} {
		doubtBench(t, each(vanish("send", "re: m1", 1), vanish("send", "If it is missing", lost)), func(b *bench, chat *fakeChat) {
			chat.say("alice", "e1", "m1")
			time.Sleep(time.Minute)
			chat.want(t, seen, "If it is missing")
			chat.want(t, 0, "re: m1")
		})
	}
}

// TestSlowOfferHoldsNobody: the platform does not take the edit that offers an answer in doubt; the conversation goes on.
func TestSlowOfferHoldsNobody(t *testing.T) {
	slow := func(call string, out platforms.Outgoing) error {
		if call == "edit" && strings.Contains(out.Text, "If it is missing") {
			time.Sleep(30 * time.Second)
		}
		return nil
	}
	doubtBench(t, each(slow, vanish("send", "re: m1", 1)), func(b *bench, chat *fakeChat) {
		chat.say("alice", "e1", "m1 tool")
		time.Sleep(10 * time.Second)
		chat.say("alice", "e2", "m2")
		time.Sleep(time.Second)
		chat.want(t, 1, "re: m2")
		time.Sleep(time.Minute)
		chat.want(t, 1, "If it is missing")
	})
}

// TestUnstoredDoubt: a row that a dead process was sending is never sent unasked, even if the store is in trouble when the
// next one takes over.
func TestUnstoredDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		store := &faulty{Store: memory.New(), consumed: map[sessions.ItemID]int{}}
		trouble := false
		store.fails = func(_ int, c sessions.Commit) (bool, bool) {
			m, ok := c.(sessions.Mark)
			if ok && m.To.State == sessions.Sent {
				trouble = true // the process dies here: nothing more of this answer is stored
			}
			return ok && trouble, false
		}
		b := newBench(t, store, chat)
		b.start()
		chat.say("alice", "e1", "m1")
		time.Sleep(time.Second)
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		chat.want(t, 1, "re: m1")
		refused := 0
		store.fails = func(_ int, c sessions.Commit) (bool, bool) {
			_, ok := c.(sessions.Mark)
			refused++
			return ok && refused <= 2, false
		}
		b.start()
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1")
		chat.want(t, 1, "If it is missing")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// TestDoubtEnds: what nobody has asked for again within a week is given up, and the button does nothing any more.
func TestDoubtEnds(t *testing.T) {
	doubtBench(t, vanish("send", "re: m1", 1), func(b *bench, chat *fakeChat) {
		open := func() (n int) {
			for range b.store.Undelivered(t.Context()) {
				n++
			}
			return n
		}
		chat.say("alice", "e1", "m1")
		time.Sleep(6 * 24 * time.Hour)
		if n := open(); n != 1 {
			t.Errorf("after six days %d rows are open", n)
		}
		time.Sleep(2 * 24 * time.Hour)
		if n := open(); n != 0 {
			t.Errorf("after eight days %d rows are open", n)
		}
		if !chat.press("alice", "b1", sendAgain) {
			t.Error("there is no button")
		}
		time.Sleep(time.Minute)
		chat.want(t, 0, "re: m1")
	})
}
