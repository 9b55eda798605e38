package slack

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// The shapes that we read of what Slack sends (docs.slack.dev/reference/events, /apis/events-api/using-socket-mode).
// They are our own, decoded from the raw payload: the library's refuse a whole event for one field of a new shape.
type (
	// event is a message or app_mention event, and also the message inside message_changed and message_deleted.
	event struct {
		Type         string       `json:"type"`
		Subtype      string       `json:"subtype"`
		Channel      string       `json:"channel"`
		ChannelType  string       `json:"channel_type"`
		User         string       `json:"user"`
		BotID        string       `json:"bot_id"`
		Text         string       `json:"text"`
		TS           string       `json:"ts"`
		EventTS      string       `json:"event_ts"`
		ThreadTS     string       `json:"thread_ts"`
		ParentUserID string       `json:"parent_user_id"`
		DeletedTS    string       `json:"deleted_ts"`
		Edited       *edited      `json:"edited"`
		Files        []file       `json:"files"`
		Attachments  []attachment `json:"attachments"`
		Message      *event       `json:"message"`
		Previous     *event       `json:"previous_message"`
	}

	edited struct {
		TS string `json:"ts"`
	}

	file struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Mimetype string `json:"mimetype"`
		Subtype  string `json:"subtype"` // "slack_audio" for a voice clip
		Size     int64  `json:"size"`
	}

	// attachment is an unfurled link, or a message that somebody shared.
	attachment struct {
		IsShare    bool   `json:"is_share"`
		IsMsg      bool   `json:"is_msg_unfurl"`
		AuthorID   string `json:"author_id"`
		AuthorName string `json:"author_name"`
		Text       string `json:"text"`
		TS         string `json:"ts"`
	}

	slashCommand struct {
		ChannelID   string `json:"channel_id"`
		ChannelName string `json:"channel_name"`
		UserID      string `json:"user_id"`
		UserName    string `json:"user_name"`
		Text        string `json:"text"`
		TriggerID   string `json:"trigger_id"`
		ResponseURL string `json:"response_url"`
	}

	interaction struct {
		Type string `json:"type"`
		User struct {
			ID       string `json:"id"`
			Name     string `json:"name"`
			Username string `json:"username"`
		} `json:"user"`
		Channel struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"channel"`
		Container struct {
			MessageTS string `json:"message_ts"`
			ChannelID string `json:"channel_id"`
			ThreadTS  string `json:"thread_ts"`
		} `json:"container"`
		Message struct {
			ThreadTS string `json:"thread_ts"`
		} `json:"message"`
		ResponseURL string `json:"response_url"`
		Actions     []struct {
			Type     string `json:"type"`
			ActionID string `json:"action_id"`
			Value    string `json:"value"`
			ActionTS string `json:"action_ts"`
		} `json:"actions"`
	}
)

// innerEvent is the outside of an Events API payload.
type innerEvent struct {
	Event json.RawMessage `json:"event"`
}

// stamp returns the time that a ts says, the zero time if it says none. A ts stays a string everywhere else.
func stamp(ts string) time.Time {
	seconds, fraction, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	micros, err := strconv.ParseInt((fraction + "000000")[:6], 10, 64)
	if err != nil {
		micros = 0
	}
	return time.Unix(s, micros*1000)
}

// attachmentsOf describes files.
func attachmentsOf(files []file) []platforms.Attachment {
	var list []platforms.Attachment
	for _, f := range files {
		kind, _, _ := strings.Cut(f.Mimetype, "/")
		switch {
		case f.Subtype == "slack_audio":
			kind = "voice"
		case kind == "image":
			kind = "photo"
		case kind == "audio" || kind == "video":
		default:
			kind = "document"
		}
		list = append(list, platforms.Attachment{Kind: kind, Name: f.Name, Type: f.Mimetype, Size: f.Size, Ref: f.ID})
	}
	return list
}
