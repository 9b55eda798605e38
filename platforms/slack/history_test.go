package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

func TestFindByKey(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		root, err := b.sim.Say(sim.Say{User: ada, Chat: room, Text: "hello", Mention: true})
		if err != nil {
			t.Fatal(err)
		}
		threaded := platforms.Address{Platform: platforms.Slack, Account: "T0SIM", Chat: room, Thread: root}
		vanished := threaded
		vanished.Thread = "1000000000.000001"
		direct := platforms.Address{Platform: platforms.Slack, Account: "T0SIM", Chat: dm}
		since := time.Now()
		for key, to := range map[string]platforms.Address{"k1": threaded, "k2": direct, "k3": vanished} {
			out := platforms.Outgoing{Text: "the same text", Key: key}
			b.sim.Faults().Add(sim.Fault{Method: "chat.postMessage", Lose: true})
			if _, err := b.adapter.Send(t.Context(), to, out); platforms.ClassOf(err) != platforms.OutcomeUnknown {
				t.Fatalf("send: %v", err)
			}
			b.sim.SetLag(3 * time.Second)
			if id, err := b.adapter.Find(t.Context(), to, out, since); id != "" || err != nil {
				t.Errorf("%s within the lag: %q, %v", key, id, err)
			}
			time.Sleep(4 * time.Second)
			id, err := b.adapter.Find(t.Context(), to, out, since)
			if shown := b.sim.Visible(to.Chat); err != nil || id != shown[len(shown)-1].ID {
				t.Errorf("%s: %q, %v", key, id, err)
			}
			other := platforms.Outgoing{Text: "the same text", Key: key + "x"}
			if id, err := b.adapter.Find(t.Context(), to, other, since); id != "" || err != nil {
				t.Errorf("another key: %q, %v", id, err)
			}
		}
	})
}

func TestFindLooksThroughAllPages(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		to := platforms.Address{Platform: platforms.Slack, Account: "T0SIM", Chat: dm}
		out := platforms.Outgoing{Text: "lost", Key: "k"}
		since := time.Now()
		want, err := b.adapter.Send(t.Context(), to, out)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 * pageLength {
			if _, err := b.sim.Say(sim.Say{User: ada, Chat: dm, Text: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if id, err := b.adapter.Find(t.Context(), to, out, since); id != want || err != nil {
			t.Errorf("found %q, %v; want %s", id, err, want)
		}
	})
}

// An error means that nobody can tell, and the class whether it is worth asking again.
func TestFindSaysWhenItCannotTell(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		to := platforms.Address{Platform: platforms.Slack, Account: "T0SIM", Chat: dm}
		for _, c := range []struct {
			fault sim.Fault
			want  platforms.Class
		}{
			{sim.Fault{Error: "missing_scope"}, platforms.Fatal},
			{sim.Fault{Error: "channel_not_found"}, platforms.Gone},
			{sim.Fault{Cut: true}, platforms.Transient},
			{sim.Fault{Status: 500}, platforms.Transient},
			{sim.Fault{Status: 502, HTML: true}, platforms.Transient},
			{sim.Fault{Status: 429, RetryAfter: 7 * time.Second}, platforms.RateLimited},
		} {
			c.fault.Method = "conversations.history"
			b.sim.Faults().Add(c.fault)
			id, err := b.adapter.Find(t.Context(), to, platforms.Outgoing{Text: "x", Key: "k"}, time.Now())
			if id != "" || platforms.ClassOf(err) != c.want {
				t.Errorf("%+v: %q, %v; want %s", c.fault, id, err, c.want)
			}
		}
	})
}

func TestHistory(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		say := func(s sim.Say) string {
			t.Helper()
			id, err := b.sim.Say(s)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			return id
		}
		root := say(sim.Say{User: ada, Chat: room, Text: "old root"})
		since := time.Now()
		say(sim.Say{User: bob, Chat: room, Thread: root, Text: "reply"})
		first := say(sim.Say{User: ada, Chat: room, Text: "hello", Mention: true})
		say(sim.Say{User: "U0OTHERBOT", Chat: room, Text: "a robot speaks"})
		say(sim.Say{User: bob, Chat: room, Text: "look", File: "a.txt"})
		at := platforms.Address{Platform: platforms.Slack, Account: "T0SIM", Chat: room}
		for thread, want := range map[string]string{"": "hello look", root: "reply"} {
			at.Thread = thread
			got, err := b.adapter.History(t.Context(), at, since)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, m := range got {
				texts = append(texts, m.Text)
				if m.ID == first && (!m.Mentioned || m.Address.Thread != first || m.Kind != platforms.Thread || m.Sender.Name != "Ada") {
					t.Errorf("message is %+v", m)
				}
			}
			if s := strings.Join(texts, " "); s != want {
				t.Errorf("in thread %q: %q, want %q", thread, s, want)
			}
		}
		live := b.got()
		got, err := b.adapter.History(t.Context(), platforms.Address{Platform: platforms.Slack, Chat: room}, since)
		if err != nil || !slices.ContainsFunc(live, func(u platforms.Update) bool { return u.NativeID() == got[0].Native }) {
			t.Errorf("the history names %v as %+v, %v", live, got[0], err)
		}
	})
}

// A connection counts as fresh only after a silence in which Slack may have given events up.
func TestConnectionsAfterSilence(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		if n := b.adapter.Connections(); n != 1 {
			t.Fatalf("%d fresh connections at first", n)
		}
		b.sim.Disconnect("refresh_requested")
		time.Sleep(30 * time.Second)
		if n := b.adapter.Connections(); n != 1 {
			t.Errorf("%d fresh connections after a refresh", n)
		}
		b.sim.Faults().Add(sim.Fault{Method: "apps.connections.open", Status: 500, Times: 20})
		b.sim.Drop()
		time.Sleep(5 * time.Minute)
		b.sim.Faults().Clear()
		time.Sleep(5 * time.Minute)
		if n := b.adapter.Connections(); n != 2 {
			t.Errorf("%d fresh connections after an outage", n)
		}
	})
}
