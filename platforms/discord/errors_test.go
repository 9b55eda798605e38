package discord

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

const (
	sendCall = "POST /channels/messages"
	editCall = "PATCH /channels/messages"
)

func TestClasses(t *testing.T) {
	for name, c := range map[string]struct {
		fault sim.Fault
		send  platforms.Class
		edit  platforms.Class
		wait  time.Duration
	}{
		"unknown channel":     {sim.Fault{Status: 404, Error: "10003 Unknown Channel"}, platforms.Gone, platforms.Gone, 0},
		"unknown message":     {sim.Fault{Status: 404, Error: "10008 Unknown Message"}, platforms.Gone, platforms.Gone, 0},
		"missing access":      {sim.Fault{Status: 403, Error: "50001 Missing Access"}, platforms.Forbidden, platforms.Forbidden, 0},
		"missing permission":  {sim.Fault{Status: 403}, platforms.Forbidden, platforms.Forbidden, 0},
		"blocked":             {sim.Fault{Status: 403, Error: "50007 Cannot send messages to this user"}, platforms.Forbidden, platforms.Forbidden, 0},
		"locked thread":       {sim.Fault{Status: 400, Error: "160005 This thread is locked"}, platforms.Forbidden, platforms.Forbidden, 0},
		"empty":               {sim.Fault{Status: 400, Error: "50006 Cannot send an empty message"}, platforms.Invalid, platforms.Invalid, 0},
		"invalid form":        {sim.Fault{Status: 400, Error: "50035 Invalid Form Body"}, platforms.Invalid, platforms.Invalid, 0},
		"too large":           {sim.Fault{Status: 413, Error: "40005 Request entity too large"}, platforms.TooLong, platforms.TooLong, 0},
		"old edits":           {sim.Fault{Status: 400, Error: "30046 Maximum number of edits reached"}, platforms.RateLimited, platforms.RateLimited, oldEditsWait},
		"bad token":           {sim.Fault{Status: 401}, platforms.Fatal, platforms.Fatal, 0},
		"rate limit":          {sim.Fault{Status: 429, RetryAfter: 2500 * time.Millisecond}, platforms.RateLimited, platforms.RateLimited, 2500 * time.Millisecond},
		"global rate limit":   {sim.Fault{Status: 429, RetryAfter: 3 * time.Second, Error: "global"}, platforms.RateLimited, platforms.RateLimited, 3 * time.Second},
		"Cloudflare":          {sim.Fault{Status: 429, RetryAfter: time.Hour, HTML: true}, platforms.RateLimited, platforms.RateLimited, time.Hour},
		"Cloudflare, no time": {sim.Fault{Status: 429, HTML: true}, platforms.RateLimited, platforms.RateLimited, time.Minute},
		"foreign 403":         {sim.Fault{Status: 403, HTML: true}, platforms.Transient, platforms.Transient, 0},
		"500":                 {sim.Fault{Status: 500}, platforms.Transient, platforms.Transient, 0},
		"503 page":            {sim.Fault{Status: 503, HTML: true}, platforms.Transient, platforms.Transient, 0},
		"502":                 {sim.Fault{Status: 502, HTML: true}, platforms.OutcomeUnknown, platforms.Transient, 0},
		"504":                 {sim.Fault{Status: 504, HTML: true}, platforms.OutcomeUnknown, platforms.Transient, 0},
		"overloaded":          {sim.Fault{Status: 500, Error: "130000 API resource is currently overloaded"}, platforms.Transient, platforms.Transient, 0},
		"cut":                 {sim.Fault{Cut: true}, platforms.OutcomeUnknown, platforms.Transient, 0},
		"lost":                {sim.Fault{Lose: true}, platforms.OutcomeUnknown, platforms.Transient, 0},
		"timeout":             {sim.Fault{Delay: time.Hour}, platforms.OutcomeUnknown, platforms.Transient, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, simulator.Options{})
				id, err := r.adapter.Send(t.Context(), at(dm), platforms.Outgoing{Text: "hello"})
				if err != nil {
					t.Fatal(err)
				}
				for _, call := range []struct {
					method string
					class  platforms.Class
					do     func() error
				}{
					{editCall, c.edit, func() error { return r.adapter.Edit(t.Context(), at(dm), id, platforms.Outgoing{Text: "changed"}) }},
					{sendCall, c.send, func() error {
						_, err := r.adapter.Send(t.Context(), at(dm), platforms.Outgoing{Text: "again"})
						return err
					}},
				} {
					c.fault.Method = call.method
					r.sim.Faults().Add(c.fault)
					began := time.Now()
					err := call.do()
					if platforms.ClassOf(err) != call.class || platforms.WaitOf(err).Round(100*time.Millisecond) != c.wait {
						t.Errorf("%s: got %v, want %s", call.method, err, call.class)
					}
					if took := time.Since(began); took > callTimeout {
						t.Errorf("%s took %s", call.method, took)
					}
					time.Sleep(2 * time.Hour)
					if err := call.do(); err != nil {
						t.Errorf("%s afterwards: %v", call.method, err)
					}
				}
			})
		})
	}
}

// TestTooLong makes the server refuse a text: its limit is not ours to know for ever.
func TestTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		call := request{op: "test", method: "POST", path: "channels/" + dm + "/messages", body: map[string]any{"content": strings.Repeat("é", maxContent+1)}}
		if err := r.adapter.api.call(t.Context(), call); platforms.ClassOf(err) != platforms.TooLong {
			t.Errorf("got %v", err)
		}
		call.body = map[string]any{"content": "x", "nonce": strings.Repeat("n", 26)}
		if err := r.adapter.api.call(t.Context(), call); platforms.ClassOf(err) != platforms.Invalid {
			t.Errorf("got %v", err)
		}
	})
}

// TestRateLimits posts as fast as it can: the Pacer learns from the headers, so that Discord never has to refuse.
func TestRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		began := time.Now()
		for i := range 40 {
			if _, err := r.adapter.Send(t.Context(), at(dm), platforms.Outgoing{Text: fmt.Sprint(i)}); err != nil {
				t.Fatalf("message %d after %s: %v", i, time.Since(began), err)
			}
		}
		if took := time.Since(began); took < 30*time.Second {
			t.Errorf("40 messages took %s, the limit is five in five seconds", took)
		}
	})
}

// TestFloodedChat freezes one channel and writes in another.
func TestFloodedChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		r.sim.Faults().Add(sim.Fault{Method: sendCall, Chat: general, Status: 429, RetryAfter: time.Hour})
		for range 2 {
			if _, err := r.adapter.Send(t.Context(), at(general), platforms.Outgoing{Text: "x"}); platforms.ClassOf(err) != platforms.RateLimited {
				t.Errorf("got %v", err)
			}
		}
		began := time.Now()
		if _, err := r.adapter.Send(t.Context(), at(dm), platforms.Outgoing{Text: "x"}); err != nil || time.Since(began) > time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}

// TestSameKey sends a part again whose answer was lost: within two minutes Discord still knows it.
func TestSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		out := platforms.Outgoing{Text: "only once", Key: strings.Repeat("a very long key ", 20)}
		r.sim.Faults().Add(sim.Fault{Method: sendCall, Lose: true})
		if _, err := r.adapter.Send(t.Context(), at(dm), out); platforms.ClassOf(err) != platforms.OutcomeUnknown {
			t.Fatalf("got %v", err)
		}
		time.Sleep(time.Minute)
		id, err := r.adapter.Send(t.Context(), at(dm), out)
		if err != nil {
			t.Fatal(err)
		}
		if seen := r.sim.Visible(dm); len(seen) != 1 || seen[0].ID != id {
			t.Errorf("shows %+v", seen)
		}
		out.Key = "another"
		if _, err := r.adapter.Send(t.Context(), at(dm), out); err != nil {
			t.Fatal(err)
		}
		if seen := r.sim.Visible(dm); len(seen) != 2 {
			t.Errorf("another key shows %+v", seen)
		}
	})
}

// TestReplyToNothing replies to a message that was deleted.
func TestReplyToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, simulator.Options{})
		id := r.say(sim.Say{User: ann, Chat: general, Text: "hello"})
		sent, err := r.adapter.Send(t.Context(), at(general), platforms.Outgoing{Text: "yes?", ReplyTo: id})
		if err != nil {
			t.Fatal(err)
		}
		if pinged := r.sim.Pinged(general, sent); len(pinged) != 1 || pinged[0] != ann {
			t.Errorf("pinged %v", pinged)
		}
		if sent, err = r.adapter.Send(t.Context(), at(general), platforms.Outgoing{Text: "quietly", ReplyTo: id, Silent: true}); err != nil {
			t.Fatal(err)
		}
		if pinged := r.sim.Pinged(general, sent); len(pinged) != 0 {
			t.Errorf("a silent reply pinged %v", pinged)
		}
		if err := r.sim.DeleteAs(ann, general, id); err != nil {
			t.Fatal(err)
		}
		if _, err := r.adapter.Send(t.Context(), at(general), platforms.Outgoing{Text: "gone?", ReplyTo: id}); err != nil {
			t.Error(err)
		}
	})
}

// TestNoSecrets lets everything fail, with what is secret in reach, and looks for it in errors and logs.
func TestNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		const interactionToken = "aW50ZXJhY3Rpb24.secret"
		a, err := New(Config{
			Token: token, APIURL: "https://discord.test", GatewayURL: "wss://gateway.test",
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Dial: func(_ context.Context, _, address string) (net.Conn, error) {
				return nil, errors.New("no route to " + address)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, sendErr := a.Send(ctx, at(dm), platforms.Outgoing{Text: "x"})
		_, checkErr := a.Check(ctx, 0)
		ackErr := a.respond(ctx, &wireInteraction{ID: "1", Type: 3, Token: interactionToken}, "")
		a.acknowledge(ctx, &wireInteraction{ID: "1", Type: 3, Token: interactionToken}, nil)
		gateway, err := baseURL("http://gateway.test")
		if err != nil {
			t.Fatal(err)
		}
		link, err := a.newLink(gateway, &lanes{a: a})
		if err != nil {
			t.Fatal(err)
		}
		gateway.Scheme = "ws"
		openErr := link.keep(ctx)
		runErr := a.Run(ctx, func(context.Context, platforms.Update) (platforms.Receipt, error) { return platforms.Receipt{}, nil })
		if runErr != nil {
			t.Errorf("an unreachable Discord ends Run: %v", runErr)
		}
		all := fmt.Sprint(sendErr, checkErr, ackErr, openErr, runErr, log.String())
		for _, secret := range []string{token, interactionToken} {
			if strings.Contains(all, secret) {
				t.Errorf("a secret shows in: %s", all)
			}
		}
		if !strings.Contains(all, "no route") {
			t.Errorf("the cause is missing in: %s", all)
		}
	})
}
