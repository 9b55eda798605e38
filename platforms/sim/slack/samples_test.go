package slack_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/platforms/sim/slack"
)

// The events of the simulator have no field that Slack's own samples lack (github.com/slackapi/java-slack-sdk,
// json-logs/samples). They are not part of this repository: TALARIA_SPECS names a folder that holds slack-samples.
func TestEventsMatchTheSamples(t *testing.T) {
	folder := os.Getenv("TALARIA_SPECS")
	if folder == "" {
		t.Skip("TALARIA_SPECS names no folder with slack-samples")
	}
	sample := func(path string) (v any) {
		data, err := os.ReadFile(filepath.Join(folder, "slack-samples", path))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	samples := map[string]any{}
	for name, path := range map[string]string{
		"slash_commands":          "app-backend/slash-commands/SlashCommandPayload.json",
		"interactive":             "app-backend/interactive-components/BlockActionPayload.json",
		"message":                 "events/MessagePayload.json",
		"message/file_share":      "events/MessageFileSharePayload.json",
		"message/message_changed": "events/MessageChangedPayload.json",
		"message/message_deleted": "events/MessageDeletedPayload.json",
		"app_mention":             "events/AppMentionPayload.json",
		"tokens_revoked":          "events/TokensRevokedPayload.json",
	} {
		samples[name] = sample(path)
	}
	inBubble(t, slack.Config{}, func(t *testing.T, c *client) {
		s := c.connect(acknowledge)
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		root := c.say("hi @talaria")
		reply, err := c.Say(sim.Say{User: ada, Chat: room, Thread: root, Text: "more"})
		do(err)
		do(second(c.Say(sim.Say{User: ada, Chat: room, File: "a.txt"})))
		do(c.EditAs(ada, room, root, "ho"))
		do(c.Unfurl(room, root))
		do(c.DeleteAs(ada, room, reply))
		posted := c.call("chat.postMessage", "channel", room, "thread_ts", root, "text", "?", "blocks",
			`[{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"Yes"},"value":"s"}]}]`)
		_, err = c.Press(ada, room, posted.TS, "s")
		do(err)
		_, err = c.Invoke(ada, room, "", "status", "")
		do(err)
		c.Revoke()
		time.Sleep(time.Second)
		seen := map[string]bool{}
		for _, e := range s.taken() {
			name := e.Type
			if name == "events_api" {
				name = e.event()
			}
			if samples[name] == nil {
				if name != "hello" {
					t.Errorf("no sample of %s", name)
				}
				continue
			}
			seen[name] = true
			var payload any
			do(json.Unmarshal(e.Payload, &payload))
			for _, field := range foreign(payload, samples[name], "") {
				t.Errorf("a sample of %s has no field %s", name, field)
			}
		}
		if len(seen) != len(samples) {
			t.Errorf("saw only %v", seen)
		}
	})
}

// foreign lists the fields of a value that a sample does not have. Blocks are left out: the samples show all their
// shapes in one list.
func foreign(value, sample any, path string) []string {
	var list []string
	switch v := value.(type) {
	case map[string]any:
		s, _ := sample.(map[string]any)
		for name, inner := range v {
			at := path + "." + name
			switch known, ok := s[name]; {
			case name == "blocks":
			case !ok:
				list = append(list, at)
			default:
				list = append(list, foreign(inner, known, at)...)
			}
		}
	case []any:
		s, _ := sample.([]any)
		for _, item := range v {
			if len(s) > 0 {
				list = append(list, foreign(item, s[0], path+"[]")...)
			}
		}
	}
	return list
}
