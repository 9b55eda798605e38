package discord

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

// TestSockets runs the adapter over real sockets: a message comes in, an answer goes out, everything ends.
func TestSockets(t *testing.T) {
	before := goleak.IgnoreCurrent()
	func() {
		s := simulator.New(simulator.Options{Token: token})
		server := httptest.NewServer(s.Handler())
		defer server.Close()
		defer s.Close()
		s.AddUser(sim.User{ID: ann, Name: "Ann"})
		s.AddChat(sim.Chat{ID: dm, Kind: "dm", Members: []string{ann}})
		a, err := New(Config{Token: token, APIURL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		updates := make(chan platforms.Update, 1)
		done := make(chan error, 1)
		go func() {
			done <- a.Run(ctx, func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
				updates <- u
				return platforms.Receipt{}, nil
			})
		}()
		for s.Connected() == 0 {
			select {
			case err := <-done:
				t.Fatalf("Run ended with %v", err)
			case <-time.After(10 * time.Millisecond):
			}
		}
		if _, err := s.Say(sim.Say{User: ann, Chat: dm, Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		m := (<-updates).(*platforms.Message)
		if _, err := a.Send(ctx, m.Address, platforms.Outgoing{Text: "hello " + m.Sender.Name, ReplyTo: m.ID}); err != nil {
			t.Fatal(err)
		}
		if seen := s.Visible(dm); len(seen) != 2 || seen[1].Visible != "hello Ann" || seen[1].ReplyTo != m.ID {
			t.Errorf("shows %+v", seen)
		}
		c, err := a.Check(ctx, 0)
		if err != nil || !strings.Contains(c.Who, simulator.Application) || len(c.Problems) > 0 {
			t.Errorf("check says %+v, %v", c, err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	}()
	goleak.VerifyNone(t, before)
}

// TestTLSIsVerified connects to a server whose certificate nobody has signed.
func TestTLSIsVerified(t *testing.T) {
	server := httptest.NewTLSServer(simulator.New(simulator.Options{}).Handler())
	defer server.Close()
	a, err := New(Config{Token: token, APIURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Check(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the API: %v", err)
	}
	if _, err := a.dialTLS(t.Context(), "tcp", server.Listener.Addr().String()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("the gateway: %v", err)
	}
	a.api.http.CloseIdleConnections()
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no token":    {Token: " "},
		"API address": {Token: token, APIURL: "discord.com"},
		"API scheme":  {Token: token, APIURL: "ftp://discord.com"},
		"gateway":     {Token: token, GatewayURL: "https://gateway.discord.gg"},
	} {
		if _, err := New(cfg); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for given, want := range map[string]string{
		"": "https://discord.com/api/v9/", "http://localhost:8080": "http://localhost:8080/api/v9/",
		"http://localhost:8080/": "http://localhost:8080/api/v9/", "https://proxy.test/discord/v9": "https://proxy.test/discord/v9/",
	} {
		if u, err := baseURL(given); err != nil || u.String() != want {
			t.Errorf("%q gives %v, %v", given, u, err)
		}
	}
}
