package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/talaria-agent/talaria/platforms"
)

// generalThread names a forum's General topic in addresses. Messages to it carry no thread id, chat actions the id 1.
const generalThread = "general"

// Send posts one message. Telegram has no idempotency key: after OutcomeUnknown nobody can tell whether it was posted.
func (a *Adapter) Send(ctx context.Context, to platforms.Address, out platforms.Outgoing) (string, error) {
	c := call{method: "sendMessage", permit: chatPermit(to.Chat, out.Class), once: true}
	params, err := a.content(out)
	if err != nil {
		return "", &platforms.Error{Class: platforms.Invalid, Op: c.op(), Err: err}
	}
	params["chat_id"] = to.Chat
	if to.Thread != generalThread {
		params.AddNonEmpty("message_thread_id", to.Thread)
	}
	params.AddBool("disable_notification", out.Silent)
	if id, err := strconv.Atoi(out.ReplyTo); err == nil {
		reply := map[string]any{"message_id": id, "allow_sending_without_reply": true}
		if err := params.AddInterface("reply_parameters", reply); err != nil {
			return "", &platforms.Error{Class: platforms.Invalid, Op: c.op(), Err: err}
		}
	}
	c.params = params
	var sent tgbotapi.Message
	if err := a.api.do(ctx, c, &sent); err != nil {
		return "", err
	}
	return strconv.Itoa(sent.MessageID), nil
}

// Edit replaces text and buttons of a message of our own.
func (a *Adapter) Edit(ctx context.Context, at platforms.Address, messageID string, out platforms.Outgoing) error {
	c := call{method: "editMessageText", permit: chatPermit(at.Chat, out.Class)}
	params, err := a.content(out)
	if err != nil {
		return &platforms.Error{Class: platforms.Invalid, Op: c.op(), Err: err}
	}
	params["chat_id"], params["message_id"] = at.Chat, messageID
	c.params = params
	if err := a.api.do(ctx, c, nil); err != nil && !says(err, notModified) {
		return err
	}
	return nil
}

// Delete removes a message; Telegram allows that for 48 hours.
func (a *Adapter) Delete(ctx context.Context, at platforms.Address, messageID string) error {
	err := a.api.do(ctx, call{
		method: "deleteMessage",
		params: tgbotapi.Params{"chat_id": at.Chat, "message_id": messageID},
		permit: methodPermit("deleteMessage", platforms.PriorityFinal),
	}, nil)
	if says(err, deleteNotFound) {
		return nil
	}
	return err
}

// Typing shows "typing ..." for five seconds. It is dropped where a limit would make it late.
func (a *Adapter) Typing(ctx context.Context, at platforms.Address) error {
	chat := platforms.Permit{Classes: []string{chatClass + at.Chat}}
	action := platforms.Permit{Priority: platforms.PriorityTyping, Classes: []string{accountClass, actionClass + at.Chat}}
	if frozen(a.api.pacer, chat) > 0 || !a.api.pacer.Try(action) {
		return nil
	}
	params := tgbotapi.Params{"chat_id": at.Chat, "action": "typing"}
	if at.Thread == generalThread {
		params["message_thread_id"] = "1"
	} else {
		params.AddNonEmpty("message_thread_id", at.Thread)
	}
	return a.api.do(ctx, call{method: "sendChatAction", params: params}, nil)
}

// React sets the bot's one reaction on a message, out of Telegram's fixed set; an empty emoji removes it.
func (a *Adapter) React(ctx context.Context, at platforms.Address, messageID, emoji string) error {
	reaction := []map[string]string{}
	if emoji != "" {
		reaction = append(reaction, map[string]string{"type": "emoji", "emoji": emoji})
	}
	params := tgbotapi.Params{"chat_id": at.Chat, "message_id": messageID}
	c := call{method: "setMessageReaction", params: params, permit: methodPermit("setMessageReaction", platforms.PriorityProgress)}
	if err := params.AddInterface("reaction", reaction); err != nil {
		return &platforms.Error{Class: platforms.Invalid, Op: c.op(), Err: err}
	}
	return a.api.do(ctx, c, nil)
}

// RegisterCommands fills the bot's menu for all chats.
func (a *Adapter) RegisterCommands(ctx context.Context, commands []platforms.Command) error {
	menu := []tgbotapi.BotCommand{}
	for _, c := range commands {
		menu = append(menu, tgbotapi.BotCommand{Command: c.Name, Description: c.Description})
	}
	params := tgbotapi.Params{}
	c := call{method: "setMyCommands", params: params, permit: methodPermit("setMyCommands", platforms.PriorityLookup)}
	if err := params.AddInterface("commands", menu); err != nil {
		return &platforms.Error{Class: platforms.Invalid, Op: c.op(), Err: err}
	}
	return a.api.do(ctx, c, nil)
}

// getMe asks who the bot is.
func (a *Adapter) getMe(ctx context.Context) (tgbotapi.User, error) {
	var me tgbotapi.User
	err := a.api.do(ctx, call{method: "getMe", permit: methodPermit("getMe", platforms.PriorityLookup)}, &me)
	return me, err
}

// text is what all calls that show a text have in common.
func (a *Adapter) text(out platforms.Outgoing) (tgbotapi.Params, error) {
	params := tgbotapi.Params{"text": out.Text}
	if !out.Plain {
		params["text"], params["parse_mode"] = a.dialect.Render(out.Text), tgbotapi.ModeHTML
	}
	if strings.TrimSpace(params["text"]) == "" {
		return nil, errors.New("the text is empty")
	}
	return params, nil
}

// content is what sending and editing have in common.
func (a *Adapter) content(out platforms.Outgoing) (tgbotapi.Params, error) {
	params, err := a.text(out)
	if err != nil {
		return nil, err
	}
	params["link_preview_options"] = `{"is_disabled":true}`
	if len(out.Buttons) == 0 {
		return params, nil
	}
	keyboard, err := json.Marshal(map[string]any{"inline_keyboard": keyboard(out.Buttons)})
	params["reply_markup"] = string(keyboard)
	return params, err
}

// button is an InlineKeyboardButton; the library's has no style.
type button struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data"`
	Style string `json:"style,omitempty"` // Bot API 9.4
}

func keyboard(rows [][]platforms.Button) [][]button {
	var keys [][]button
	for _, row := range rows {
		var buttons []button
		for _, b := range row {
			key := button{Text: b.Label, Data: b.Data}
			if b.Danger {
				key.Style = "danger"
			}
			buttons = append(buttons, key)
		}
		keys = append(keys, buttons)
	}
	return keys
}
