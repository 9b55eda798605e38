package slack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/slack"
)

func TestRefusals(t *testing.T) {
	inBubble(t, slack.Config{Unlimited: true}, func(t *testing.T, c *client) {
		c.AddChat(sim.Chat{ID: "C0OLD", Kind: "channel"})
		c.AddChat(sim.Chat{ID: "C0OUT", Kind: "channel"})
		c.Archive("C0OLD")
		c.Kick("C0OUT")
		theirs := c.say("mine")
		ours := c.call("chat.postMessage", "channel", room, "text", "ours").TS
		long := strings.Repeat("x", 4001)
		for _, test := range []struct {
			want, method string
			args         []string
		}{
			{"unknown_method", "chat.shout", nil},
			{"invalid_auth", "auth.test", []string{"token", "xoxb-other"}},
			{"not_authed", "auth.test", []string{"token", ""}},
			{"not_allowed_token_type", "auth.test", []string{"token", "xapp-simulated"}},
			{"not_allowed_token_type", "apps.connections.open", nil},
			{"channel_not_found", "chat.postMessage", []string{"channel", "C9", "text", "x"}},
			{"is_archived", "chat.postMessage", []string{"channel", "C0OLD", "text", "x"}},
			{"not_in_channel", "chat.postMessage", []string{"channel", "C0OUT", "text", "x"}},
			{"no_text", "chat.postMessage", []string{"channel", room, "text", " \n"}},
			{"invalid_thread_ts", "chat.postMessage", []string{"channel", room, "text", "x", "thread_ts", "12"}},
			{"invalid_metadata_format", "chat.postMessage", []string{"channel", room, "text", "x", "metadata", "{}"}},
			{"invalid_blocks_format", "chat.postMessage", []string{"channel", room, "text", "x", "blocks", "{}"}},
			{"message_not_found", "chat.update", []string{"channel", room, "text", "x", "ts", "1.000001"}},
			{"cant_update_message", "chat.update", []string{"channel", room, "text", "x", "ts", theirs}},
			{"msg_too_long", "chat.update", []string{"channel", room, "text", long, "ts", ours}},
			{"no_text", "chat.update", []string{"channel", room, "text", "", "ts", ours}},
			{"cant_delete_message", "chat.delete", []string{"channel", room, "ts", theirs}},
			{"message_not_found", "chat.delete", []string{"channel", room, "ts", "1.000001"}},
			{"user_not_in_channel", "chat.postEphemeral", []string{"channel", room, "user", "U9", "text", "x"}},
			{"invalid_thread_ts", "assistant.threads.setStatus", []string{"channel_id", room, "status", "x"}},
			{"invalid_thread_ts", "assistant.threads.setStatus", []string{"channel_id", room, "status", "x", "thread_ts", "1.000001"}},
			{"message_not_found", "reactions.add", []string{"channel", room, "timestamp", "1.000001", "name", "eyes"}},
			{"invalid_name", "reactions.add", []string{"channel", room, "timestamp", theirs, "name", ":eyes:"}},
			{"user_not_found", "users.info", []string{"user", "U9"}},
			{"channel_not_found", "conversations.info", []string{"channel", "C9"}},
			{"thread_not_found", "conversations.replies", []string{"channel", room, "ts", "1.000001"}},
			{"not_in_channel", "conversations.history", []string{"channel", "C0OUT"}},
		} {
			if a := c.call(test.method, test.args...); a.OK || a.Error != test.want || a.Status != http.StatusOK {
				t.Errorf("%s %q: %+v, want %s", test.method, test.args, a, test.want)
			}
		}
		if a := c.call("reactions.add", "channel", room, "timestamp", theirs, "name", "eyes"); !a.OK {
			t.Errorf("reactions.add: %+v", a)
		}
		if a := c.call("reactions.add", "channel", room, "timestamp", theirs, "name", "eyes"); a.Error != "already_reacted" {
			t.Errorf("the second equal reaction: %+v", a)
		}
	})
}

func TestBlocksAreChecked(t *testing.T) {
	button := func(fields string) string {
		return `[{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Go"},` + fields + `}]}]`
	}
	section := func(n int) string {
		return `{"type":"section","text":{"type":"mrkdwn","text":"` + strings.Repeat("x", n) + `"}}`
	}
	many := func(n int, block string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(block+",", n), ",") + "]"
	}
	inBubble(t, slack.Config{Unlimited: true}, func(t *testing.T, c *client) {
		for name, test := range map[string]struct{ blocks, want string }{
			"longest section":    {many(1, section(3000)), ""},
			"too long section":   {many(1, section(3001)), "invalid_blocks"},
			"empty section":      {many(1, section(0)), "invalid_blocks"},
			"most blocks":        {many(50, section(1)), ""},
			"too many blocks":    {many(51, section(1)), "invalid_blocks"},
			"too long in all":    {many(5, section(2700)), "msg_blocks_too_long"},
			"unknown type":       {`[{"type":"hologram"}]`, "invalid_blocks"},
			"unknown field":      {`[{"type":"divider","colour":"red"}]`, "invalid_blocks"},
			"header in mrkdwn":   {`[{"type":"header","text":{"type":"mrkdwn","text":"x"}}]`, "invalid_blocks"},
			"markdown":           {`[{"type":"markdown","text":"# hi"}]`, ""},
			"markdown, too long": {`[{"type":"markdown","text":"` + strings.Repeat("x", 12_001) + `"}]`, "invalid_blocks"},
			"context":            {`[{"type":"context","elements":[{"type":"mrkdwn","text":"small"}]}]`, ""},
			"button":             {button(`"action_id":"a","value":"v","style":"danger"`), ""},
			"button without id":  {button(`"value":"v"`), "invalid_blocks"},
			"purple button":      {button(`"action_id":"a","style":"purple"`), "invalid_blocks"},
			"button's value":     {button(`"action_id":"a","value":"` + strings.Repeat("v", 2001) + `"`), "invalid_blocks"},
			"no buttons":         {`[{"type":"actions","elements":[]}]`, "invalid_blocks"},
			"twice one block_id": {`[{"type":"divider","block_id":"d"},{"type":"divider","block_id":"d"}]`, "invalid_blocks"},
			"twice one action_id": {`[{"type":"actions","elements":[
				{"type":"button","text":{"type":"plain_text","text":"A"},"action_id":"a"},
				{"type":"button","text":{"type":"plain_text","text":"B"},"action_id":"a"}]}]`, "invalid_blocks"},
			"label too long": {`[{"type":"actions","elements":[{"type":"button","action_id":"a",
				"text":{"type":"plain_text","text":"` + strings.Repeat("x", 76) + `"}}]}]`, "invalid_blocks"},
		} {
			if a := c.call("chat.postMessage", "channel", room, "text", "x", "blocks", test.blocks); a.Error != test.want {
				t.Errorf("%s: %+v, want %q", name, a, test.want)
			}
		}
	})
}

func TestLongTextIsCutOff(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		if a := c.call("chat.postMessage", "channel", room, "text", strings.Repeat("é", 40_001)); !a.OK {
			t.Fatal(a.Error)
		}
		if n := len([]rune(c.Visible(room)[0].Wire)); n != 40_000 {
			t.Errorf("%d characters are left", n)
		}
	})
}

func TestThreads(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		root := c.say("root")
		reply := c.call("chat.postMessage", "channel", room, "text", "a reply", "thread_ts", root).TS
		nested := c.call("chat.postMessage", "channel", room, "text", "a reply to a reply", "thread_ts", reply).TS
		if err := c.DeleteAs(ada, room, root); err != nil {
			t.Fatal(err)
		}
		late := c.call("chat.postMessage", "channel", room, "text", "late", "thread_ts", root).TS
		lost := c.call("chat.postMessage", "channel", room, "text", "lost", "thread_ts", "1000000000.000001").TS
		got := map[string]string{}
		for _, m := range c.Visible(room) {
			got[m.ID] = m.Thread
		}
		want := map[string]string{reply: root, nested: root, late: root, lost: ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("threads (-want +got):\n%s", diff)
		}
	})
}

func TestHistory(t *testing.T) {
	inBubble(t, slack.Config{Lag: 2 * time.Second}, func(t *testing.T, c *client) {
		const metadata = `{"event_type":"talaria_delivery","event_payload":{"key":"k1"}}`
		root := c.call("chat.postMessage", "channel", room, "text", "root", "metadata", metadata).TS
		c.call("chat.postMessage", "channel", room, "text", "reply", "thread_ts", root, "metadata", metadata)
		if a := c.call("conversations.history", "channel", room); !a.OK || len(a.Messages) != 0 {
			t.Errorf("a new message is found at once: %+v", a)
		}
		time.Sleep(2 * time.Second)
		c.say("later")
		time.Sleep(2 * time.Second)
		texts := func(a answer) (list []string) {
			for _, m := range a.Messages {
				list = append(list, m.Text)
			}
			return list
		}
		a := c.call("conversations.history", "channel", room, "include_all_metadata", "true")
		if diff := cmp.Diff([]string{"later", "root"}, texts(a)); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if string(a.Messages[1].Metadata) != metadata {
			t.Errorf("metadata %s", a.Messages[1].Metadata)
		}
		a = c.call("conversations.replies", "channel", room, "ts", root)
		if diff := cmp.Diff([]string{"root", "reply"}, texts(a)); diff != "" {
			t.Errorf("replies (-want +got):\n%s", diff)
		}
		if a.Messages[0].Metadata != nil {
			t.Errorf("metadata that nobody asked for: %s", a.Messages[0].Metadata)
		}
		a = c.call("conversations.history", "channel", room, "limit", "1")
		if diff := cmp.Diff([]string{"later"}, texts(a)); diff != "" || !a.HasMore {
			t.Errorf("one message (-want +got), more %v:\n%s", a.HasMore, diff)
		}
		a = c.call("conversations.history", "channel", room, "oldest", root)
		if diff := cmp.Diff([]string{"later"}, texts(a)); diff != "" {
			t.Errorf("after the first (-want +got):\n%s", diff)
		}
		a = c.call("conversations.history", "channel", room, "oldest", root, "inclusive", "true")
		if diff := cmp.Diff([]string{"later", "root"}, texts(a)); diff != "" {
			t.Errorf("from the first (-want +got):\n%s", diff)
		}
	})
}

func TestRateLimits(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		post := func(chat string) answer { return c.call("chat.postMessage", "channel", chat, "text", "x") }
		for range 5 {
			if a := post(room); !a.OK {
				t.Fatalf("a short burst is refused: %+v", a)
			}
		}
		if a := post(room); a.Status != http.StatusTooManyRequests || a.RetryAfter != "1" || a.Error != "ratelimited" {
			t.Errorf("the sixth at once: %+v", a)
		}
		if a := post(dm); !a.OK {
			t.Errorf("another conversation: %+v", a)
		}
		time.Sleep(time.Second)
		if a := post(room); !a.OK {
			t.Errorf("after the wait: %+v", a)
		}
		ts := post(dm).TS
		for i := range 50 {
			if a := c.call("chat.update", "channel", dm, "ts", ts, "text", fmt.Sprint(i)); !a.OK {
				t.Fatalf("edit %d: %+v", i, a)
			}
		}
		if a := c.call("chat.update", "channel", dm, "ts", ts, "text", "x"); a.Status != http.StatusTooManyRequests {
			t.Errorf("edit 51 within the minute: %+v", a)
		}
	})
	inBubble(t, slack.Config{Unlimited: true}, func(t *testing.T, c *client) {
		for range 100 {
			if a := c.call("chat.postMessage", "channel", room, "text", "x"); !a.OK {
				t.Fatalf("%+v", a)
			}
		}
	})
}

func TestStatusExpires(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		root := c.say("hi")
		show := func() {
			if a := c.call("assistant.threads.setStatus", "channel_id", room, "thread_ts", root, "status", "is thinking"); !a.OK {
				t.Fatalf("%+v", a)
			}
			if !c.Typing(room, root) {
				t.Error("no status shows")
			}
		}
		show()
		time.Sleep(2*time.Minute + time.Second)
		if c.Typing(room, root) {
			t.Error("the status outlives two minutes")
		}
		show()
		c.call("chat.postMessage", "channel", room, "thread_ts", root, "text", "answer")
		if c.Typing(room, root) {
			t.Error("the status outlives the answer")
		}
		show()
		c.call("assistant.threads.setStatus", "channel_id", room, "thread_ts", root, "status", "")
		if c.Typing(room, root) {
			t.Error("the status outlives its removal")
		}
	})
}

func TestMrkdwn(t *testing.T) {
	inBubble(t, slack.Config{Unlimited: true}, func(t *testing.T, c *client) {
		for _, test := range []struct{ wire, visible, html string }{
			{"plain &amp; &lt;safe&gt; &amp;lt;", "plain & <safe> &lt;", "plain &amp; &lt;safe&gt; &amp;lt;"},
			{"*bold* _italic_ ~gone~", "bold italic gone", "<b>bold</b> <i>italic</i> <s>gone</s>"},
			{"*bold _both_*", "bold both", "<b>bold <i>both</i></b>"},
			{"snake_case_name 2*3*4", "snake_case_name 2*3*4", "snake_case_name 2*3*4"},
			{"* not bold *", "* not bold *", "* not bold *"},
			{"`a * b * &lt;`", "a * b * <", "<code>a * b * &lt;</code>"},
			{"<https://e.test/?a=1&amp;b=2|here>", "here", `<a href="https://e.test/?a=1&amp;b=2" rel="noopener noreferrer">here</a>`},
			{"<javascript:alert(1)|click>", "click", "click"},
			{"<@U0ADA> in <#C0ROOM> <!channel>", "@Ada in #room @channel", "<b>@Ada</b> in <b>#room</b> <b>@channel</b>"},
			{"<!date^1^{date}|a day>", "a day", "a day"},
			{"&gt; quoted *well*\n&gt; twice\nend", "quoted well\ntwice\nend", "<blockquote>quoted <b>well</b><br>twice</blockquote><br>end"},
			{"```\nx := *p &amp; y\n```", "x := *p & y", "<pre>x := *p &amp; y</pre>"},
			{"``` `` open", "``` `` open", "``` `` open"},
			{"*unclosed <b", "*unclosed <b", "*unclosed &lt;b"},
			{"<script>alert(1)</script>", "scriptalert(1)/script", "scriptalert(1)/script"},
		} {
			c.call("chat.postMessage", "channel", room, "text", test.wire)
			all := c.Visible(room)
			m := all[len(all)-1]
			if m.Visible != test.visible || m.HTML != test.html {
				t.Errorf("%q:\nvisible %q\nwant    %q\nHTML %s\nwant %s", test.wire, m.Visible, test.visible, m.HTML, test.html)
			}
		}
		c.call("chat.postMessage", "channel", room, "text", "*not bold*", "mrkdwn", "false")
		all := c.Visible(room)
		if m := all[len(all)-1]; m.Visible != "*not bold*" {
			t.Errorf("without mrkdwn: %q", m.Visible)
		}
	})
}

func TestLogAndChanged(t *testing.T) {
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		changed := c.Changed()
		select {
		case <-changed:
			t.Error("changed before anything happened")
		default:
		}
		root := c.say("hi")
		<-changed
		ts := c.call("chat.postMessage", "channel", room, "thread_ts", root, "text", "ho").TS
		c.call("chat.update", "channel", room, "ts", ts, "text", "ha")
		c.call("reactions.add", "channel", room, "timestamp", root, "name", "eyes")
		c.call("chat.postEphemeral", "channel", room, "user", ada, "text", "psst")
		c.call("chat.delete", "channel", room, "ts", ts)
		var kinds []string
		for _, e := range c.Log() {
			kinds = append(kinds, e.Kind+" "+e.Visible)
		}
		if diff := cmp.Diff([]string{"say hi", "send ho", "edit ha", "react hi", "note psst", "delete ha"}, kinds); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
