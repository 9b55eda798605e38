package slack_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/slack"
)

func TestEventsAreRedeliveredUntilAcknowledged(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		s := c.connect(nil)
		c.say("hello")
		want := func(frames ...string) {
			t.Helper()
			if diff := cmp.Diff(frames, s.got()); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		}
		want("hello", "message#0")
		time.Sleep(3 * time.Second)
		want("message#1")
		time.Sleep(3*time.Second + time.Minute)
		want("message#2")
		time.Sleep(3*time.Second + 5*time.Minute)
		want("message#3")
		time.Sleep(time.Hour)
		want()
		if n := c.Unacknowledged(); n != 0 {
			t.Errorf("%d envelopes are still kept", n)
		}
	})
}

func TestAcknowledgements(t *testing.T) {
	for name, test := range map[string]struct {
		ack  func(envelope) any
		want int // attempts within ten seconds
	}{
		"at once":  {acknowledge, 1},
		"late":     {func(envelope) any { time.Sleep(3500 * time.Millisecond); return nil }, 2},
		"too long": {func(envelope) any { return strings.Repeat("x", 20<<10) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
				s := c.connect(test.ack)
				c.say("hello")
				time.Sleep(10 * time.Second)
				if n := len(s.got()) - 1; n != test.want {
					t.Errorf("%d attempts, want %d", n, test.want)
				}
			})
		})
	}
}

func TestEventsWaitForAConnection(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		c.say("one")
		c.say("two")
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"hello", "message#0", "message#0"}, c.connect(acknowledge).got()); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
	})
}

func TestTicketsAreSingleUse(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		dialer := websocket.Dialer{NetDialContext: c.dial}
		address := c.open()
		ws, _, err := dialer.Dial(address, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer ws.Close()
		if again, _, err := dialer.Dial(address, nil); err == nil {
			_ = again.Close()
			t.Error("the same address works twice")
		}
	})
}

func TestTenConnectionsAreTheMost(t *testing.T) {
	inBubble(t, slack.Config{Unlimited: true}, func(t *testing.T, c *client) {
		var sockets []*socket
		for range 10 {
			sockets = append(sockets, c.connect(acknowledge))
		}
		if diff := cmp.Diff([]string{"disconnect too_many_websockets"}, c.connect(acknowledge).got()); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
		for range 50 {
			c.say("hello")
		}
		events, used := 0, 0
		for _, s := range sockets {
			n := len(s.got()) - 1
			events += n
			if n > 0 {
				used++
			}
		}
		if events != 50 || used < 5 {
			t.Errorf("%d events over %d connections, want each of 50 once, over most of them", events, used)
		}
	})
}

func TestPingsAndDisconnect(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		s := c.connect(acknowledge)
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.pings < 3 {
			t.Errorf("%d pings in a minute", s.pings)
		}
		c.Disconnect("warning")
		if diff := cmp.Diff([]string{"hello", "disconnect warning"}, s.got()); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
		<-s.ended
		c.Disconnect("link_disabled")
		if diff := cmp.Diff([]string{"disconnect link_disabled"}, c.connect(acknowledge).got()); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
	})
}

func TestInteractions(t *testing.T) {
	const blocks = `[{"type":"section","text":{"type":"mrkdwn","text":"May I?"}},
		{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"Yes"},"value":"yes"}]}]`
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		answers := map[string]any{"slash_commands": map[string]any{"text": "*fine*"}}
		s := c.connect(func(e envelope) any { return answers[e.Type] })
		posted := c.call("chat.postMessage", "channel", room, "text", "May I?", "blocks", blocks)
		if !posted.OK {
			t.Fatal(posted.Error)
		}
		pressed, err := c.Press(ada, room, posted.TS, "yes")
		if err != nil {
			t.Fatal(err)
		}
		if note, ok := <-pressed; note != "" || !ok {
			t.Errorf("a silent acknowledgement shows %q, %v", note, ok)
		}
		invoked, err := c.Invoke(ada, room, "", "status", "now")
		if err != nil {
			t.Fatal(err)
		}
		if note := <-invoked; note != "fine" {
			t.Errorf("the command shows %q", note)
		}
		if _, err := c.Press(ada, room, posted.TS, "no"); err == nil {
			t.Error("a button that is not there was pressed")
		}
		if _, err := c.Invoke(ada, room, posted.TS, "status", ""); err == nil {
			t.Error("a slash command was used in a thread")
		}
		for _, e := range s.taken() {
			if e.RetryAttempt != 0 {
				t.Errorf("%s was delivered again", e.Type)
			}
		}
	})
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		c.connect(func(e envelope) any {
			if e.Type == "events_api" {
				return nil
			}
			return ""
		})
		invoked, err := c.Invoke(ada, dm, "", "status", "")
		if err != nil {
			t.Fatal(err)
		}
		if note, ok := <-invoked; ok {
			t.Errorf("a command that nobody answers shows %q", note)
		}
	})
}

func TestResponseURLIsLimited(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		s := c.connect(acknowledge)
		if _, err := c.Invoke(ada, room, "", "status", ""); err != nil {
			t.Fatal(err)
		}
		var command struct {
			ResponseURL string `json:"response_url"`
		}
		frames := s.taken()
		if err := json.Unmarshal(frames[len(frames)-1].Payload, &command); err != nil {
			t.Fatal(err)
		}
		post := func() int {
			resp, err := c.http.Post(command.ResponseURL, "application/json", strings.NewReader(`{"text":"hi"}`))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		for range 5 {
			if code := post(); code != 200 {
				t.Fatalf("status %d", code)
			}
		}
		if code := post(); code != 404 {
			t.Errorf("the sixth use has status %d", code)
		}
	})
}

func TestPeopleSay(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		c.say("@Ada see https://e.test/a_b?c=1&d=2 <now> & @here")
		m := c.Visible(room)[0]
		if m.Wire != "<@U0ADA> see <https://e.test/a_b?c=1&amp;d=2> &lt;now&gt; &amp; <!here>" {
			t.Errorf("on the wire: %s", m.Wire)
		}
		if m.Visible != "@Ada see https://e.test/a_b?c=1&d=2 <now> & @here" {
			t.Errorf("visible: %s", m.Visible)
		}
		for name, err := range map[string]error{
			"stranger's edit":     c.EditAs("U0BOT", room, m.ID, "x"),
			"unknown message":     c.DeleteAs(ada, room, "1.000001"),
			"unknown place":       second(c.Say(sim.Say{User: ada, Chat: "C9", Text: "x"})),
			"unknown person":      second(c.Say(sim.Say{User: "U9", Chat: room, Text: "x"})),
			"unknown thread":      second(c.Say(sim.Say{User: ada, Chat: room, Thread: "1.000001", Text: "x"})),
			"somebody else's DM":  second(c.Say(sim.Say{User: "U0BOT", Chat: dm, Text: "x"})),
			"preview of nothing":  c.Unfurl(room, "1.000001"),
			"thread of the reply": second(c.Say(sim.Say{User: ada, Chat: dm, Thread: m.ID, Text: "x"})),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		last := ""
		for range 100 {
			id := c.say("again")
			if id <= last {
				t.Fatalf("ts %s after %s", id, last)
			}
			last = id
		}
	})
}

func second(_ string, err error) error { return err }
