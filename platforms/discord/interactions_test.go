package discord

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

func TestAcknowledge(t *testing.T) {
	for name, c := range map[string]struct {
		delay time.Duration // of the sink
		fail  int           // sink calls
		note  string
		fault sim.Fault
		shows string // after a press; "-" = nothing ever
	}{
		"silent":                 {},
		"with a note":            {note: "Done *it*.", shows: `Done \*it\*.`},
		"slow sink":              {delay: 10 * time.Second, note: "late"},
		"failing sink":           {fail: 20, note: "late"},
		"first try lost":         {note: "Done.", fault: sim.Fault{Status: 500}, shows: "Done."},
		"answer lost":            {note: "Done.", fault: sim.Fault{Lose: true}, shows: "Done."},
		"connection cut":         {note: "Done.", fault: sim.Fault{Cut: true}, shows: "Done."},
		"rate limited":           {note: "Done.", fault: sim.Fault{Status: 429, RetryAfter: time.Second}, shows: "Done."},
		"rate limited for long":  {note: "Done.", fault: sim.Fault{Status: 429, RetryAfter: time.Minute}, shows: "-"},
		"Discord takes too long": {note: "Done.", fault: sim.Fault{Delay: 4 * time.Second}, shows: "-"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, simulator.Options{})
				r.delay, r.fail, r.receipt.Note = c.delay, c.fail, c.note
				id, err := r.adapter.Send(t.Context(), at(dm), platforms.Outgoing{Text: "?", Buttons: [][]platforms.Button{{{Label: "Go", Data: "go"}}}})
				if err != nil {
					t.Fatal(err)
				}
				if c.fault != (sim.Fault{}) {
					c.fault.Method = "POST /interactions/callback"
					r.sim.Faults().Add(c.fault)
				}
				shown, err := r.sim.Press(ann, dm, id, "go")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Second)
				synctest.Wait()
				var got string
				select {
				case note, ok := <-shown:
					if got = note; c.shows != "-" && !ok && r.sim.Unanswered() > 0 {
						t.Error("not acknowledged within three seconds")
					}
				default:
					t.Error("the interaction neither ended nor was answered")
				}
				if c.shows == "-" {
					c.shows = ""
				}
				if got != c.shows {
					t.Errorf("shows %q, want %q", got, c.shows)
				}
				time.Sleep(10 * time.Minute)
				one[*platforms.ButtonPressed](r)
			})
		})
	}
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		ctx := t.Context()
		for range 2 {
			if err := r.adapter.RegisterCommands(ctx, commandsForTest); err != nil {
				t.Fatal(err)
			}
		}
		if names, writes := r.sim.Commands(); len(names) != 2 || writes != 1 {
			t.Errorf("%v written %d times", names, writes)
		}
		shown, err := r.sim.Invoke(ann, general, "", "status", "all of it")
		if err != nil {
			t.Fatal(err)
		}
		got := one[*platforms.CommandInvoked](r)
		if got.Name != "status" || got.Argument != "all of it" || got.Sender.ID != ann || got.Address != at(general) || got.At.IsZero() {
			t.Errorf("got %+v", got)
		}
		if note := <-shown; note != commandNote {
			t.Errorf("shows %q", note)
		}
		if err := r.adapter.RegisterCommands(ctx, commandsForTest[:1]); err != nil {
			t.Fatal(err)
		}
		if names, writes := r.sim.Commands(); len(names) != 1 || writes != 2 {
			t.Errorf("%v written %d times", names, writes)
		}
		if visible := r.sim.Visible(general); len(visible) != 0 {
			t.Errorf("others see %+v", visible)
		}
	})
}

func TestCommandInThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		if err := r.adapter.RegisterCommands(t.Context(), commandsForTest); err != nil {
			t.Fatal(err)
		}
		r.say(sim.Say{User: ann, Chat: forum, Thread: "4001", Text: "a question"})
		r.take()
		r.adapter.places.drop("4001") // the interaction itself says where it was made
		r.sim.Faults().Add(sim.Fault{Method: "GET /channels", Status: 500, Times: -1})
		if _, err := r.sim.Invoke(ann, forum, "4001", "new", ""); err != nil {
			t.Fatal(err)
		}
		if got := one[*platforms.CommandInvoked](r); got.Address != in(forum, "4001") || got.Kind != platforms.Thread {
			t.Errorf("got %+v", got)
		}
	})
}
