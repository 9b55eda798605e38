package discord

import (
	"testing"
	"testing/synctest"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

func TestSendEditDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		ctx := t.Context()
		if err := r.adapter.Typing(ctx, at(dm)); err != nil {
			t.Fatal(err)
		}
		if !r.sim.Typing(dm, "") {
			t.Error("typing does not show")
		}
		id, err := r.adapter.Send(ctx, at(dm), platforms.Outgoing{
			Text: "**hi** all", Key: "k1", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "stop:1", Danger: true}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := r.sim.Visible(dm)
		if len(seen) != 1 || seen[0].ID != id || seen[0].Visible != "hi all" || seen[0].Buttons[0][0] != (sim.Button{Label: "Stop", Data: "stop:1"}) {
			t.Fatalf("shows %+v", seen)
		}
		for range 2 { // the same content again is fine
			if err := r.adapter.Edit(ctx, at(dm), id, platforms.Outgoing{Text: "done"}); err != nil {
				t.Fatal(err)
			}
		}
		if seen = r.sim.Visible(dm); seen[0].Visible != "done" || len(seen[0].Buttons) != 0 || !seen[0].Edited {
			t.Fatalf("shows %+v", seen)
		}
		if err := r.adapter.React(ctx, at(dm), id, "👀"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := r.adapter.Delete(ctx, at(dm), id); err != nil {
				t.Fatal(err)
			}
		}
		if seen = r.sim.Visible(dm); len(seen) != 0 {
			t.Fatalf("shows %+v", seen)
		}
		if got := r.take(); len(got) > 1 { // its own deletion is announced, nothing else
			t.Errorf("updates %+v", got)
		}
	})
}

func TestPress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		r.receipt = platforms.Receipt{Note: "Stopped."}
		id, err := r.adapter.Send(t.Context(), at(general), platforms.Outgoing{Text: "busy", Buttons: [][]platforms.Button{{{Label: "Stop", Data: "stop"}}}})
		if err != nil {
			t.Fatal(err)
		}
		shown, err := r.sim.Press(ann, general, id, "stop")
		if err != nil {
			t.Fatal(err)
		}
		press := one[*platforms.ButtonPressed](r)
		if press.MessageID != id || press.Data != "stop" || press.Sender.ID != ann || press.Address != at(general) || press.Kind != platforms.Channel {
			t.Errorf("got %+v", press)
		}
		if note := <-shown; note != "Stopped." {
			t.Errorf("shows %q", note)
		}
	})
}

// TestNobodyIsPinged sends every form of a mention as it stands: the request, not the escaping, has to prevent the ping.
func TestNobodyIsPinged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		text := "@everyone @here <@" + ann + "> <@&" + simulator.BotRole + ">"
		body, err := r.adapter.message("test", platforms.Outgoing{Text: "x"})
		if err != nil {
			t.Fatal(err)
		}
		body.Content = text
		var sent struct{ ID string }
		call := request{op: "test", method: "POST", path: "channels/" + general + "/messages", body: body, into: &sent}
		if err := r.adapter.api.call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if pinged := r.sim.Pinged(general, sent.ID); len(pinged) > 0 {
			t.Errorf("pinged %v", pinged)
		}
	})
}
