package discord

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
	"github.com/talaria-agent/talaria/platforms/sim/spec"
)

// TestAgainstDescription makes every kind of call that the adapter can make and holds each against Discord's own
// description of its API.
func TestAgainstDescription(t *testing.T) {
	data, err := os.ReadFile("../sim/testdata/discord.json")
	if err != nil {
		t.Fatal(err)
	}
	description, err := spec.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, simulator.Options{})
		r.sim.CheckAgainst(description)
		r.run()
		ctx := t.Context()
		do := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := r.adapter.Check(ctx, 0)
		do("check", err)
		do("register", r.adapter.RegisterCommands(ctx, commandsForTest))
		r.receipt.Note = "Noted."
		question := r.say(sim.Say{User: ann, Chat: general, Text: "question", Mention: true})
		buttons := [][]platforms.Button{{{Label: "Stop", Data: "stop", Danger: true}, {Label: "More", Data: "more"}}}
		id, err := r.adapter.Send(ctx, at(general), platforms.Outgoing{Text: "answer", Key: "k", ReplyTo: question, Silent: true, Buttons: buttons})
		do("send", err)
		do("edit", r.adapter.Edit(ctx, at(general), id, platforms.Outgoing{Text: "better", Buttons: buttons}))
		do("typing", r.adapter.Typing(ctx, at(general)))
		do("react", r.adapter.React(ctx, at(general), question, "👀"))
		_, err = r.sim.Press(ann, general, id, "stop")
		do("press", err)
		_, err = r.sim.Invoke(ann, general, "", "status", "")
		do("invoke", err)
		r.settle()
		do("delete", r.adapter.Delete(ctx, at(general), id))
		if bad := r.sim.Violations(); len(bad) > 0 {
			t.Errorf("violations: %q", bad)
		}
	})
}

// TestDescriptionCatches proves that the check has teeth.
func TestDescriptionCatches(t *testing.T) {
	data, err := os.ReadFile("../sim/testdata/discord.json")
	if err != nil {
		t.Fatal(err)
	}
	description, err := spec.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := prepare(t, simulator.Options{})
		r.sim.CheckAgainst(description)
		body := map[string]any{"content": 5, "colour": "red", "allowed_mentions": map[string]any{"parse": []string{}, "replied": true}}
		err := r.adapter.api.call(t.Context(), request{op: "test", method: "POST", path: "channels/" + dm + "/messages", body: body})
		if platforms.ClassOf(err) != platforms.Invalid {
			t.Errorf("got %v", err)
		}
		if bad := r.sim.Violations(); len(bad) != 3 {
			t.Errorf("violations: %q", bad)
		}
		r.adapter.api.http.CloseIdleConnections()
	})
}

var commandsForTest = []platforms.Command{
	{Name: "new", Description: "Start over"},
	{Name: "status", Description: "What is going on", Argument: "what"},
}
