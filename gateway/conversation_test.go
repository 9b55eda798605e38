package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// inBubble plays a conversation over a fake platform, in virtual time, and checks that nothing is left.
func inBubble(t *testing.T, play func(b *bench, chat *fakeChat)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		b := newBench(t, memory.New(), chat)
		play(b, chat)
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// TestPlatformTakenAway: what was accepted on a platform that is not configured any more waits for its return.
func TestPlatformTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat, other := newFakeChat("test"), newFakeChat("other")
		b := newBench(t, memory.New(), other, chat)
		b.start()
		other.say("alice", "e1", "m1 slow")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.chats = []*fakeChat{chat}
		b.start()
		chat.say("alice", "e2", "m2")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m2.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.chats = []*fakeChat{other, chat}
		b.start()
		time.Sleep(time.Minute)
		other.want(t, 1, "re: m1.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// TestStopReachesWhatWaits: /stop and /new end what waits as well as what runs, and say so.
func TestStopReachesWhatWaits(t *testing.T) {
	for _, busy := range []gateway.Busy{gateway.Queue, gateway.Interrupt} {
		for _, command := range []string{"/stop", "/new"} {
			t.Run(string(busy)+command, func(t *testing.T) {
				inBubble(t, func(b *bench, chat *fakeChat) {
					b.cfg.Busy, b.cfg.Debounce = busy, 2*time.Second
					b.start()
					chat.say("alice", "e1", "m1")
					chat.say("alice", "e2", command)
					time.Sleep(time.Minute)
					if n := len(b.model.asked()); n > 0 {
						t.Errorf("the model was called for %d messages", n)
					}
					chat.want(t, 1, "1 message that was waiting will not be answered")

					chat.say("alice", "e3", "m3 slow")
					time.Sleep(4 * time.Second)
					chat.say("alice", "e4", "m4")
					chat.say("alice", "e5", "m5")
					chat.say("alice", "e6", command)
					chat.say("alice", "e7", "m7")
					time.Sleep(time.Minute)
					chat.want(t, 1, "2 messages that were waiting will not be answered")
					for _, m := range []string{"re: m3", "re: m4", "m5."} {
						chat.want(t, 0, m)
					}
					chat.want(t, 1, "re: m7.")
				})
			})
		}
	}
}

// TestAlbum: the pictures of an album make one turn, and one line if nobody wrote a word to them.
func TestAlbum(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.start()
		album := func(id, album, text string) {
			chat.deliver(&platforms.Message{
				Origin: chat.direct("alice"), Native: id, ID: id, Text: text, Mentioned: true, Album: album,
				Attachments: []platforms.Attachment{{Kind: "photo"}}, At: time.Now(),
			})
		}
		album("e1", "g1", "m1")
		album("e2", "g1", "")
		album("e3", "g1", "")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1.")
		chat.want(t, 0, "without any text")
		for i := range 3 {
			album(fmt.Sprint("f", i), "g2", "")
		}
		time.Sleep(time.Minute)
		chat.want(t, 1, "without any text")
		if n := len(b.model.asked()); n != 1 {
			t.Errorf("the model was called for %d messages", n)
		}
	})
}

// TestSplitMessageBetweenOthers: the rest of a message that the client split is waited for, although somebody else writes
// meanwhile.
func TestSplitMessageBetweenOthers(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.cfg.Access.Chats = map[platforms.Name][]string{"test": {"alice"}}
		b.start()
		say := func(user, id, text string) {
			o := chat.direct("alice")
			o.Kind, o.Address.Thread, o.Sender.ID = platforms.Topic, "7", user
			chat.deliver(&platforms.Message{Origin: o, Native: id, ID: id, Text: text, Mentioned: true, At: time.Now()})
		}
		say("alice", "e1", "m1 "+strings.Repeat("x", 3000))
		say("bob", "e2", "m2")
		time.Sleep(500 * time.Millisecond)
		say("alice", "e3", "m3")
		time.Sleep(time.Minute)
		for _, text := range []string{"re: m1.", "re: m2.", "re: m3."} {
			chat.want(t, 1, text)
		}
		want := "re: m1."
		if first := chat.posts[0].out.Text; first != want {
			t.Errorf("the first answer is %q, not %q", first, want)
		}
		if at := b.model.at["m1"]; at < 2*time.Second {
			t.Errorf("the turn of the split message began after %s", at)
		}
	})
}

// TestStrangersWordsAreBounded: what somebody else wrote is kept only as a short quotation.
func TestStrangersWordsAreBounded(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.start()
		chat.deliver(&platforms.Message{
			Origin: chat.direct("alice"), Native: "e1", ID: "e1", Text: "m1 slow", Mentioned: true, At: time.Now(),
			Quoted: &platforms.Quote{Sender: platforms.Person{ID: "mallory"}, Text: strings.Repeat("m99 ", 1<<18)},
		})
		for item, err := range b.store.Pending(t.Context()) {
			if err != nil || len(item.Payload) > 4096 {
				t.Errorf("%d bytes are stored (%v)", len(item.Payload), err)
			}
		}
		time.Sleep(time.Minute)
		for _, text := range b.model.asked() {
			if len(text) > 4096 {
				t.Errorf("the model reads %d bytes", len(text))
			}
		}
	})
}

// TestYesBeforeTheQuestion: a word that was written before the question stood there is no answer to it.
func TestYesBeforeTheQuestion(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		chat.setSpoil(func(_ string, out platforms.Outgoing) error {
			if strings.HasPrefix(out.Text, "May I") {
				time.Sleep(10 * time.Second)
			}
			return nil
		})
		b.start()
		chat.say("alice", "e1", "m1 ask")
		time.Sleep(time.Second)
		chat.say("alice", "e2", "yes")
		time.Sleep(20 * time.Second)
		chat.want(t, 0, "Allowed.")
		chat.press("alice", "b1", "Deny")
		chat.press("alice", "b2", "Allow")
		time.Sleep(time.Minute)
		chat.want(t, 0, "Allowed.")
		chat.want(t, 1, "denied by alice")
	})
}

// TestResumedWithoutPermission: a turn whose starter was taken off the list ends at the next start, before any model call.
func TestResumedWithoutPermission(t *testing.T) {
	for range 20 {
		inBubble(t, func(b *bench, chat *fakeChat) {
			b.start()
			chat.say("alice", "e1", "m1 slow")
			time.Sleep(2 * time.Second)
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			b.model.forget()
			b.cfg.Access.Users = map[platforms.Name][]string{"test": {"bob"}}
			b.start()
			time.Sleep(time.Minute)
			if asked := b.model.asked(); len(asked) > 0 {
				t.Errorf("the model was called: %q", asked)
			}
			chat.want(t, 0, "re: m1")
		})
	}
}

// TestSlowBubbleAndTornLog: a progress message that is still being posted when its turn cannot be written down.
func TestSlowBubbleAndTornLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		chat.setSpoil(func(call string, out platforms.Outgoing) error {
			if call == "send" && strings.HasPrefix(out.Text, "**Working") {
				time.Sleep(7 * time.Second)
			}
			return nil
		})
		store := &faulty{Store: memory.New(), consumed: map[sessions.ItemID]int{}}
		failed := false
		store.fails = func(_ int, c sessions.Commit) (bool, bool) {
			a, ok := c.(sessions.Append)
			first := ok && !failed && len(a.Record.Consumed) > 0
			failed = failed || first
			return first, false
		}
		b := newBench(t, store, chat)
		b.start()
		chat.say("alice", "e1", "m1 tool")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// TestMentionAfterTalk: somebody who may not is logged when he calls the bot, however much was said before.
func TestMentionAfterTalk(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.start()
		for i, mentioned := range []bool{false, true, true} {
			o := chat.direct("alice")
			o.Kind, o.Address.Chat = platforms.Group, "elsewhere"
			id := fmt.Sprint("e", i)
			chat.deliver(&platforms.Message{Origin: o, Native: id, ID: id, Text: "m1", Mentioned: mentioned, At: time.Now()})
		}
		if n := strings.Count(b.log.String(), "msg=refused"); n != 1 {
			t.Errorf("it was logged %d times", n)
		}
	})
}

// TestStopWhileSending: an answer whose sending ends badly while the gateway shuts down is in doubt at the next start.
func TestStopWhileSending(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		lose := vanish("send", "re: m1", 1)
		chat.setSpoil(func(call string, out platforms.Outgoing) error {
			if strings.Contains(out.Text, "re: m1") {
				time.Sleep(3 * time.Second)
			}
			return lose(call, out)
		})
		b.start()
		chat.say("alice", "e1", "m1")
		time.Sleep(time.Second)
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.start()
		time.Sleep(time.Minute)
		chat.want(t, 0, "re: m1")
		chat.want(t, 1, "If it is missing")
	})
}

// TestStopOfAResumedTurn: a turn that waits for a worker after a restart is stopped at once, although all are busy.
func TestStopOfAResumedTurn(t *testing.T) {
	for range 8 { // which of the two gets the worker is chance
		inBubble(t, func(b *bench, chat *fakeChat) {
			b.start()
			chat.say("alice", "e1", "m1 slow")
			chat.say("bob", "e2", "m2 slow")
			time.Sleep(time.Second)
			if err := b.stop(); err != nil {
				t.Error(err)
			}
			b.cfg.Workers = 1
			b.start()
			time.Sleep(time.Second)
			chat.say("alice", "e3", "/stop")
			time.Sleep(time.Second)
			chat.want(t, 1, "Stopped. Send")
			time.Sleep(time.Minute)
			if n := chat.count("bob", "re: m2."); n != 1 {
				t.Errorf("bob was answered %d times", n)
			}
		})
	}
}

// TestManyMessages: whoever sends hundreds of messages is told which were not taken; nobody else waits for him.
func TestManyMessages(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.cfg.Workers = 2
		b.start()
		for i := range 500 {
			chat.say("alice", fmt.Sprint("a", i), fmt.Sprintf("m%d slow", i))
		}
		chat.say("bob", "b1", "m1000")
		time.Sleep(time.Second)
		if n := chat.count("bob", "re: m1000."); n != 1 {
			t.Errorf("bob was answered %d times", n)
		}
		time.Sleep(time.Hour)
		if answered, refused := chat.count("alice", "re: m"), chat.count("alice", "I did not take this one"); answered+refused != 500 {
			t.Errorf("%d were answered and %d refused", answered, refused)
		}
	})
}

// TestDeadPlatform: a platform that only the operator can cure harms no other, and what it was to say waits for the cure.
func TestDeadPlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat, dead := newFakeChat("test"), newFakeChat("dead")
		b := newBench(t, memory.New(), chat, dead)
		b.start()
		dead.setSpoil(func(call string, _ platforms.Outgoing) error {
			return &platforms.Error{Class: platforms.Fatal, Op: "test " + call}
		})
		dead.say("alice", "e1", "m1 slow")
		dead.fail(&platforms.Error{Class: platforms.Fatal, Op: "test run"})
		chat.say("alice", "e2", "m2 tool")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m2.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		dead.setSpoil(nil)
		b.start()
		time.Sleep(2 * time.Minute)
		dead.want(t, 1, "re: m1.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		b.check()
	})
}

// TestRefusedByAll: a platform that refuses every call for minutes gets everything in the end, in order and once.
func TestRefusedByAll(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		until := time.Now().Add(5 * time.Minute)
		chat.setSpoil(func(call string, _ platforms.Outgoing) error {
			if time.Now().Before(until) {
				return &platforms.Error{Class: platforms.RateLimited, Op: "test " + call, Wait: 7 * time.Second}
			}
			return nil
		})
		b.start()
		for i, text := range []string{"m0 tool", "m1 parts", "/status", "m2 ask"} {
			chat.say("alice", fmt.Sprint("e", i), text)
		}
		time.Sleep(time.Hour)
		for _, text := range []string{"re: m0.", "re: m1.", "part two", "part three", "Busy mode", "re: m2."} {
			chat.want(t, 1, text)
		}
	})
}

// TestPromptStaysTheSame: within a session every model call begins with the same bytes, across restarts too.
func TestPromptStaysTheSame(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		for i := range 4 {
			b.start()
			chat.say("alice", fmt.Sprint("e", i), fmt.Sprintf("m%d tool", i))
			time.Sleep(26 * time.Hour)
			if err := b.stop(); err != nil {
				t.Error(err)
			}
		}
		if n := b.model.promptsSeen(); n != 1 {
			t.Errorf("there were %d prompts", n)
		}
		b.start()
		chat.say("alice", "f1", "/new")
		chat.say("alice", "f2", "m9")
		time.Sleep(time.Minute)
		if n := b.model.promptsSeen(); n != 2 {
			t.Errorf("there were %d prompts after the reset", n)
		}
	})
}

// TestWaitingForPermission: a turn that waits for a person holds no worker.
func TestWaitingForPermission(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.cfg.Workers = 1
		b.start()
		chat.say("alice", "e1", "m1 ask")
		time.Sleep(time.Second)
		chat.say("bob", "e2", "m2 slow")
		time.Sleep(2 * time.Second)
		chat.press("alice", "b1", "Allow")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1.")
		if at := b.model.at["m2"]; at == 0 || at > 2*time.Second {
			t.Errorf("bob's turn began after %s", at)
		}
		chat.say("alice", "e3", "m3")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m3.")
	})
}

// TestAnswerAgainTwice: a button that is pressed twice has one answer.
func TestAnswerAgainTwice(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.start()
		chat.say("alice", "e1", "m1")
		time.Sleep(time.Second)
		chat.deliver(&platforms.MessageEdited{Original: "e1", Message: platforms.Message{
			Origin: chat.direct("alice"), Native: "e1.1", ID: "e1", Text: "m2 slow", Mentioned: true, At: time.Now(),
		}})
		time.Sleep(time.Second)
		chat.press("alice", "b1", "Answer again")
		chat.press("alice", "b2", "Answer again")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m2.")
	})
}
