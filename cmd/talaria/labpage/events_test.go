package labpage_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// diff is an event of the stream, as far as the tests look at it.
type diff struct {
	Platform, Chat string
	Typing, Order  []string
	Changed        []struct{ ID, Text string }
}

// listen opens the stream of a lab and returns a function that waits for the next change of one chat.
func listen(t *testing.T, l *lab) (next func(chat string) diff, hangUp func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+l.addr+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Talaria-Token", token)
	client := &http.Client{Transport: &http.Transport{}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatalf("opening the stream: %v", err)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	lines := bufio.NewScanner(resp.Body)
	next = func(chat string) diff {
		t.Helper()
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var d diff
			if err := json.Unmarshal([]byte(data), &d); err != nil {
				t.Fatalf("reading %s: %v", data, err)
			}
			if d.Chat == chat {
				return d
			}
		}
		t.Fatalf("the stream ended before a change of %s: %v", chat, lines.Err())
		return diff{}
	}
	hangUp = func() {
		cancel()
		_ = resp.Body.Close()
		client.CloseIdleConnections()
	}
	return next, hangUp
}

func TestStreamCarriesChanges(t *testing.T) {
	l := newLab(t)
	first := l.slack.add(sim.Message{Chat: "sc", User: "1", Visible: "one"})
	next, hangUp := listen(t, l)
	defer hangUp()

	check := func(step string, want diff) {
		t.Helper()
		if got := next("sc"); !cmp.Equal(got, want) {
			t.Fatalf("%s: %s", step, cmp.Diff(want, got))
		}
	}
	type changed = []struct{ ID, Text string }
	check("at the start everything", diff{"slack", "sc", []string{}, []string{first}, changed{{first, "one"}}})
	second := l.slack.add(sim.Message{Chat: "sc", User: "bot", Thread: first, Visible: "two"})
	check("a new message alone", diff{"slack", "sc", []string{}, []string{first, second}, changed{{second, "two"}}})
	if err := l.slack.EditAs("bot", "sc", second, "three"); err != nil {
		t.Fatal(err)
	}
	check("an edit", diff{"slack", "sc", []string{}, []string{first, second}, changed{{second, "three"}}})
	l.slack.setTyping("sc", first, true)
	check("typing in a thread", diff{"slack", "sc", []string{first}, []string{first, second}, changed{}})
	l.slack.setTyping("sc", "", true)
	check("typing in the chat too", diff{"slack", "sc", []string{"", first}, []string{first, second}, changed{}})
	l.slack.setTyping("sc", first, false)
	check("typing in the chat alone", diff{"slack", "sc", []string{""}, []string{first, second}, changed{}})
	l.slack.setTyping("sc", "", false)
	check("typing ended", diff{"slack", "sc", []string{}, []string{first, second}, changed{}})
	if err := l.slack.DeleteAs("bot", "sc", second); err != nil {
		t.Fatal(err)
	}
	check("a deletion", diff{"slack", "sc", []string{}, []string{first}, changed{}})
}

func TestStreamLeavesNothingBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	var last func()
	t.Cleanup(func() { // after newLab's, which must end the last stream by itself
		last()
		goleak.VerifyNone(t, before)
	})
	l := newLab(t)
	for range 3 {
		next, hangUp := listen(t, l)
		next("dc")
		hangUp()
	}
	_, last = listen(t, l)
}
