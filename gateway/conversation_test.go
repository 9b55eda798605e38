package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
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
