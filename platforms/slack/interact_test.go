package slack

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

func noting(note string) platforms.Sink {
	return func(context.Context, platforms.Update) (platforms.Receipt, error) {
		return platforms.Receipt{Note: note}, nil
	}
}

func TestButton(t *testing.T) {
	inBubble(t, func(b *bench) { b.sink = noting("You said *yes* & meant it") }, func(t *testing.T, b *bench) {
		root := b.say(sim.Say{User: ada, Chat: room, Text: "go", Mention: true})
		b.got()
		id := b.post(in(room, root), platforms.Outgoing{
			Text:    "May I?",
			Buttons: [][]platforms.Button{{{Label: "Yes", Data: "y:1"}, {Label: "No", Data: "n:1", Danger: true}}},
		})
		shown := b.last(room)
		if shown.Visible != "May I?" || len(shown.Buttons) != 1 || shown.Buttons[0][1] != (sim.Button{Label: "No", Data: "n:1"}) {
			t.Errorf("shown %+v", shown)
		}
		notes, err := b.sim.Press(ada, room, id, "y:1")
		if err != nil {
			t.Fatal(err)
		}
		if note := <-notes; note != "You said *yes* & meant it" && note != "You said yes & meant it" {
			t.Errorf("note %q", note)
		}
		got := b.got()
		if len(got) != 1 {
			t.Fatalf("got %d updates", len(got))
		}
		press, ok := got[0].(*platforms.ButtonPressed)
		if !ok || press.Data != "y:1" || press.MessageID != id || press.Address != in(room, root) ||
			press.Sender != (platforms.Person{ID: ada, Name: "Ada"}) || press.Kind != platforms.Thread || press.Title != "room" {
			t.Errorf("got %+v", got[0])
		}
		if _, err := b.sim.Press(ada, room, id, "y:1"); err != nil {
			t.Fatal(err)
		}
		if again := b.got(); len(again) != 1 || again[0].NativeID() == press.Native {
			t.Errorf("a second press has the identity of the first: %v", again)
		}
	})
}

// A button on a message of ours that opened a thread belongs to that thread.
func TestButtonAtTheTopLevel(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		for _, chat := range []string{room, dm} {
			id := b.post(in(chat, ""), platforms.Outgoing{Text: "?", Buttons: [][]platforms.Button{{{Label: "Go", Data: "g"}}}})
			b.say(sim.Say{User: ada, Chat: chat, Thread: id, Text: "hm"})
			b.got()
			if _, err := b.sim.Press(ada, chat, id, "g"); err != nil {
				t.Fatal(err)
			}
			want := in(chat, id)
			if chat == dm {
				want.Thread = ""
			}
			if got := b.got(); len(got) != 1 || got[0].(*platforms.ButtonPressed).Address != want {
				t.Errorf("got %+v, want a press at %v", got, want)
			}
		}
	})
}

func TestButtonIsAcknowledgedBeforeASlowSink(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.sink = func(ctx context.Context, u platforms.Update) (platforms.Receipt, error) {
			if _, ok := u.(*platforms.ButtonPressed); ok {
				time.Sleep(20 * time.Second)
			}
			return platforms.Receipt{}, nil
		}
	}, func(t *testing.T, b *bench) {
		id := b.post(in(dm, ""), platforms.Outgoing{Text: "?", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "s"}}}})
		notes, err := b.sim.Press(ada, dm, id, "s")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		select {
		case note, ok := <-notes:
			if !ok || note != "" {
				t.Errorf("got %q, %v; want a silent acknowledgement", note, ok)
			}
		default:
			t.Error("not acknowledged within Slack's three seconds")
		}
		time.Sleep(20 * time.Second)
		if got := b.got(); len(got) != 1 {
			t.Errorf("got %d updates", len(got))
		}
	})
}

func TestButtonOutlivesAFailingSink(t *testing.T) {
	failures := 5
	inBubble(t, func(b *bench) {
		b.sink = func(context.Context, platforms.Update) (platforms.Receipt, error) {
			if failures > 0 {
				failures--
				return platforms.Receipt{}, errors.New("disk full")
			}
			return platforms.Receipt{Note: "late"}, nil
		}
	}, func(t *testing.T, b *bench) {
		id := b.post(in(dm, ""), platforms.Outgoing{Text: "?", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "s"}}}})
		if _, err := b.sim.Press(ada, dm, id, "s"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if got := b.got(); len(got) != 1 || got[0].(*platforms.ButtonPressed).Data != "s" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestSlashCommand(t *testing.T) {
	inBubble(t, func(b *bench) { b.sink = noting("All is well <here>.") }, func(t *testing.T, b *bench) {
		for _, c := range []struct{ name, argument, wantName, wantArgument string }{
			{"status", "", "status", ""},
			{"New", "a fresh & clean start", "new", "a fresh & clean start"},
			{"", "", "help", ""},
		} {
			notes, err := b.sim.Invoke(ada, room, "", c.name, c.argument)
			if err != nil {
				t.Fatal(err)
			}
			if note := <-notes; note != "All is well <here>." {
				t.Errorf("note %q", note)
			}
			got := b.got()
			if len(got) != 1 {
				t.Fatalf("got %d updates", len(got))
			}
			cmd, ok := got[0].(*platforms.CommandInvoked)
			if !ok || cmd.Name != c.wantName || cmd.Argument != c.wantArgument || cmd.Sender.ID != ada ||
				cmd.Address != in(room, "") || cmd.Kind != platforms.Thread || cmd.At.IsZero() {
				t.Errorf("got %+v", got[0])
			}
		}
	})
}

func TestSlowSlashCommandShowsItsNoteLater(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.sink = func(context.Context, platforms.Update) (platforms.Receipt, error) {
			time.Sleep(1500 * time.Millisecond)
			return platforms.Receipt{Note: "done"}, nil
		}
	}, func(t *testing.T, b *bench) {
		notes, err := b.sim.Invoke(ada, dm, "", "status", "")
		if err != nil {
			t.Fatal(err)
		}
		if note := <-notes; note != "done" {
			t.Errorf("note %q", note)
		}
		if got := b.got(); len(got) != 1 || got[0].(*platforms.CommandInvoked).Kind != platforms.Direct {
			t.Errorf("got %+v", got)
		}
	})
}
