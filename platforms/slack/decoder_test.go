package slack

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/platforms"
)

func testDecoder() decoder {
	return decoder{team: "T1", bot: "UBOT", text: reader{bot: "UBOT", name: "talaria"}}
}

func decodeEvent(t *testing.T, event string) decoded {
	t.Helper()
	payload := fmt.Sprintf(`{"type":"event_callback","team_id":"T9","event":%s}`, event)
	return testDecoder().decode(envelope{ID: "e", Type: "events_api", Payload: json.RawMessage(payload)})
}

// What Slack sends in one shape and another, and what it means.
func TestDecodeMessages(t *testing.T) {
	at := time.Unix(1700000000, 100_000)
	for name, test := range map[string]struct {
		event string
		want  platforms.Message
	}{
		"mention with event_ts alone": {
			`{"type":"app_mention","channel":"C1","user":"U1","text":"<@UBOT> go","event_ts":"1700000000.000100"}`,
			platforms.Message{
				Native: "slack/T1/m/C1/1700000000.000100", ID: "1700000000.000100", Text: "go", Mentioned: true, At: at,
				Origin: platforms.Origin{Kind: platforms.Thread, Sender: platforms.Person{ID: "U1"}, Address: platforms.Address{
					Platform: "slack", Account: "T1", Chat: "C1", Thread: "1700000000.000100",
				}},
			},
		},
		"thread broadcast": {
			`{"type":"message","subtype":"thread_broadcast","channel":"C1","channel_type":"channel","user":"U1","text":"all",
			  "ts":"1700000000.000100","thread_ts":"1600000000.000100","parent_user_id":"U2"}`,
			platforms.Message{
				Native: "slack/T1/m/C1/1700000000.000100", ID: "1700000000.000100", Text: "all", At: at,
				Origin: platforms.Origin{Kind: platforms.Thread, Sender: platforms.Person{ID: "U1"}, Address: platforms.Address{
					Platform: "slack", Account: "T1", Chat: "C1", Thread: "1600000000.000100",
				}},
			},
		},
		"files": {
			`{"type":"message","subtype":"file_share","channel":"D1","channel_type":"im","user":"U1","text":"","ts":"1700000000.000100",
			  "files":[{"id":"F1","name":"a.png","mimetype":"image/png","size":7},
			           {"id":"F2","name":"clip.m4a","mimetype":"audio/mp4","subtype":"slack_audio"},
			           {"id":"F3","name":"x","mimetype":"text/plain"}]}`,
			platforms.Message{
				Native: "slack/T1/m/D1/1700000000.000100", ID: "1700000000.000100", Mentioned: true, At: at,
				Attachments: []platforms.Attachment{
					{Kind: "photo", Name: "a.png", Type: "image/png", Size: 7, Ref: "F1"},
					{Kind: "voice", Name: "clip.m4a", Type: "audio/mp4", Ref: "F2"},
					{Kind: "document", Name: "x", Type: "text/plain", Ref: "F3"},
				},
				Origin: platforms.Origin{Kind: platforms.Direct, Sender: platforms.Person{ID: "U1"}, Address: platforms.Address{
					Platform: "slack", Account: "T1", Chat: "D1",
				}},
			},
		},
		"shared message": {
			`{"type":"message","channel":"D1","channel_type":"im","user":"U1","text":"look","ts":"1700000000.000100",
			  "attachments":[{"from_url":"https://e.test","text":"a preview"},
			                 {"is_share":true,"author_id":"UBOT","author_name":"talaria","text":"a &amp; b","ts":"1.000002"}]}`,
			platforms.Message{
				Native: "slack/T1/m/D1/1700000000.000100", ID: "1700000000.000100", Text: "look", Mentioned: true, At: at,
				Quoted: &platforms.Quote{
					MessageID: "1.000002", Text: "a & b", Own: true, Sender: platforms.Person{ID: "UBOT", Name: "talaria"},
				},
				Origin: platforms.Origin{Kind: platforms.Direct, Sender: platforms.Person{ID: "U1"}, Address: platforms.Address{
					Platform: "slack", Account: "T1", Chat: "D1",
				}},
			},
		},
		"reply in a thread of ours that speaks to somebody else": {
			`{"type":"message","channel":"C1","channel_type":"group","user":"U1","text":"<@U2> see","ts":"1700000000.000100",
			  "thread_ts":"1600000000.000100","parent_user_id":"UBOT"}`,
			platforms.Message{
				Native: "slack/T1/m/C1/1700000000.000100", ID: "1700000000.000100", Text: "@U2 see", MentionsOther: true, At: at,
				Origin: platforms.Origin{Kind: platforms.Thread, Sender: platforms.Person{ID: "U1"}, Address: platforms.Address{
					Platform: "slack", Account: "T1", Chat: "C1", Thread: "1600000000.000100",
				}},
			},
		},
	} {
		got, ok := decodeEvent(t, test.event).update.(*platforms.Message)
		if !ok {
			t.Errorf("%s: no message", name)
			continue
		}
		if diff := cmp.Diff(test.want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDecodeDropsWhatNoPersonWrote(t *testing.T) {
	for name, event := range map[string]string{
		"ourselves":         `{"type":"message","channel":"C1","user":"UBOT","bot_id":"B1","text":"x","ts":"1.1"}`,
		"another bot":       `{"type":"message","channel":"C1","user":"U7","bot_id":"B7","text":"<@UBOT>","ts":"1.1"}`,
		"a bot's mention":   `{"type":"app_mention","channel":"C1","user":"U7","bot_id":"B7","text":"<@UBOT>","ts":"1.1"}`,
		"an integration":    `{"type":"message","subtype":"bot_message","channel":"C1","bot_id":"B7","text":"<@UBOT>","ts":"1.1"}`,
		"Slackbot":          `{"type":"message","channel":"D1","channel_type":"im","user":"USLACKBOT","text":"x","ts":"1.1"}`,
		"somebody joined":   `{"type":"message","subtype":"channel_join","channel":"C1","user":"U1","text":"<@U1> has joined","ts":"1.1"}`,
		"mention in a DM":   `{"type":"app_mention","channel":"D1","user":"U1","text":"<@UBOT> x","ts":"1.1"}`,
		"mention, group DM": `{"type":"app_mention","channel":"G1","channel_type":"mpim","user":"U1","text":"<@UBOT> x","ts":"1.1"}`,
		"link preview": `{"type":"message","subtype":"message_changed","channel":"C1","ts":"2.1",
			"message":{"user":"U1","text":"x","ts":"1.1","edited":{"ts":"1.5"}},"previous_message":{"user":"U1","text":"x","ts":"1.1"}}`,
		"preview, no edit": `{"type":"message","subtype":"message_changed","channel":"C1","ts":"2.1","message":{"user":"U1","text":"x","ts":"1.1"}}`,
		"our own edit": `{"type":"message","subtype":"message_changed","channel":"C1","ts":"2.1",
			"message":{"user":"UBOT","bot_id":"B1","text":"y","ts":"1.1","edited":{"ts":"2.1"}},"previous_message":{"text":"x"}}`,
		"our own deletion": `{"type":"message","subtype":"message_deleted","channel":"C1","deleted_ts":"1.1","ts":"2.1",
			"previous_message":{"user":"UBOT","bot_id":"B1","text":"y","ts":"1.1"}}`,
		"an edit of nothing":     `{"type":"message","subtype":"message_changed","channel":"C1","ts":"2.1"}`,
		"a deletion of nothing":  `{"type":"message","subtype":"message_deleted","channel":"C1","ts":"2.1"}`,
		"a person's token taken": `{"type":"tokens_revoked","tokens":{"oauth":["U1"],"bot":[]}}`,
	} {
		if got := decodeEvent(t, event); got.update != nil || got.revoked {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestDecodeIsExactAboutEdits(t *testing.T) {
	edit := decodeEvent(t, `{"type":"message","subtype":"message_changed","channel":"D1","channel_type":"im","ts":"9.1",
		"message":{"user":"U1","text":"new","ts":"1.000100","thread_ts":"1.000100","edited":{"user":"U1","ts":"8.000100"}},
		"previous_message":{"user":"U1","text":"old","ts":"1.000100"}}`).update
	got, ok := edit.(*platforms.MessageEdited)
	if !ok || got.Native != "slack/T1/e/D1/1.000100/8.000100" || got.ID != "1.000100" || got.Text != "new" ||
		got.Address != (platforms.Address{Platform: "slack", Account: "T1", Chat: "D1"}) {
		t.Errorf("got %+v", edit)
	}
	gone := decodeEvent(t, `{"type":"message","subtype":"message_deleted","channel":"D1","channel_type":"im","ts":"9.1","deleted_ts":"2.000100",
		"previous_message":{"user":"U1","text":"old","ts":"2.000100","thread_ts":"1.000100"}}`).update
	deleted, ok := gone.(*platforms.MessageDeleted)
	if !ok || deleted.Native != "slack/T1/d/D1/2.000100" || deleted.Sender.ID != "U1" ||
		deleted.Address != (platforms.Address{Platform: "slack", Account: "T1", Chat: "D1", Thread: "1.000100"}) {
		t.Errorf("got %+v", gone)
	}
}

func TestDecodeOtherInteractions(t *testing.T) {
	for name, e := range map[string]envelope{
		"view_submission": {Type: "interactive", Payload: []byte(`{"type":"view_submission","user":{"id":"U1"}}`)},
		"a foreign button": {Type: "interactive", Payload: []byte(`{"type":"block_actions","user":{"id":"U1"},
			"container":{"channel_id":"C1","message_ts":"1.1"},"actions":[{"type":"button","action_id":"other","value":"v"}]}`)},
		"no command":   {Type: "slash_commands", Payload: []byte(`{}`)},
		"no payload":   {Type: "interactive"},
		"unknown type": {Type: "telepathy", Payload: []byte(`{}`)},
	} {
		if got := testDecoder().decode(e); got.update != nil || got.unknown == "" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestStamp(t *testing.T) {
	for ts, want := range map[string]time.Time{
		"1700000000.000100": time.Unix(1700000000, 100_000),
		"1700000000":        time.Unix(1700000000, 0),
		"":                  {},
		"x.1":               {},
	} {
		if got := stamp(ts); !got.Equal(want) {
			t.Errorf("stamp(%q) = %v, want %v", ts, got, want)
		}
	}
}
