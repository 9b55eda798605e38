package discord

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

// TestNotForUs sends what must not reach the sink: bots, webhooks, notices of the service, nonsense. The connection must
// live through all of it.
func TestNotForUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		r.sim.AddUser(sim.User{ID: "2009", Name: "otherbot", Bot: true})
		r.say(sim.Say{User: "2009", Chat: general, Text: "I am a bot", Mention: true})
		r.sim.Publish(ann, general, map[string]any{"content": "by a webhook", "webhook_id": "77"})
		for _, notice := range []int{1, 6, 7, 18, 21, 46} {
			r.sim.Publish(ann, general, map[string]any{"type": notice, "content": "a notice"})
		}
		r.sim.Dispatch("BRAND_NEW_EVENT", map[string]any{"x": 1})
		r.sim.Dispatch("MESSAGE_CREATE", nil)
		r.sim.Dispatch("MESSAGE_CREATE", "text")
		r.sim.Dispatch("MESSAGE_CREATE", map[string]any{"id": 5, "content": []int{1}})
		r.sim.Dispatch("MESSAGE_CREATE", map[string]any{"content": "no ids"})
		r.sim.Dispatch("INTERACTION_CREATE", map[string]any{"type": 3})
		r.sim.Dispatch("GUILD_CREATE", nil)
		r.sim.Frame("{nonsense")
		if got := r.take(); len(got) > 0 {
			t.Errorf("got %+v", got)
		}
		if n := r.adapter.odd.total(); n < 7 {
			t.Errorf("%d oddities counted", n)
		}
		r.say(sim.Say{User: ann, Chat: dm, Text: "still there?"})
		one[*platforms.Message](r)
		if r.sim.Resumed() > 0 {
			t.Error("the connection did not live through it")
		}
	})
}

func TestEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		id := r.say(sim.Say{User: ann, Chat: general, Text: "frist"})
		first := one[*platforms.Message](r)
		if err := r.sim.Unfurl(general, id); err != nil {
			t.Fatal(err)
		}
		if got := r.take(); len(got) > 0 {
			t.Errorf("a link preview counts as %+v", got[0])
		}
		if err := r.sim.EditAs(ann, general, id, "first"); err != nil {
			t.Fatal(err)
		}
		edit := one[*platforms.MessageEdited](r)
		if edit.Text != "first" || edit.ID != id || edit.Native == first.Native || !strings.Contains(edit.Native, "/e/"+id+"/") {
			t.Errorf("got %+v", edit)
		}
		if err := r.sim.Unfurl(general, id); err != nil {
			t.Fatal(err)
		}
		if got := r.take(); len(got) > 0 {
			t.Errorf("a link preview after an edit counts as %+v", got[0])
		}
		time.Sleep(time.Second)
		if err := r.sim.EditAs(ann, general, id, "first!"); err != nil {
			t.Fatal(err)
		}
		if again := one[*platforms.MessageEdited](r); again.Native == edit.Native {
			t.Error("two edits share a native id")
		}
		if err := r.sim.DeleteAs(ann, general, id); err != nil {
			t.Fatal(err)
		}
		gone := one[*platforms.MessageDeleted](r)
		if gone.MessageID != id || gone.Address != at(general) {
			t.Errorf("got %+v", gone)
		}
		r.sim.Dispatch("MESSAGE_DELETE_BULK", map[string]any{"ids": []string{"51", "52"}, "channel_id": general, "guild_id": simulator.Guild})
		if got := r.take(); len(got) != 2 || got[1].(*platforms.MessageDeleted).MessageID != "52" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		mine, err := r.adapter.Send(t.Context(), at(general), platforms.Outgoing{
			Text: "the answer", Buttons: [][]platforms.Button{{{Label: "More", Data: "more"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.say(sim.Say{User: ann, Chat: general, Text: "why?", ReplyTo: mine})
		got := one[*platforms.Message](r)
		want := &platforms.Quote{MessageID: mine, Sender: platforms.Person{ID: simulator.BotUser, Name: "Talaria", Bot: true}, Text: "the answer", Own: true}
		if !got.Mentioned || got.MentionsOther || !cmp.Equal(got.Quoted, want) {
			t.Errorf("got %+v, quoting %+v", got, got.Quoted)
		}
		bobs := r.say(sim.Say{User: bob, Chat: general, Text: "I think so too"})
		r.take()
		r.say(sim.Say{User: ann, Chat: general, Text: "no", ReplyTo: bobs})
		if got = one[*platforms.Message](r); got.Mentioned || !got.MentionsOther || got.Quoted == nil || got.Quoted.Own {
			t.Errorf("got %+v", got)
		}
	})
}

func TestWhatPeopleSend(t *testing.T) {
	snapshot := map[string]any{"message": map[string]any{
		"content": "the forwarded words", "attachments": []map[string]any{{"id": "9", "filename": "p.png", "content_type": "image/png", "size": 7}},
	}}
	for name, c := range map[string]struct {
		fields map[string]any
		text   string
		files  []platforms.Attachment
	}{
		"forward": {
			map[string]any{"message_reference": map[string]any{"type": 1, "message_id": "5", "channel_id": "6"}, "message_snapshots": []any{snapshot}},
			"the forwarded words",
			[]platforms.Attachment{{Kind: "photo", Name: "p.png", Type: "image/png", Size: 7}},
		},
		"sticker": {
			map[string]any{"sticker_items": []any{map[string]any{"id": "8", "name": "Wave", "format_type": 1}}}, "", []platforms.Attachment{{Kind: "sticker", Name: "Wave"}},
		},
		"voice": {
			map[string]any{"flags": 1 << 13, "attachments": []any{map[string]any{"id": "9", "filename": "v.ogg", "content_type": "audio/ogg", "size": 9, "duration_secs": 2.5}}},
			"",
			[]platforms.Attachment{{Kind: "voice", Name: "v.ogg", Type: "audio/ogg", Size: 9}},
		},
		"poll": {
			map[string]any{"poll": map[string]any{"question": map[string]any{"text": "Tea?"}}}, "Tea?", []platforms.Attachment{{Kind: "poll", Name: "Tea?"}},
		},
		"unknown component": {map[string]any{"content": "hi", "components": []any{map[string]any{"type": 99}}}, "hi", nil},
		"emoji":             {map[string]any{"content": "well <:done:123> <a:wave:4>"}, "well :done: :wave:", nil},
		"deleted reply":     {map[string]any{"type": 19, "content": "to nothing", "referenced_message": nil}, "to nothing", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, simulator.Options{})
				r.sim.Publish(ann, dm, c.fields)
				got := one[*platforms.Message](r)
				for i := range got.Attachments {
					if strings.Contains(got.Attachments[i].Ref, "http") {
						t.Errorf("reference %q holds an address", got.Attachments[i].Ref)
					}
					got.Attachments[i].Ref = ""
				}
				if got.Forwarded != (name == "forward") {
					t.Errorf("forwarded is %v", got.Forwarded)
				}
				if diff := cmp.Diff(c.files, got.Attachments); got.Text != c.text || diff != "" {
					t.Errorf("text %q, want %q; attachments %s", got.Text, c.text, diff)
				}
			})
		})
	}
}

// TestUnknownChannel looks a channel up that no event has mentioned, and tries again when that fails.
func TestUnknownChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		r.sim.Archive("4001", false)
		r.say(sim.Say{User: ann, Chat: general, Thread: "4001", Text: "one"})
		one[*platforms.Message](r)
		r.adapter.places.drop("4001")
		r.sim.Faults().Add(sim.Fault{Method: "GET /channels", Status: 500, Times: 2})
		r.say(sim.Say{User: ann, Chat: general, Thread: "4001", Text: "two"})
		time.Sleep(10 * time.Second)
		if got := one[*platforms.Message](r); got.Address != in(general, "4001") || got.Kind != platforms.Thread {
			t.Errorf("got %+v", got)
		}
	})
}

// TestDuplicatesAndOrder delivers an event twice, and lets the sink fail in the middle of a conversation.
func TestDuplicatesAndOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		r.sim.Faults().Events.Duplicate(1)
		r.say(sim.Say{User: ann, Chat: dm, Text: "once"})
		got := r.take()
		if len(got) != 2 || got[0].NativeID() != got[1].NativeID() {
			t.Errorf("got %+v", got)
		}
		r.fail = 3
		for _, text := range []string{"a", "b", "c"} {
			r.say(sim.Say{User: ann, Chat: dm, Text: text})
		}
		time.Sleep(10 * time.Second)
		var texts []string
		for _, u := range r.take() {
			texts = append(texts, u.(*platforms.Message).Text)
		}
		if strings.Join(texts, "") != "abc" {
			t.Errorf("got %q", texts)
		}
	})
}

// TestOwnRoles follows the bot's roles: a mention of one that it was given later is for it.
func TestOwnRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		say := func() *platforms.Message {
			r.say(sim.Say{User: ann, Chat: general, Text: "<@&777> help"})
			return one[*platforms.Message](r)
		}
		if got := say(); got.Mentioned || !got.MentionsOther || got.Text != "<@&777> help" {
			t.Errorf("got %+v", got)
		}
		r.sim.Dispatch("GUILD_MEMBER_UPDATE", map[string]any{
			"guild_id": simulator.Guild, "user": map[string]any{"id": simulator.BotUser}, "roles": []string{"777"},
		})
		if got := say(); !got.Mentioned || got.MentionsOther || got.Text != "help" {
			t.Errorf("got %+v", got)
		}
	})
}

// FuzzReceive decodes whatever comes: nothing may panic, and nothing without a native id may get through.
func FuzzReceive(f *testing.F) {
	f.Add(`{"id":"1","channel_id":"2","author":{"id":"3"},"type":19,"content":"<@4> x","referenced_message":{"id":"5"},"mentions":[{"id":"4"}]}`)
	f.Add(`{"id":"1","channel_id":"2","guild_id":"9","author":{"id":"3"},"edited_timestamp":"x","message_snapshots":[{}],"poll":{}}`)
	f.Add(`{"id":"1","channel_id":"2","type":2,"token":"t","user":{"id":"3"},"data":{"name":"N","options":[{"value":1}]}}`)
	f.Add(`{"ids":["1"],"channel_id":"2","threads":[{}],"members":[{}],"channels":[{"id":"2","type":11}]}`)
	f.Fuzz(func(t *testing.T, data string) {
		a, err := New(Config{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		a.me.Store(&identity{application: "1", user: "4"})
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nothing is looked up, and no interaction is answered
		l := &lanes{a: a, ctx: ctx}
		for _, name := range []string{
			"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "INTERACTION_CREATE",
			"GUILD_CREATE", "GUILD_MEMBER_UPDATE", "THREAD_CREATE", "THREAD_DELETE", "THREAD_LIST_SYNC", "OTHER",
		} {
			a.receive(l, name, []byte(data))
		}
		for i := range l.lanes {
			for _, next := range l.lanes[i].queue {
				if u, err := next.update(ctx); err == nil && u.NativeID() == "" {
					t.Errorf("%T without a native id", u)
				}
			}
		}
		l.acks.Wait()
	})
}
