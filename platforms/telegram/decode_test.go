package telegram

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/platforms"
)

// self is the bot in these tests.
func self() tgbotapi.User { return tgbotapi.User{ID: 7, UserName: "Talaria_Bot", IsBot: true} }

func decode(t *testing.T, raw string) (platforms.Update, string) {
	t.Helper()
	var u update
	if err := json.Unmarshal([]byte(raw), &u); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	d := decoder{account: "7", self: self()}
	switch {
	case u.Message != nil:
		m, skip := d.message(u.Message)
		return m, skip
	case u.EditedMessage != nil:
		m, skip := d.edited(u.EditedMessage)
		return m, skip
	default:
		return d.press(u.CallbackQuery), ""
	}
}

const (
	private = `"chat":{"id":100,"type":"private","first_name":"Ada","last_name":"L"}`
	group   = `"chat":{"id":-500,"type":"group","title":"Lovelace"}`
	forum   = `"chat":{"id":-1002,"type":"supergroup","title":"Forum","is_forum":true}`
	fromAda = `"from":{"id":100,"is_bot":false,"first_name":"Ada","last_name":"L"}`
	fromBot = `"from":{"id":7,"is_bot":true,"first_name":"Talaria"}`
	root    = `"reply_to_message":{"message_id":42,"from":{"id":7,"is_bot":true,"first_name":"T"},"chat":{"id":-1002,"type":"supergroup"},"date":1,"forum_topic_created":{"name":"x","icon_color":1}}`
)

func TestDecodeMessage(t *testing.T) {
	in := func(chat, thread string) platforms.Address {
		return platforms.Address{Platform: platforms.Telegram, Account: "7", Chat: chat, Thread: thread}
	}
	ada := platforms.Person{ID: "100", Name: "Ada L"}
	for _, c := range []struct {
		name, raw string
		want      platforms.Message
	}{
		{
			"a direct message", `"text":"hello",` + private + `,` + fromAda,
			platforms.Message{
				Origin:    platforms.Origin{Address: in("100", ""), Kind: platforms.Direct, Sender: ada, Title: "Ada L"},
				Native:    "telegram/7/m/100/5",
				Text:      "hello",
				Mentioned: true,
			},
		}, {
			"a forwarded message", `"text":"/stop","forward_origin":{"type":"hidden_user","sender_user_name":"Eve","date":1},` + private + `,` + fromAda,
			platforms.Message{
				Origin:    platforms.Origin{Address: in("100", ""), Kind: platforms.Direct, Sender: ada, Title: "Ada L"},
				Native:    "telegram/7/m/100/5",
				Text:      "/stop",
				Mentioned: true,
				Forwarded: true,
			},
		}, {
			"a private topic", `"text":"hello","message_thread_id":3,"is_topic_message":true,` + private + `,` + fromAda,
			platforms.Message{
				Origin:    platforms.Origin{Address: in("100", "3"), Kind: platforms.Direct, Sender: ada, Title: "Ada L"},
				Native:    "telegram/7/m/100/5",
				Text:      "hello",
				Mentioned: true,
			},
		}, {
			"talk in a group", `"text":"hello",` + group + `,` + fromAda,
			platforms.Message{
				Origin: platforms.Origin{Address: in("-500", ""), Kind: platforms.Group, Sender: ada, Title: "Lovelace"},
				Native: "telegram/7/m/-500/5",
				Text:   "hello",
			},
		}, {
			"a reply to the bot in a group, with a thread id that is no topic",
			`"text":"yes","message_thread_id":4,` + group + `,` + fromAda + `,"reply_to_message":{"message_id":4,"date":1,"text":"Shall I?",` + group + `,` + fromBot + `}`,
			platforms.Message{
				Origin:    platforms.Origin{Address: in("-500", ""), Kind: platforms.Group, Sender: ada, Title: "Lovelace"},
				Native:    "telegram/7/m/-500/5",
				Text:      "yes",
				Mentioned: true,
				Quoted:    &platforms.Quote{MessageID: "4", Sender: platforms.Person{ID: "7", Name: "Talaria", Bot: true}, Text: "Shall I?", Own: true},
			},
		}, {
			"a quoted part of somebody's message",
			`"text":"yes","quote":{"text":"part","position":0},` + group + `,` + fromAda + `,"reply_to_message":{"message_id":4,"date":1,"caption":"the whole part",` + group + `,` + fromAda + `}`,
			platforms.Message{
				Origin: platforms.Origin{Address: in("-500", ""), Kind: platforms.Group, Sender: ada, Title: "Lovelace"},
				Native: "telegram/7/m/-500/5",
				Text:   "yes",
				Quoted: &platforms.Quote{MessageID: "4", Sender: ada, Text: "part"},
			},
		}, {
			"a message in a topic that the bot opened is no reply to it",
			`"text":"hello","message_thread_id":42,"is_topic_message":true,` + forum + `,` + fromAda + `,` + root,
			platforms.Message{
				Origin: platforms.Origin{Address: in("-1002", "42"), Kind: platforms.Topic, Sender: ada, Title: "Forum"},
				Native: "telegram/7/m/-1002/5",
				Text:   "hello",
			},
		}, {
			"a reply in General", `"text":"hello","message_thread_id":42,` + forum + `,` + fromAda,
			platforms.Message{
				Origin: platforms.Origin{Address: in("-1002", "general"), Kind: platforms.Topic, Sender: ada, Title: "Forum"},
				Native: "telegram/7/m/-1002/5",
				Text:   "hello",
			},
		}, {
			"an anonymous administrator is nobody", `"text":"hello",` + group + `,"from":{"id":1087968824,"is_bot":true,"first_name":"Group"},"sender_chat":{"id":-500,"type":"group","title":"Lovelace"}`,
			platforms.Message{
				Origin: platforms.Origin{Address: in("-500", ""), Kind: platforms.Group, Sender: platforms.Person{ID: "-500", Name: "Lovelace", Bot: true}, Title: "Lovelace"},
				Native: "telegram/7/m/-500/5",
				Text:   "hello",
			},
		}, {
			"another bot", `"text":"hello",` + group + `,"from":{"id":300,"is_bot":true,"first_name":"Other"}`,
			platforms.Message{
				Origin: platforms.Origin{Address: in("-500", ""), Kind: platforms.Group, Sender: platforms.Person{ID: "300", Name: "Other", Bot: true}, Title: "Lovelace"},
				Native: "telegram/7/m/-500/5",
				Text:   "hello",
			},
		}, {
			"a captioned picture of an album",
			`"caption":"@talaria_bot look","caption_entities":[{"type":"mention","offset":0,"length":12}],"media_group_id":"g1","photo":[{"file_id":"small","width":9,"height":9,"file_size":1},{"file_id":"big","width":99,"height":99,"file_size":77}],` + group + `,` + fromAda,
			platforms.Message{
				Origin:      platforms.Origin{Address: in("-500", ""), Kind: platforms.Group, Sender: ada, Title: "Lovelace"},
				Native:      "telegram/7/m/-500/5",
				Text:        "look",
				Mentioned:   true,
				Attachments: []platforms.Attachment{{Kind: "photo", Type: "image/jpeg", Size: 77, Ref: "big"}},
				Album:       "g1",
			},
		},
	} {
		got, skip := decode(t, `{"update_id":1,"message":{"message_id":5,"date":1600000000,`+c.raw+`}}`)
		c.want.ID, c.want.At = "5", time.Unix(1600000000, 0)
		if diff := cmp.Diff(&c.want, got); skip != "" || diff != "" {
			t.Errorf("%s (skip %q):\n%s", c.name, skip, diff)
		}
	}
}

func TestDecodeSkips(t *testing.T) {
	for raw, want := range map[string]string{
		`"text":"x",` + group + `,` + fromBot:           "own message",
		`"new_chat_title":"x",` + group + `,` + fromAda: "service message",

		`"text":"/new@other_bot x","entities":[{"type":"bot_command","offset":0,"length":14}],` + group + `,` + fromAda:    "command for another bot",
		`"text":"/new@talaria_bot2 x","entities":[{"type":"bot_command","offset":0,"length":17}],` + group + `,` + fromAda: "command for another bot",
	} {
		if got, skip := decode(t, `{"update_id":1,"message":{"message_id":5,"date":1,`+raw+`}}`); skip != want {
			t.Errorf("%s: skip %q, want %q (%+v)", raw, skip, want, got)
		}
	}
}

func TestDecodeEditAndPress(t *testing.T) {
	u, _ := decode(t, `{"update_id":1,"edited_message":{"message_id":5,"date":1,"edit_date":9,"text":"new",`+private+`,`+fromAda+`}}`)
	if e, ok := u.(*platforms.MessageEdited); !ok || !strings.HasPrefix(e.Native, "telegram/7/e/100/5/9/") || e.Original != "telegram/7/m/100/5" || e.ID != "5" || e.Text != "new" || !e.At.Equal(time.Unix(9, 0)) {
		t.Errorf("edit is %#v", u)
	}
	u, _ = decode(t, `{"update_id":1,"callback_query":{"id":"77","data":"stop",`+fromAda+`,"message":{"message_id":5,"date":1,"message_thread_id":42,"is_topic_message":true,`+forum+`,`+fromBot+`}}}`)
	want := &platforms.ButtonPressed{
		Origin: platforms.Origin{
			Address: platforms.Address{Platform: platforms.Telegram, Account: "7", Chat: "-1002", Thread: "42"},
			Kind:    platforms.Topic, Sender: platforms.Person{ID: "100", Name: "Ada L"}, Title: "Forum",
		},
		Native: "telegram/7/cb/77", MessageID: "5", Data: "stop",
	}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Errorf("press:\n%s", diff)
	}
	u, _ = decode(t, `{"update_id":1,"callback_query":{"id":"78","data":"stop",`+fromAda+`,"message":{"message_id":5,"date":0,`+group+`}}}`)
	if p := u.(*platforms.ButtonPressed); p.MessageID != "5" || p.Address.Chat != "-500" || p.Sender.ID != "100" || p.Sender.Bot {
		t.Errorf("press below an inaccessible message is %+v", p)
	}
}

func TestAddressing(t *testing.T) {
	entity := func(kind string, offset, length int) tgbotapi.MessageEntity {
		return tgbotapi.MessageEntity{Type: kind, Offset: offset, Length: length}
	}
	me := self()
	for _, c := range []struct {
		text     string
		entities []tgbotapi.MessageEntity
		want     addressed
	}{
		{"@talaria_bot hello", []tgbotapi.MessageEntity{entity("mention", 0, 12)}, addressed{text: "hello", self: true}},
		{"@TALARIA_BOT: hello", []tgbotapi.MessageEntity{entity("mention", 0, 12)}, addressed{text: "hello", self: true}},
		{"@talaria_bot", []tgbotapi.MessageEntity{entity("mention", 0, 12)}, addressed{self: true}},
		{"😀 hello @talaria_bot", []tgbotapi.MessageEntity{entity("mention", 9, 12)}, addressed{text: "😀 hello @talaria_bot", self: true}},
		{"@talaria_bot2 hello", []tgbotapi.MessageEntity{entity("mention", 0, 13)}, addressed{text: "@talaria_bot2 hello", others: true}},
		{"@talaria_bot in code", []tgbotapi.MessageEntity{entity("code", 0, 12)}, addressed{text: "@talaria_bot in code"}},
		{"@bob and @talaria_bot", []tgbotapi.MessageEntity{entity("mention", 0, 4), entity("mention", 9, 12)}, addressed{text: "@bob and @talaria_bot", self: true, others: true}},
		{"Talaria, hello", []tgbotapi.MessageEntity{{Type: "text_mention", Length: 7, User: &me}}, addressed{text: "hello", self: true}},
		{"Bob, hello", []tgbotapi.MessageEntity{{Type: "text_mention", Length: 3, User: &tgbotapi.User{ID: 200}}}, addressed{text: "Bob, hello", others: true}},
		{"/new@talaria_bot now", []tgbotapi.MessageEntity{entity("bot_command", 0, 16)}, addressed{text: "/new now", self: true}},
		{"/new@talaria_bot", []tgbotapi.MessageEntity{entity("bot_command", 0, 16)}, addressed{text: "/new", self: true}},
		{"/new", []tgbotapi.MessageEntity{entity("bot_command", 0, 4)}, addressed{text: "/new"}},
		{"@talaria_bot /new@Talaria_Bot x", []tgbotapi.MessageEntity{entity("mention", 0, 12), entity("bot_command", 13, 16)}, addressed{text: "/new x", self: true}},
		{"/new@other_bot", []tgbotapi.MessageEntity{entity("bot_command", 0, 14)}, addressed{text: "/new@other_bot", others: true, otherBot: true}},
		{"bad offsets", []tgbotapi.MessageEntity{entity("mention", -5, 3), entity("mention", 8, 900), entity("mention", 50, 1)}, addressed{text: "bad offsets", others: true}},
	} {
		if got := addressing(c.text, c.entities, me); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.text, got, c.want)
		}
	}
}

func TestAttachments(t *testing.T) {
	for raw, want := range map[string]platforms.Attachment{
		`"document":{"file_id":"f","file_name":"a.pdf","mime_type":"application/pdf","file_size":9}`: {Kind: "document", Name: "a.pdf", Type: "application/pdf", Size: 9, Ref: "f"},
		`"animation":{"file_id":"f","mime_type":"video/mp4"},"document":{"file_id":"f"}`:             {Kind: "video", Type: "video/mp4", Ref: "f"},
		`"audio":{"file_id":"f","file_name":"a.mp3","mime_type":"audio/mpeg"}`:                       {Kind: "audio", Name: "a.mp3", Type: "audio/mpeg", Ref: "f"},
		`"voice":{"file_id":"f","mime_type":"audio/ogg"}`:                                            {Kind: "voice", Type: "audio/ogg", Ref: "f"},
		`"video":{"file_id":"f"}`:                   {Kind: "video", Ref: "f"},
		`"video_note":{"file_id":"f"}`:              {Kind: "video", Ref: "f"},
		`"sticker":{"file_id":"f","emoji":"👍"}`:     {Kind: "sticker", Name: "👍", Ref: "f"},
		`"location":{"latitude":1.5,"longitude":2}`: {Kind: "location", Name: "1.500000, 2.000000"},
		`"venue":{"title":"Café","address":"Main St","location":{"latitude":1.5,"longitude":2}},"location":{}`: {Kind: "location", Name: "Café, Main St (1.500000, 2.000000)"},
		`"contact":{"first_name":"Bob","phone_number":"+1"}`:                                                   {Kind: "contact", Name: "Bob +1"},
		`"poll":{"question":"Lunch?"}`:                                                                         {Kind: "poll", Name: "Lunch?"},
		`"dice":{"emoji":"🎲","value":6}`:                                                                       {Kind: "other", Name: "🎲 6"},
		`"story":{"id":1}`:                                                                                     {Kind: "other", Name: "story"},
		`"paid_media":{"star_count":1}`:                                                                        {Kind: "other", Name: "paid media"},
	} {
		u, skip := decode(t, `{"update_id":1,"message":{"message_id":5,"date":1,`+raw+`,`+private+`,`+fromAda+`}}`)
		if skip != "" {
			t.Errorf("%s is skipped as %s", raw, skip)
			continue
		}
		if diff := cmp.Diff([]platforms.Attachment{want}, u.(*platforms.Message).Attachments); diff != "" {
			t.Errorf("%s:\n%s", raw, diff)
		}
	}
}

// FuzzDecode looks for panics on whatever may come from the network.
func FuzzDecode(f *testing.F) {
	f.Add(`{"update_id":1,"message":{"message_id":5,"date":1,"text":"😀 @talaria_bot","entities":[{"type":"mention","offset":3,"length":12}],` + group + `,` + fromAda + `}}`)
	f.Add(`{"update_id":1,"callback_query":{"id":"78","data":"stop",` + fromAda + `,"message":{"message_id":5,"date":0,` + group + `}}}`)
	f.Add(`{"update_id":1,"edited_message":{"photo":[{}],"caption_entities":[{"type":"text_mention"}]}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var u update
		if json.Unmarshal([]byte(raw), &u) != nil {
			return
		}
		d := decoder{account: "7", self: self()}
		if u.Message != nil {
			if m, skip := d.message(u.Message); skip == "" && !strings.HasPrefix(m.NativeID(), "telegram/7/m/") {
				t.Errorf("native id is %q", m.NativeID())
			}
		}
		if u.EditedMessage != nil {
			_, _ = d.edited(u.EditedMessage)
		}
		if q := u.CallbackQuery; q != nil && q.Message != nil {
			_ = d.press(q)
		}
	})
}
