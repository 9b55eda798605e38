package gateway_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// TestRubbish: what cannot be worked on is answered in one line, what nobody wrote is ignored, and neither reaches the
// model or disturbs what follows.
func TestRubbish(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		b.start()
		message := func(id, text string) *platforms.Message {
			return &platforms.Message{
				Origin: chat.direct("alice"), Native: "test/" + id, ID: id, Text: text, Mentioned: true, At: time.Now(),
			}
		}
		chat.deliver(message("m1", strings.Repeat("x", 10<<20)))
		chat.deliver(message("m2", strings.Repeat("äöü ", 45_000))) // 300 KiB
		chat.deliver(message("m3", " \n\t "))
		sticker := message("m4", "")
		sticker.Attachments = []platforms.Attachment{{Kind: "sticker"}}
		chat.deliver(sticker)
		bot := message("m5", "hello from a bot")
		bot.Sender.Bot = true
		chat.deliver(bot)
		nobody := message("m6", "hello from nobody")
		nobody.Sender = platforms.Person{}
		chat.deliver(nobody)
		time.Sleep(time.Minute)
		if asked := b.model.asked(); len(asked) != 0 {
			t.Fatalf("the model was asked %q", asked)
		}
		for text, n := range map[string]int{"too long": 2, "empty message": 1, "sticker": 1} {
			if got := chat.count("alice", text); got != n {
				t.Errorf("%q was said %d times, want %d", text, got, n)
			}
		}
		for item, err := range b.store.Pending(t.Context()) {
			t.Errorf("still pending: %s %v", item.ID, err)
		}
		chat.say("alice", "e9", "m9")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m9.")
	})
}

// TestUnreadable: what the store holds and nobody can read stops neither the start nor its conversation.
func TestUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chat := newFakeChat("test")
		b := newBench(t, memory.New(), chat)
		key := gateway.SessionKey(chat.direct("alice"))
		commit := func(c sessions.Commit) {
			if _, err := b.store.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		commit(sessions.Accept{Item: sessions.Item{ID: "bad", Key: key, Payload: []byte("{"), At: time.Now()}})
		conv, err := b.store.Acquire(t.Context(), key, "earlier")
		if err != nil {
			t.Fatal(err)
		}
		commit(sessions.Append{Lease: conv.Lease, After: conv.Revision, Record: sessions.Record{
			At: time.Now(), Outbox: []sessions.Row{{
				ID: "bad", Key: key, Lane: "test/a/alice", Payload: []byte("{"), Parts: []sessions.Part{{State: sessions.Queued}},
			}},
		}})
		b.start()
		chat.say("alice", "e1", "m1")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1.")
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		if log := b.log.String(); strings.Count(log, "left alone") != 2 {
			t.Errorf("the log does not say twice that something is left alone:\n%s", log)
		}
	})
}
