package discord

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// The parts of Discord's objects that are read here. discordgo's own types refuse a whole message for a component or a
// field that they do not know.
type (
	wireUser struct {
		ID         string `json:"id"`
		Username   string `json:"username"`
		GlobalName string `json:"global_name"`
		Bot        bool   `json:"bot"`
	}

	wireMember struct {
		User  wireUser `json:"user"`
		Nick  string   `json:"nick"`
		Roles []string `json:"roles"`
	}

	wireChannel struct {
		ID     string `json:"id"`
		Type   int    `json:"type"`
		Guild  string `json:"guild_id"`
		Parent string `json:"parent_id"`
		Name   string `json:"name"`
	}

	wireMessage struct {
		ID           string           `json:"id"`
		Channel      string           `json:"channel_id"`
		Guild        string           `json:"guild_id"`
		Type         int              `json:"type"`
		Content      string           `json:"content"`
		Author       wireUser         `json:"author"`
		Member       wireMember       `json:"member"`
		Webhook      string           `json:"webhook_id"`
		Timestamp    string           `json:"timestamp"`
		Edited       string           `json:"edited_timestamp"`
		Flags        int              `json:"flags"`
		Mentions     []wireUser       `json:"mentions"`
		MentionRoles []string         `json:"mention_roles"`
		Attachments  []wireAttachment `json:"attachments"`
		Stickers     []wireSticker    `json:"sticker_items"`
		Poll         *wirePoll        `json:"poll"`
		Referenced   *wireMessage     `json:"referenced_message"`
		Snapshots    []wireSnapshot   `json:"message_snapshots"`
		Rows         []wireRow        `json:"components"`
	}

	// wireRow is a row of buttons.
	wireRow struct {
		Buttons []struct {
			ID string `json:"custom_id"`
		} `json:"components"`
	}

	wireAttachment struct {
		ID       string  `json:"id"`
		Name     string  `json:"filename"`
		Type     string  `json:"content_type"`
		Size     int64   `json:"size"`
		Duration float64 `json:"duration_secs"`
		URL      string  `json:"url"`
	}

	wireSticker struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}

	wirePoll struct {
		Question struct {
			Text string `json:"text"`
		} `json:"question"`
	}

	// wireSnapshot is a forwarded message: its content, without its author.
	wireSnapshot struct {
		Message wireMessage `json:"message"`
	}

	wireInteraction struct {
		ID      string      `json:"id"`
		Type    int         `json:"type"`
		Token   string      `json:"token"`
		Guild   string      `json:"guild_id"`
		Channel string      `json:"channel_id"`
		Place   wireChannel `json:"channel"`
		Member  wireMember  `json:"member"`
		User    wireUser    `json:"user"`
		Message struct {
			ID string `json:"id"`
		} `json:"message"`
		Data struct {
			Name     string       `json:"name"`
			Options  []wireOption `json:"options"`
			CustomID string       `json:"custom_id"`
		} `json:"data"`
	}

	wireOption struct {
		Value json.RawMessage `json:"value"`
	}
)

// Message types that people write; all others are notices of the service.
const (
	messageDefault = 0
	messageReply   = 19
)

// flagVoice marks a voice message.
const flagVoice = 1 << 13

// name is what the platform shows for a person, who may have a nickname in a guild.
func (u wireUser) name(nick string) string {
	for _, n := range []string{nick, u.GlobalName} {
		if n != "" {
			return n
		}
	}
	return u.Username
}

func (u wireUser) person(nick string) platforms.Person {
	return platforms.Person{ID: u.ID, Name: u.name(nick), Bot: u.Bot}
}

// written tells whether a person wrote this message, as opposed to a bot, a webhook or the service itself.
func (m *wireMessage) written() bool {
	return !m.Author.Bot && m.Webhook == "" && m.Author.ID != "" && (m.Type == messageDefault || m.Type == messageReply)
}

// at is when the message was written, zero if the platform did not say.
func (m *wireMessage) at() time.Time {
	t, _ := time.Parse(time.RFC3339, m.Timestamp)
	return t
}

// text is what was written: of a forward, what was forwarded.
func (m *wireMessage) text() string {
	parts := []string{m.Content}
	for _, s := range m.Snapshots {
		parts = append(parts, s.Message.Content)
	}
	if m.Poll != nil {
		parts = append(parts, m.Poll.Question.Text)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	return strings.Join(parts, "\n\n")
}

// attachments lists what came with the message or with what it forwards.
func (m *wireMessage) attachments() (out []platforms.Attachment) {
	for _, f := range m.Attachments {
		kind := kindOf(f.Type)
		if m.Flags&flagVoice != 0 && kind == "audio" {
			kind = "voice"
		}
		// The address that Discord gives is signed and expires; message and file are enough to ask for a new one.
		ref := m.Channel + "/" + m.ID + "/" + f.ID
		out = append(out, platforms.Attachment{Kind: kind, Name: f.Name, Type: f.Type, Size: f.Size, Ref: ref})
	}
	for _, s := range m.Stickers {
		out = append(out, platforms.Attachment{Kind: "sticker", Name: s.Name, Ref: s.ID})
	}
	if m.Poll != nil {
		out = append(out, platforms.Attachment{Kind: "poll", Name: m.Poll.Question.Text})
	}
	for _, s := range m.Snapshots {
		forwarded := s.Message
		forwarded.Channel, forwarded.ID = m.Channel, m.ID
		out = append(out, forwarded.attachments()...)
	}
	return out
}

func kindOf(mime string) string {
	switch family, _, _ := strings.Cut(mime, "/"); family {
	case "image":
		return "photo"
	case "audio", "video":
		return family
	default:
		return "document"
	}
}

// argument is the value of a command's first option, as text.
func (i *wireInteraction) argument() string {
	if len(i.Data.Options) == 0 {
		return ""
	}
	raw := i.Data.Options[0].Value
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// sender is the person who acted: a member in a guild, a user in a DM.
func (i *wireInteraction) sender() platforms.Person {
	if i.Member.User.ID != "" {
		return i.Member.User.person(i.Member.Nick)
	}
	return i.User.person("")
}
