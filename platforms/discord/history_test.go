package discord

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

func TestFindByText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(20 * 366 * 24 * time.Hour) // the bubble's clock begins in 2000, Discord's ids in 2015
		r := start(t, simulator.Options{})
		since := time.Now()
		out := platforms.Outgoing{Text: "**hi** all_of_you  ", Key: "k"}
		if id, err := r.adapter.Find(t.Context(), at(dm), out, since); id != "" || err != nil {
			t.Errorf("before it was sent: %q, %v", id, err)
		}
		r.sim.Faults().Add(sim.Fault{Method: "POST /channels/messages", Lose: true})
		if _, err := r.adapter.Send(t.Context(), at(dm), out); platforms.ClassOf(err) != platforms.OutcomeUnknown {
			t.Fatalf("send: %v", err)
		}
		want := r.sim.Visible(dm)[0].ID
		for i := range 2*pageLength + 5 {
			if _, err := r.sim.Say(sim.Say{User: ann, Chat: dm, Text: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if id, err := r.adapter.Find(t.Context(), at(dm), out, since); id != want || err != nil {
			t.Errorf("found %q, %v; want %s", id, err, want)
		}
		if id, err := r.adapter.Find(t.Context(), at(dm), platforms.Outgoing{Text: "7"}, since); id != "" || err != nil {
			t.Errorf("somebody else's message counts: %q, %v", id, err)
		}
		time.Sleep(time.Hour)
		if id, err := r.adapter.Find(t.Context(), at(dm), out, time.Now()); id != "" || err != nil {
			t.Errorf("an older message counts: %q, %v", id, err)
		}
		r.sim.Faults().Add(sim.Fault{Method: "GET /channels/messages", Status: 403})
		if id, err := r.adapter.Find(t.Context(), at(dm), out, since); id != "" || platforms.ClassOf(err) != platforms.Forbidden {
			t.Errorf("without permission: %q, %v", id, err)
		}
	})
}
