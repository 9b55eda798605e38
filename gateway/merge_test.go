package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

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

// TestAlbumAnswersAQuestion: an album is the answer to the model's question once it is whole, wherever its words stand, and
// one without a word is answered in a line.
func TestAlbumAnswersAQuestion(t *testing.T) {
	inBubble(t, func(b *bench, chat *fakeChat) {
		clarify, err := agenttools.NewClarify()
		if err != nil {
			t.Fatal(err)
		}
		b.tools = clarify
		b.start()
		part := func(id, album, text string) {
			m := &platforms.Message{Origin: chat.direct("alice"), Native: id, ID: id, Text: text, Mentioned: true, Album: album, At: time.Now()}
			if album != "" {
				m.Attachments = []platforms.Attachment{{Kind: "photo", Name: id + ".jpg"}}
			}
			chat.deliver(m)
			time.Sleep(100 * time.Millisecond)
		}
		part("e1", "", "m1 wonder")
		time.Sleep(time.Minute)
		part("e2", "g1", "")
		part("e3", "g1", "")
		time.Sleep(time.Minute)
		chat.want(t, 1, "without any text")
		part("e4", "g2", "")
		part("e5", "g2", "the red one")
		part("e6", "g2", "")
		time.Sleep(time.Minute)
		chat.want(t, 1, "re: m1. The person answered: the red one")
		for _, id := range []string{"e4", "e5", "e6"} {
			chat.want(t, 2, id+".jpg") // under the question, and in the answer
		}
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
		if at := b.model.since("m1"); at < 2*time.Second {
			t.Errorf("the turn of the split message began after %s", at)
		}
	})
}

// TestTooMuchForOneTurn: messages that are answered together are no longer than the longest single one may be; the rest
// makes the next turn, and nothing is lost.
func TestTooMuchForOneTurn(t *testing.T) {
	for _, busy := range []gateway.Busy{gateway.Interrupt, gateway.Collect, gateway.Steer} {
		t.Run(string(busy), func(t *testing.T) {
			inBubble(t, func(b *bench, chat *fakeChat) {
				b.cfg.Busy, b.cfg.Debounce = busy, time.Second
				b.cfg.Window = 10_000_000
				b.start()
				if busy == gateway.Steer {
					chat.say("alice", "e", "m99 tool")
					time.Sleep(2 * time.Second)
				}
				for i := range 9 {
					chat.say("alice", fmt.Sprint("e", i), fmt.Sprintf("m%d %s", i, strings.Repeat("x", 100<<10)))
				}
				time.Sleep(time.Hour)
				for key := range b.store.Keys(t.Context()) {
					for r := range b.store.History(t.Context(), key, 0) {
						for _, e := range r.Entries {
							var text string
							switch e := e.(type) {
							case sessions.UserMessage:
								text = e.Message.Text
							case sessions.Steered:
								text = e.Message.Text
							}
							if len(text) > 257<<10 {
								t.Errorf("%d bytes came together", len(text))
							}
						}
					}
				}
				for i := range 9 {
					name, n := fmt.Sprint("m", i), 0
					for _, p := range chat.all() {
						if slices.Contains(messageName.FindAllString(p.out.Text, -1), name) && strings.HasPrefix(p.out.Text, "re:") {
							n++
						}
					}
					if n != 1 {
						t.Errorf("%s was answered %d times", name, n)
					}
				}
			})
		})
	}
}
