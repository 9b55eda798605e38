package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

func TestDirectMessage(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		id := b.say(sim.Say{User: ada, Chat: dm, Text: "hello & <b>"})
		m := b.message()
		if m.Text != "hello & <b>" || m.Kind != platforms.Direct || !m.Mentioned || m.ID != id ||
			m.Address != in(dm, "") || m.Sender.ID != ada || m.Sender.Name != "Ada" || m.At.IsZero() {
			t.Errorf("got %+v", m)
		}
		if n := b.sim.Unacknowledged(); n != 0 {
			t.Errorf("%d envelopes are not acknowledged", n)
		}
		reply := b.say(sim.Say{User: ada, Chat: dm, Thread: id, Text: "in a thread"})
		if m := b.message(); m.Address != in(dm, id) || m.ID != reply {
			t.Errorf("a reply in a thread came from %v", m.Address)
		}
	})
}

// A mention arrives as message and as app_mention, in either order: both copies must be one message to the gateway.
func TestMentionIsOneMessage(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		for i := range 8 {
			id := b.say(sim.Say{User: ada, Chat: room, Text: fmt.Sprint("task ", i), Mention: true})
			got := b.got()
			if len(got) != 2 {
				t.Fatalf("got %d updates, want the two copies", len(got))
			}
			for _, u := range got {
				m := u.(*platforms.Message)
				if m.Native != "slack/T0SIM/m/"+room+"/"+id || !m.Mentioned || m.Text != fmt.Sprint("task ", i) ||
					m.Address != in(room, id) || m.Kind != platforms.Thread || m.Title != "room" {
					t.Errorf("got %+v", m)
				}
			}
		}
	})
}

func TestChannelMessages(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		root := b.say(sim.Say{User: ada, Chat: room, Text: "to nobody"})
		if m := b.message(); m.Mentioned || m.MentionsOther {
			t.Errorf("a message to nobody: %+v", m)
		}
		b.say(sim.Say{User: ada, Chat: room, Thread: root, Text: "@Bob what do you think?"})
		m := b.message()
		if m.Mentioned || !m.MentionsOther || m.Text != "@U0BOB what do you think?" || m.Address.Thread != root {
			t.Errorf("a message to Bob: %+v", m)
		}
		b.say(sim.Say{User: ada, Chat: crowd, Text: "hi", Mention: true})
		if m := b.message(); m.Kind != platforms.Thread || !m.Mentioned || m.Address.Thread != m.ID {
			t.Errorf("a mention in a group DM: %+v", m)
		}
		b.say(sim.Say{User: ada, Chat: room, Text: "", File: "notes.txt"})
		m = b.message()
		if len(m.Attachments) != 1 || m.Attachments[0].Name != "notes.txt" || m.Attachments[0].Kind != "document" {
			t.Errorf("a file alone: %+v", m)
		}
	})
}

func TestReplyBelowTheBotsMessageIsForTheBot(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		root := b.post(in(room, ""), platforms.Outgoing{Text: "done"})
		b.got()
		b.say(sim.Say{User: ada, Chat: room, Thread: root, Text: "thanks"})
		if m := b.message(); !m.Mentioned {
			t.Errorf("got %+v", m)
		}
	})
}

func TestBotsAndOurselvesAreDropped(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		id := b.post(in(room, ""), platforms.Outgoing{Text: "hello"})
		if err := b.adapter.Edit(t.Context(), in(room, ""), id, platforms.Outgoing{Text: "hello again"}); err != nil {
			t.Fatal(err)
		}
		if err := b.sim.Unfurl(room, id); err != nil {
			t.Fatal(err)
		}
		if err := b.adapter.Delete(t.Context(), in(room, ""), id); err != nil {
			t.Fatal(err)
		}
		b.say(sim.Say{User: "U0OTHERBOT", Chat: room, Text: "beep", Mention: true})
		if got := b.got(); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
		if n := b.sim.Unacknowledged(); n != 0 {
			t.Errorf("%d envelopes are not acknowledged", n)
		}
	})
}

func TestEditsAndDeletions(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		id := b.say(sim.Say{User: ada, Chat: dm, Text: "one"})
		b.got()
		if err := b.sim.Unfurl(dm, id); err != nil {
			t.Fatal(err)
		}
		if got := b.got(); len(got) != 0 {
			t.Errorf("a link preview came as %+v", got)
		}
		if err := b.sim.EditAs(ada, dm, id, "two"); err != nil {
			t.Fatal(err)
		}
		got := b.got()
		if len(got) != 1 {
			t.Fatalf("got %d updates for an edit", len(got))
		}
		edit, ok := got[0].(*platforms.MessageEdited)
		if !ok || edit.Text != "two" || edit.ID != id || edit.Address != in(dm, "") || !edit.Mentioned {
			t.Errorf("got %+v", got[0])
		}
		if want := "slack/T0SIM/e/" + dm + "/" + id + "/"; len(edit.Native) <= len(want) || edit.Native[:len(want)] != want {
			t.Errorf("native id %q", edit.Native)
		}
		if err := b.sim.DeleteAs(ada, dm, id); err != nil {
			t.Fatal(err)
		}
		got = b.got()
		if len(got) != 1 {
			t.Fatalf("got %d updates for a deletion", len(got))
		}
		if d, ok := got[0].(*platforms.MessageDeleted); !ok || d.MessageID != id || d.Native != "slack/T0SIM/d/"+dm+"/"+id {
			t.Errorf("got %+v", got[0])
		}
	})
}

func TestTombstoneIsADeletion(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		root := b.say(sim.Say{User: ada, Chat: room, Text: "root"})
		b.say(sim.Say{User: bob, Chat: room, Thread: root, Text: "reply"})
		b.got()
		if err := b.sim.DeleteAs(ada, room, root); err != nil {
			t.Fatal(err)
		}
		got := b.got()
		if len(got) != 1 {
			t.Fatalf("got %d updates", len(got))
		}
		if d, ok := got[0].(*platforms.MessageDeleted); !ok || d.MessageID != root || d.Address != in(room, root) {
			t.Errorf("got %+v", got[0])
		}
	})
}

func TestRefusedBySinkIsAskedAgainInOrder(t *testing.T) {
	failures := 3
	inBubble(t, func(b *bench) {
		b.sink = func(context.Context, platforms.Update) (platforms.Receipt, error) {
			if failures > 0 {
				failures--
				return platforms.Receipt{}, errors.New("disk full")
			}
			return platforms.Receipt{}, nil
		}
	}, func(t *testing.T, b *bench) {
		first := b.say(sim.Say{User: ada, Chat: dm, Text: "first"})
		second := b.say(sim.Say{User: ada, Chat: dm, Text: "second"})
		time.Sleep(10 * time.Millisecond)
		if n := b.sim.Unacknowledged(); n != 2 {
			t.Errorf("%d envelopes wait, want both", n)
		}
		time.Sleep(time.Minute)
		var order []string
		seen := map[string]bool{}
		for _, u := range b.got() {
			if m := u.(*platforms.Message); !seen[m.ID] {
				seen[m.ID] = true
				order = append(order, m.ID)
			}
		}
		if len(order) != 2 || order[0] != first || order[1] != second {
			t.Errorf("order %v, want %v", order, []string{first, second})
		}
		if n := b.sim.Unacknowledged(); n != 0 {
			t.Errorf("%d envelopes are not acknowledged", n)
		}
	})
}

// A slow sink means a late acknowledgement: Slack sends the event again, and it must be the same event.
func TestRedeliveryHasTheSameIdentity(t *testing.T) {
	slow := true
	inBubble(t, func(b *bench) {
		b.sink = func(context.Context, platforms.Update) (platforms.Receipt, error) {
			if slow {
				slow = false
				time.Sleep(4 * time.Second)
			}
			return platforms.Receipt{}, nil
		}
	}, func(t *testing.T, b *bench) {
		id := b.say(sim.Say{User: ada, Chat: dm, Text: "slow"})
		time.Sleep(10 * time.Second)
		got := b.got()
		if len(got) != 2 || got[0].NativeID() != got[1].NativeID() || got[0].NativeID() != "slack/T0SIM/m/"+dm+"/"+id {
			t.Errorf("got %+v", got)
		}
	})
}

func TestUnknownEventsAreAcknowledgedAndCounted(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		b.sim.EmitEvent(map[string]any{"type": "planet_exploded", "planet": 3})
		b.sim.EmitEvent(map[string]any{"type": "planet_exploded", "planet": 4})
		b.sim.EmitEvent(map[string]any{"type": "reaction_added", "user": ada, "reaction": "eyes", "item": map[string]any{"type": "message"}})
		b.sim.EmitEvent(map[string]any{"type": "message", "channel": 7, "ts": []int{1}})
		b.sim.EmitEvent("not an object")
		b.sim.EmitFrame(`{"type":"strange","envelope_id":"x","payload":{}}`)
		b.sim.EmitFrame(`no JSON at all`)
		b.say(sim.Say{User: ada, Chat: dm, Text: "still there?"})
		if m := b.message(); m.Text != "still there?" {
			t.Errorf("got %+v", m)
		}
		if n := b.sim.Unacknowledged(); n != 0 {
			t.Errorf("%d envelopes are not acknowledged", n)
		}
		counts := b.adapter.Ignored()
		if counts["event planet_exploded"] != 2 || counts["event reaction_added"] != 1 || counts["event message"] != 1 ||
			counts["events_api"] != 1 || counts["envelope strange"] != 1 {
			t.Errorf("counts %v", counts)
		}
	})
}

func TestHugeMessage(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		huge := strings.Repeat("0123456789", 1<<20)
		b.sim.EmitEvent(map[string]any{
			"type": "message", "channel": dm, "channel_type": "im", "user": ada, "ts": "1700000000.000100", "text": huge,
		})
		if m := b.message(); m.Text != huge {
			t.Errorf("of 10 MB %d bytes arrived", len(m.Text))
		}
	})
}

func TestDuplicatedAndSwappedEvents(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		b.sim.Faults().Events.Duplicate(1)
		b.say(sim.Say{User: ada, Chat: dm, Text: "twice"})
		if got := b.got(); len(got) != 2 || got[0].NativeID() != got[1].NativeID() {
			t.Errorf("got %+v", got)
		}
		b.sim.Faults().Events.Swap()
		b.say(sim.Say{User: ada, Chat: dm, Text: "a"})
		b.say(sim.Say{User: ada, Chat: dm, Text: "b"})
		if got := b.got(); len(got) != 2 || got[0].(*platforms.Message).Text != "b" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestNamesNeverHoldAMessageBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.sim.Faults().Add(sim.Fault{Method: "users.info", Delay: time.Hour, Times: -1})
	}, func(t *testing.T, b *bench) {
		b.say(sim.Say{User: ada, Chat: dm, Text: "who am I?"})
		time.Sleep(nameWithin)
		if m := b.message(); m.Sender.ID != ada || m.Sender.Name != "" {
			t.Errorf("got %+v", m)
		}
		b.say(sim.Say{User: ada, Chat: dm, Text: "and now?"})
		if m := b.message(); m.Text != "and now?" { // at once: the failure is remembered
			t.Errorf("got %+v", m)
		}
	})
}

func TestOverloadLeavesEventsToSlack(t *testing.T) {
	in := newIntake(&Adapter{}, nil)
	ctx, stop := context.WithCancel(t.Context())
	stop() // lanes drop what they have
	release := make(chan struct{})
	in.sink = func(context.Context, platforms.Update) (platforms.Receipt, error) {
		<-release
		return platforms.Receipt{}, nil
	}
	in.queued = mostQueued
	one := delivery{decoded: decoded{update: &platforms.ButtonPressed{}}, ack: func(any) {}}
	if in.put(ctx, one) {
		t.Error("one more was queued than fits")
	}
	in.queued--
	if !in.put(ctx, one) {
		t.Error("the last place was refused")
	}
	close(release)
	in.wait()
	if in.queued != mostQueued-1 {
		t.Errorf("%d are queued at the end, want %d", in.queued, mostQueued-1)
	}
}

// A crowd of new people uses up Slack's quota for users.info; nobody's message waits for it.
func TestCrowdDoesNotWaitForNames(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		for i := range 200 {
			user := fmt.Sprintf("U1%03d", i)
			b.sim.AddUser(sim.User{ID: user, Name: "Somebody"})
			b.say(sim.Say{User: user, Chat: room, Text: "hi"})
		}
		got := b.got()
		if len(got) != 200 {
			t.Fatalf("%d messages came at once", len(got))
		}
		named := 0
		for _, u := range got {
			if u.(*platforms.Message).Sender.Name != "" {
				named++
			}
		}
		if named < 10 {
			t.Errorf("only %d have a name", named)
		}
	})
}

func TestNamesAreBounded(t *testing.T) {
	n := newNames(nil)
	for i := range 2 * mostNames {
		n.keep(fmt.Sprint("U", i), name{text: "x"})
	}
	if len(n.known) != mostNames {
		t.Errorf("%d names are kept", len(n.known))
	}
}
