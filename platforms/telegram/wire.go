package telegram

import (
	"encoding/json"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// The library's types are from 2021. These embed them and add what has come since; a field here hides the embedded one
// of the same name.

type update struct {
	ID            int64          `json:"update_id"`
	Message       *message       `json:"message"`
	EditedMessage *message       `json:"edited_message"`
	CallbackQuery *callbackQuery `json:"callback_query"`
}

type message struct {
	tgbotapi.Message
	Chat              chat            `json:"chat"`
	ReplyToMessage    *message        `json:"reply_to_message"`
	MessageThreadID   int             `json:"message_thread_id"` // Bot API 6.3; the topic only if IsTopicMessage
	IsTopicMessage    bool            `json:"is_topic_message"`
	ForumTopicCreated json.RawMessage `json:"forum_topic_created"`
	Quote             *struct {       // 7.0: the part of the other message that was quoted by hand
		Text string `json:"text"`
	} `json:"quote"`
	ForwardOrigin json.RawMessage `json:"forward_origin"` // 7.0
	Story         json.RawMessage `json:"story"`
	PaidMedia     json.RawMessage `json:"paid_media"`
	Checklist     json.RawMessage `json:"checklist"`
	Giveaway      json.RawMessage `json:"giveaway"`
	Rich          json.RawMessage `json:"rich_message"`
	LivePhoto     json.RawMessage `json:"live_photo"`
}

type chat struct {
	tgbotapi.Chat
	IsForum bool `json:"is_forum"` // 6.3
}

type callbackQuery struct {
	ID      string        `json:"id"`
	From    tgbotapi.User `json:"from"`
	Message *message      `json:"message"`
	Data    string        `json:"data"`
}
