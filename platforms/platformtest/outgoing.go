package platformtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// What the bot posts must be seen as it is meant, and change in place.

func sends(t *testing.T, r *running) {
	id := r.send(t, platforms.Outgoing{
		Text: "some **bold** and `a < b & c` _here_", Silent: true, Key: "key-1",
		Buttons: [][]platforms.Button{{{Label: "Yes", Data: "y:1"}, {Label: "No", Data: "n:1", Danger: true}}},
	})
	mine := r.mine()
	if len(mine) != 1 {
		t.Fatalf("the bot shows %d messages, want 1", len(mine))
	}
	m := mine[0]
	if m.ID != id || m.Visible != "some bold and a < b & c here" {
		t.Errorf("message %q shows %q", m.ID, m.Visible)
	}
	if len(m.Buttons) != 1 || len(m.Buttons[0]) != 2 || m.Buttons[0][1] != (sim.Button{Label: "No", Data: "n:1"}) {
		t.Errorf("buttons are %v", m.Buttons)
	}
}

func blankSplit(t *testing.T, r *running) {
	if pieces := r.Adapter.Split(" \n\t\n"); len(pieces) != 0 {
		t.Errorf("a blank text gives %q", pieces)
	}
}

func splitAccepted(t *testing.T, r *running) {
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "## Part %d\n\nWith *some* <text> & **more** of it, 😀 and é, `code` and [a link](https://example.com/a_b?c=%d).\n\n", i, i)
	}
	b.WriteString("```go\n" + strings.Repeat("func f() { return \"a < b && c\" }\n", 300) + "```\n")
	pieces := r.Adapter.Split(b.String())
	if len(pieces) < 2 {
		t.Fatalf("%d bytes give %d pieces", b.Len(), len(pieces))
	}
	for i, piece := range pieces {
		if _, err := r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: piece}); err != nil {
			t.Fatalf("piece %d of %d (%d bytes): %v", i+1, len(pieces), len(piece), err)
		}
	}
	if n := len(r.mine()); n != len(pieces) {
		t.Errorf("%d messages show for %d pieces", n, len(pieces))
	}
}

func tooLong(t *testing.T, r *running) {
	_, err := r.Adapter.Send(t.Context(), r.At, platforms.Outgoing{Text: strings.Repeat("long ", 10_000), Plain: true})
	wantClass(t, "50,000 characters", err, platforms.TooLong)
	if n := len(r.mine()); n != 0 {
		t.Errorf("%d messages show after the refusal", n)
	}
}

func plainText(t *testing.T, r *running) {
	const text = "2 * 3 * 4 < 25 & `x` <b>y</b>"
	r.send(t, platforms.Outgoing{Text: text, Plain: true})
	if m := r.mine()[0]; m.Visible != text {
		t.Errorf("plain text shows as %q", m.Visible)
	}
}

func edits(t *testing.T, r *running) {
	id := r.send(t, platforms.Outgoing{Text: "one", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "s"}}}})
	if err := r.Adapter.(platforms.Editor).Edit(t.Context(), r.At, id, platforms.Outgoing{Text: "**two**"}); err != nil {
		t.Fatal(err)
	}
	mine := r.mine()
	if len(mine) != 1 || mine[0].ID != id || mine[0].Visible != "two" || !mine[0].Edited || len(mine[0].Buttons) != 0 {
		t.Errorf("after the edit the bot shows %+v", mine)
	}
}

func notModified(t *testing.T, r *running) {
	out := platforms.Outgoing{Text: "same", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "s"}}}}
	id := r.send(t, out)
	if err := r.Adapter.(platforms.Editor).Edit(t.Context(), r.At, id, out); err != nil {
		t.Errorf("an edit that changes nothing: %v", err)
	}
}

func editGone(t *testing.T, r *running) {
	id := r.send(t, platforms.Outgoing{Text: "short-lived"})
	if err := r.Adapter.(platforms.Deleter).Delete(t.Context(), r.At, id); err != nil {
		t.Fatal(err)
	}
	err := r.Adapter.(platforms.Editor).Edit(t.Context(), r.At, id, platforms.Outgoing{Text: "too late"})
	wantClass(t, "edit of a deleted message", err, platforms.Gone)
}

func deletes(t *testing.T, r *running) {
	id := r.send(t, platforms.Outgoing{Text: "short-lived"})
	for i := range 2 {
		if err := r.Adapter.(platforms.Deleter).Delete(t.Context(), r.At, id); err != nil {
			t.Fatalf("deletion %d: %v", i+1, err)
		}
	}
	if n := len(r.mine()); n != 0 {
		t.Errorf("%d messages still show", n)
	}
}

// draft shows a draft, if the adapter has such a thing, and returns what the bot shows then.
func draft(t *testing.T, r *running, key, text string) []sim.Message {
	t.Helper()
	streamer, ok := r.Adapter.(platforms.Streamer)
	if !ok {
		t.Skip("no drafts")
	}
	if err := streamer.Draft(t.Context(), r.At, platforms.Outgoing{Text: text, Key: key}); err != nil {
		t.Fatalf("draft %q: %v", text, err)
	}
	return r.mine()
}

func drafted(t *testing.T, r *running) {
	draft(t, r, "turn-1", "Once **upon**")
	draft(t, r, "turn-1", "Once **upon** a < time")
	mine := draft(t, r, "turn-1", "Once **upon** a < time") // as after a lost response
	if len(mine) != 1 || !mine[0].Draft || mine[0].Visible != "Once upon a < time" {
		t.Errorf("three calls with one key show %+v", mine)
	}
	if mine = draft(t, r, "turn-2", "Another"); len(mine) != 1 || mine[0].Visible != "Another" {
		t.Errorf("a draft with another key shows as %+v", mine)
	}
	id := r.send(t, platforms.Outgoing{Text: "The whole."})
	if mine = r.mine(); len(mine) != 1 || mine[0].ID != id || mine[0].Draft {
		t.Errorf("after the message the bot shows %+v", mine)
	}
}

func draftVanishes(t *testing.T, r *running) {
	if mine := draft(t, r, "turn-1", "Once"); len(mine) != 1 {
		t.Fatalf("the draft shows as %+v", mine)
	}
	time.Sleep(r.Adapter.Limits().DraftFor - time.Second)
	if len(r.mine()) != 1 {
		t.Error("the draft vanishes before Limits say")
	}
	time.Sleep(2 * time.Second)
	if mine := r.mine(); len(mine) != 0 {
		t.Errorf("after Limits.DraftFor the bot shows %+v", mine)
	}
}

func typing(t *testing.T, r *running) {
	typer, ok := r.Adapter.(platforms.Typer)
	if !ok {
		t.Skip("no typing indicator")
	}
	at, id := r.At, r.say(t, "hello")
	if r.TypingAt != nil {
		at = r.TypingAt(id)
	}
	time.Sleep(time.Second)
	if err := typer.Typing(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if !r.Stage.Typing(r.Chat, at.Thread) {
		t.Fatal("typing does not show")
	}
	time.Sleep(r.Adapter.Limits().TypingFor + time.Second)
	if r.Stage.Typing(r.Chat, at.Thread) {
		t.Error("typing shows longer than Limits say")
	}
}
