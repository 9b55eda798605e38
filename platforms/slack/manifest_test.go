package slack

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
)

// TestManifest: Slack takes the manifest. That it is enough, every other test here shows, since the simulated app has
// nothing but what it says.
func TestManifest(t *testing.T) {
	m := NewManifest("Talaria")
	address, err := m.NewAppURL()
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := simslack.New(simslack.Config{}).Install([]byte(u.Query().Get("manifest_json"))); err != nil {
		t.Error(err)
	}
	if len(address) > 8000 {
		t.Errorf("the address has %d bytes, more than browsers and servers surely take", len(address))
	}
	m.Settings.SocketMode = false
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := simslack.New(simslack.Config{}).Install(text); err == nil || !strings.Contains(err.Error(), "Socket Mode") {
		t.Errorf("the simulator takes events without Socket Mode: %v", err)
	}
}

// TestEachGrantIsNeeded: of what the manifest asks for nothing can be left out without something being refused or unheard.
func TestEachGrantIsNeeded(t *testing.T) {
	places := map[string]string{"channels": room, "groups": "C0PRIVATE", "im": dm, "mpim": crowd}
	for _, g := range grants() {
		t.Run(strings.ReplaceAll(g.scope, ":", " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := NewManifest("Talaria")
				m.OAuth.Scopes.Bot = slices.DeleteFunc(m.OAuth.Scopes.Bot, func(s string) bool { return s == g.scope })
				m.Settings.Events.Bot = slices.DeleteFunc(m.Settings.Events.Bot, func(e string) bool { return slices.Contains(g.events, e) })
				if g.scope == "commands" {
					m.Features.Commands = nil
				}
				b := newBench(t, simslack.Config{})
				b.sim.AddChat(sim.Chat{ID: "C0PRIVATE", Kind: "private", Title: "secret"})
				b.install(m)
				b.start()
				synctest.Wait()
				kind, _, _ := strings.Cut(g.scope, ":")
				var err error
				switch g.scope {
				case "chat:write":
					_, err = b.adapter.Send(t.Context(), in(dm, ""), platforms.Outgoing{Text: "x"})
				case "reactions:write":
					err = b.adapter.React(t.Context(), in(dm, ""), b.say(sim.Say{User: ada, Chat: dm, Text: "x"}), "👀")
				case "users:read":
					_, err = b.adapter.api.GetUserInfoContext(t.Context(), ada)
				case "channels:read", "groups:read", "im:read", "mpim:read":
					_, err = b.adapter.names.conversation(t.Context(), places[kind])
				case "commands":
					_, err = b.sim.Invoke(ada, dm, "", "help", "")
				case "files:read": // the simulator has no files to read yet
					return
				default: // an event that does not come
					mention := g.scope == "app_mentions:read"
					at := places[kind]
					if mention {
						at = room
					}
					b.say(sim.Say{User: ada, Chat: at, Text: "x", Mention: mention})
					copies := 0
					if mention {
						copies = 1 // that of the channel
					}
					if got := b.got(); len(got) != copies {
						t.Errorf("without %s %d events come, want %d", g.scope, len(got), copies)
					}
					return
				}
				if err == nil {
					t.Errorf("nothing is refused without %s", g.scope)
				}
			})
		})
	}
}

func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, simslack.Config{})
		c, err := b.adapter.Check(t.Context(), 0)
		if err != nil || len(c.Problems) > 0 {
			t.Fatalf("an app by the manifest has %v, %v", c.Problems, err)
		}
		for _, want := range []string{"talaria", "Olympus", "T0SIM"} {
			if !strings.Contains(c.Who, want) {
				t.Errorf("%q does not say %q", c.Who, want)
			}
		}
		m := NewManifest("Talaria")
		m.Features.Commands, m.Settings.Events.Bot = nil, []string{"message.im"}
		m.OAuth.Scopes.Bot = []string{"chat:write", "im:history"}
		b.install(m)
		c, err = b.adapter.Check(t.Context(), 0)
		if err != nil || len(c.Problems) != len(grants())-2 {
			t.Fatalf("%d scopes are missing, want %d: %v", len(c.Problems), len(grants())-2, err)
		}
		for i, p := range c.Problems {
			if strings.Contains(p.What, "chat:write") || !strings.Contains(p.What, " is missing, so ") || !strings.Contains(p.Cure, "install the app again") {
				t.Errorf("problem %d is %+v", i, p)
			}
		}
		b.sim.Faults().Add(sim.Fault{Method: "apps.connections.open", Error: "invalid_auth"})
		_, err = b.adapter.Check(t.Context(), 0)
		wantClass(t, err, platforms.Fatal)
	})
}

// TestMissingScope: a call that the app may not make says which scope it lacks.
func TestMissingScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, simslack.Config{Scopes: "im:history"})
		_, err := b.adapter.Send(t.Context(), in(dm, ""), platforms.Outgoing{Text: "x"})
		wantClass(t, err, platforms.Fatal)
		if !strings.Contains(err.Error(), "chat:write") || !strings.Contains(err.Error(), "install the app again") {
			t.Errorf("the error is %v", err)
		}
	})
}
