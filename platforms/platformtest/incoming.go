package platformtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// What people do must reach the sink, once each, in order, and be acknowledged only when it is durable.

func arrives(t *testing.T, r *running) {
	before := time.Now()
	id := r.say(t, "hello & <b>welcome</b>")
	got := r.accepted(5 * time.Second)
	if len(got) != 1 {
		t.Fatalf("the sink got %d updates, want 1: %v", len(got), got)
	}
	m, ok := got[0].(*platforms.Message)
	if !ok {
		t.Fatalf("the sink got a %T", got[0])
	}
	if m.Address != r.At || m.ID != id || m.Text != "hello & <b>welcome</b>" || m.Sender.ID != r.User || m.Kind != platforms.Direct {
		t.Errorf("message is %+v", m)
	}
	if !m.Mentioned || m.Sender.Bot || m.MentionsOther {
		t.Errorf("a direct message by a person is for the bot: %+v", m)
	}
	if at := m.At.Sub(before); at < -time.Second || at > 5*time.Second {
		t.Errorf("message has the time %v, was written at %v", m.At, before)
	}
	if alive, ok := r.Adapter.(platforms.Prober); ok && alive.LastAlive().IsZero() {
		t.Error("a connected adapter shows no sign of life")
	}
}

func keepsOrder(t *testing.T, r *running) {
	const n = 30
	for i := range n {
		r.say(t, fmt.Sprint("message ", i))
	}
	got := r.accepted(time.Minute)
	if len(got) != n {
		t.Fatalf("the sink got %d updates, want %d", len(got), n)
	}
	for i, u := range got {
		if text := u.(*platforms.Message).Text; text != fmt.Sprint("message ", i) {
			t.Fatalf("update %d is %q", i, text)
		}
	}
}

func mentioned(t *testing.T, r *running) {
	got := r.sayInGroup(t, sim.Say{Text: "what time is it?", Mention: true})
	if len(got) != 1 {
		t.Fatalf("the sink got %d messages, want 1: %v", len(got), got)
	}
	m := got[0]
	if !m.Mentioned || m.MentionsOther || m.Text != "what time is it?" || m.Kind == platforms.Direct || m.Sender.ID != r.User {
		t.Errorf("the mention is %+v", m)
	}
	id, err := r.Adapter.Send(t.Context(), m.Address, platforms.Outgoing{Text: "noon", ReplyTo: m.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range r.Stage.Visible(r.Group) {
		if shown.ID == id && shown.Visible == "noon" {
			return
		}
	}
	t.Errorf("the answer does not show in the group: %+v", r.Stage.Visible(r.Group))
}

func notMentioned(t *testing.T, r *running) {
	for _, m := range r.sayInGroup(t, sim.Say{Text: "lunch, anybody?"}) {
		if m.Mentioned {
			t.Errorf("small talk counts as addressed to the bot: %+v", m)
		}
	}
}

func editArrives(t *testing.T, r *running) {
	id := r.say(t, "first")
	time.Sleep(2 * time.Second)
	if err := r.Stage.EditAs(r.User, r.Chat, id, "second"); err != nil {
		t.Fatal(err)
	}
	got := r.accepted(5 * time.Second)
	if len(got) != 2 {
		t.Fatalf("the sink got %d updates, want 2", len(got))
	}
	e, ok := got[1].(*platforms.MessageEdited)
	if !ok || e.ID != id || e.Text != "second" || e.Sender.ID != r.User {
		t.Errorf("second update is %#v", got[1])
	}
	if ok && e.Original != got[0].NativeID() {
		t.Errorf("the edit names %q as its original, the message is %q", e.Original, got[0].NativeID())
	}
	if got[0].NativeID() == got[1].NativeID() {
		t.Errorf("message and edit share the native id %q", got[0].NativeID())
	}
}

func redelivered(t *testing.T, r *running) {
	failures := 2
	r.onUpdate(func(platforms.Update) (platforms.Receipt, error) {
		if failures > 0 {
			failures--
			return platforms.Receipt{}, errors.New("the store is full")
		}
		return platforms.Receipt{}, nil
	})
	r.say(t, "one")
	r.say(t, "two")
	got := r.accepted(10 * time.Minute)
	var texts []string
	seen := map[string]bool{}
	for _, u := range got {
		if !seen[u.NativeID()] {
			texts = append(texts, u.(*platforms.Message).Text)
		}
		seen[u.NativeID()] = true
	}
	if strings.Join(texts, " ") != "one two" {
		t.Errorf("accepted after the failures: %q, want one and two in order", texts)
	}
}

func deliveredTwice(t *testing.T, r *running) {
	r.Stage.Faults().Events.Duplicate(1)
	r.say(t, "once")
	got := r.accepted(time.Minute)
	if len(got) != 2 || got[0].NativeID() != got[1].NativeID() {
		t.Errorf("duplicate gave %v, want two updates of one native id", got)
	}
	r.say(t, "once")
	if all := r.accepted(time.Minute); len(all) != 3 || all[2].NativeID() == got[0].NativeID() {
		t.Errorf("another message with the same text must have an id of its own: %v", all)
	}
}

func pressed(t *testing.T, r *running) {
	r.onUpdate(func(u platforms.Update) (platforms.Receipt, error) {
		return platforms.Receipt{Note: "stopping"}, nil
	})
	id := r.send(t, platforms.Outgoing{Text: "working", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "stop:42"}}}})
	shown, err := r.Stage.Press(r.User, r.Chat, id, "stop:42")
	if err != nil {
		t.Fatal(err)
	}
	got := r.accepted(2 * time.Second)
	if len(got) != 1 {
		t.Fatalf("the sink got %d updates, want 1", len(got))
	}
	b, ok := got[0].(*platforms.ButtonPressed)
	if !ok || b.Data != "stop:42" || b.MessageID != id || b.Sender.ID != r.User || b.Address != r.At || b.Kind != platforms.Direct {
		t.Errorf("the press is %#v", got[0])
	}
	select {
	case note := <-shown:
		if note != "stopping" {
			t.Errorf("the person sees %q, want the receipt's note", note)
		}
	default:
		t.Error("the press was not acknowledged")
	}
}

func pressedSlow(t *testing.T, r *running) {
	release := make(chan struct{})
	r.onUpdate(func(platforms.Update) (platforms.Receipt, error) {
		<-release
		return platforms.Receipt{Note: "too late to be seen"}, nil
	})
	id := r.send(t, platforms.Outgoing{Text: "working", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "stop:42"}}}})
	shown, err := r.Stage.Press(r.User, r.Chat, id, "stop:42")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2500 * time.Millisecond)
	synctest.Wait()
	select {
	case note := <-shown:
		if note != "" {
			t.Errorf("the person sees %q", note)
		}
	default:
		t.Error("the press was not acknowledged within 2.5 s of a busy sink")
	}
	close(release)
	if got := r.accepted(5 * time.Second); len(got) == 0 {
		t.Error("the press was acknowledged but never accepted")
	}
}
