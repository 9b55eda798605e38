package slack

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/spec"
)

// openAPI is what we read of Slack's description of its Web API (github.com/slackapi/slack-api-specs, OpenAPI 2). Its
// licence is not stated, so it is not part of this repository: TALARIA_SPECS names a folder that holds it.
type openAPI struct {
	Info struct {
		Version string `json:"version"`
	} `json:"info"`
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name     string `json:"name"`
			Type     string `json:"type"`
			Required bool   `json:"required"`
		} `json:"parameters"`
	} `json:"paths"`
}

func webAPI(t *testing.T) spec.Description {
	t.Helper()
	folder := os.Getenv("TALARIA_SPECS")
	if folder == "" {
		t.Skip("TALARIA_SPECS names no folder with slack-web-openapi-v2.json")
	}
	data, err := os.ReadFile(filepath.Join(folder, "slack-web-openapi-v2.json"))
	if err != nil {
		t.Fatal(err)
	}
	var api openAPI
	if err := json.Unmarshal(data, &api); err != nil {
		t.Fatal(err)
	}
	d := spec.Description{Source: "slackapi/slack-api-specs " + api.Info.Version, Methods: map[string]spec.Method{}}
	for path, verbs := range api.Paths {
		fields := map[string]spec.Field{}
		for _, verb := range verbs {
			for _, p := range verb.Parameters {
				fields[p.Name] = spec.Field{Types: []string{p.Type}, Required: p.Required}
			}
		}
		d.Methods[strings.TrimPrefix(path, "/")] = spec.Method{Fields: fields}
	}
	return d
}

// Every request that the adapter can make, against Slack's own description.
func TestRequestsMatchTheDescription(t *testing.T) {
	description := webAPI(t)
	inBubble(t, func(b *bench) { b.sim.CheckAgainst(description); b.sink = noting("noted") }, func(t *testing.T, b *bench) {
		ctx := t.Context()
		root := b.say(sim.Say{User: ada, Chat: room, Text: "hi", Mention: true})
		if m := b.message(); m.Sender.Name != "Ada" || m.Title != "room" {
			t.Errorf("names are missing: %+v", m)
		}
		at := in(room, root)
		buttons := [][]platforms.Button{{{Label: "Stop", Data: "s", Danger: true}}}
		id := b.post(at, platforms.Outgoing{Text: "one", Key: "k", Class: platforms.PriorityProgress})
		for name, err := range map[string]error{
			"edit":       b.adapter.Edit(ctx, at, id, platforms.Outgoing{Text: "two", Key: "k", Buttons: buttons}),
			"plain edit": b.adapter.Edit(ctx, at, id, platforms.Outgoing{Text: "three", Plain: true}),
			"typing":     b.adapter.Typing(ctx, at),
			"reaction":   b.adapter.React(ctx, at, root, "eyes"),
			"deletion":   b.adapter.Delete(ctx, at, id),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		b.post(at, platforms.Outgoing{Text: "plain", Plain: true})
		b.adapter.note(ctx, delivery{decoded: decoded{update: &platforms.ButtonPressed{Origin: platforms.Origin{
			Address: at, Sender: platforms.Person{ID: ada},
		}}}}, "seen by one")
		if _, err := b.adapter.Check(ctx, 0); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string(nil), b.sim.Violations()); diff != "" {
			t.Errorf("violations (-want +got):\n%s", diff)
		}
		resp, err := b.adapter.http.PostForm("http://slack.test/api/chat.postMessage", url.Values{
			"token": {"xoxb-simulated"}, "channel": {room}, "text": {"x"}, "colour": {"red"},
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if diff := cmp.Diff([]string{"unknown field chat.postMessage.colour"}, b.sim.Violations()); diff != "" {
			t.Errorf("violations (-want +got):\n%s", diff)
		}
	})
}
