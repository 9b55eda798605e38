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

func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(20 * 366 * 24 * time.Hour)
		r := start(t, simulator.Options{})
		if n := r.adapter.Connections(); n != 1 {
			t.Errorf("%d sessions were started", n)
		}
		say := func(s sim.Say) {
			t.Helper()
			if _, err := r.sim.Say(s); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		say(sim.Say{User: ann, Chat: general, Text: "before"})
		since := time.Now()
		say(sim.Say{User: ann, Chat: general, Text: "hello", Mention: true})
		say(sim.Say{User: bob, Chat: general, Text: "look"})
		if _, err := r.adapter.Send(t.Context(), at(general), platforms.Outgoing{Text: "ours"}); err != nil {
			t.Fatal(err)
		}
		live := r.take()
		other, err := New(Config{Token: token, APIURL: "http://discord.test", Dial: r.net.Dial}) // knows no channel yet
		if err != nil {
			t.Fatal(err)
		}
		defer other.api.http.CloseIdleConnections()
		if _, err := other.History(t.Context(), at(general), since); platforms.ClassOf(err) != platforms.Transient {
			t.Errorf("before it is connected: %v", err)
		}
		if _, err := other.identify(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := other.History(t.Context(), at(general), since)
		if err != nil || len(got) != 2 || got[0].Text != "hello" || !got[0].Mentioned || got[0].Kind != platforms.Channel || got[1].Text != "look" {
			t.Fatalf("history is %+v, %v", got, err)
		}
		if len(live) != 3 || live[1].NativeID() != got[0].Native {
			t.Errorf("live it was %v", live)
		}
		r.sim.Invalidate(false)
		time.Sleep(time.Minute)
		if n := r.adapter.Connections(); n != 2 {
			t.Errorf("%d sessions were started", n)
		}
	})
}
