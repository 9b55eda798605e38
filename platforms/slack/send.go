package slack

import (
	"context"
	"errors"
	"strings"

	"github.com/slack-go/slack"

	"github.com/talaria-agent/talaria/platforms"
)

// deliveryEvent is the metadata event type that marks our messages; its payload holds the idempotency key, by which a
// lost answer can be looked up later.
const deliveryEvent = "talaria_delivery"

// Send posts a message and returns its ts. A thread whose root has vanished is no error: Slack then posts at the top
// level. ReplyTo and Silent mean nothing to Slack.
func (a *Adapter) Send(ctx context.Context, to platforms.Address, out platforms.Outgoing) (string, error) {
	const method = "chat.postMessage"
	options, err := contentOf(method, out)
	if err != nil {
		return "", err
	}
	if to.Thread != "" {
		options = append(options, slack.MsgOptionTS(to.Thread))
	}
	if out.Class != platforms.PriorityFinal {
		options = append(options, slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
	}
	var ts string
	err = a.call(ctx, operation{method: method, chat: to.Chat, priority: out.Class}, func(ctx context.Context) error {
		_, posted, err := a.api.PostMessageContext(ctx, to.Chat, options...)
		ts = posted
		return err
	})
	if err != nil {
		return "", err
	}
	return ts, nil
}

// Edit replaces text and buttons of one of our messages. It may be repeated.
func (a *Adapter) Edit(ctx context.Context, at platforms.Address, messageID string, out platforms.Outgoing) error {
	const method = "chat.update"
	options, err := contentOf(method, out)
	if err != nil {
		return err
	}
	op := operation{method: method, priority: out.Class, repeat: true}
	return a.call(ctx, op, func(ctx context.Context) error {
		_, _, _, err := a.api.UpdateMessageContext(ctx, at.Chat, messageID, options...)
		return err
	})
}

// Delete removes one of our messages.
func (a *Adapter) Delete(ctx context.Context, at platforms.Address, messageID string) error {
	op := operation{method: "chat.delete", repeat: true}
	return a.call(ctx, op, func(ctx context.Context) error {
		_, _, err := a.api.DeleteMessageContext(ctx, at.Chat, messageID)
		if codeIs(err, "message_not_found") {
			return nil
		}
		return err
	})
}

// Typing shows a status in a thread for two minutes or until the next reply there. Slack has none at the top level of a
// conversation: there it does nothing and returns nil.
func (a *Adapter) Typing(ctx context.Context, at platforms.Address) error {
	if at.Thread == "" {
		return nil
	}
	op := operation{method: "assistant.threads.setStatus", priority: platforms.PriorityTyping, now: true, repeat: true}
	return a.call(ctx, op, func(ctx context.Context) error {
		return a.api.SetAssistantThreadsStatusContext(ctx, slack.AssistantThreadsSetStatusParameters{
			ChannelID: at.Chat, ThreadTS: at.Thread, Status: "is thinking ...",
		})
	})
}

// React puts an emoji on a message, given as a character or by Slack's name for it.
func (a *Adapter) React(ctx context.Context, at platforms.Address, messageID, emoji string) error {
	name := emojiName(emoji)
	if name == "" {
		return &platforms.Error{
			Class: platforms.Invalid, Op: "slack reactions.add", Err: errors.New("no Slack name is known for this emoji"),
		}
	}
	op := operation{method: "reactions.add", priority: platforms.PriorityProgress, repeat: true}
	return a.call(ctx, op, func(ctx context.Context) error {
		err := a.api.AddReactionContext(ctx, name, slack.NewRefToMessage(at.Chat, messageID))
		if codeIs(err, "already_reacted") {
			return nil
		}
		return err
	})
}

// emojiName turns a character into Slack's name; a name, with or without colons, stays. It is empty for an unknown one.
func emojiName(emoji string) string {
	switch strings.TrimSuffix(emoji, "\ufe0f") {
	case "👀":
		return "eyes"
	case "✅":
		return "white_check_mark"
	case "❌":
		return "x"
	case "👍":
		return "+1"
	case "👎":
		return "-1"
	case "⏳":
		return "hourglass_flowing_sand"
	case "🤔":
		return "thinking_face"
	case "⚠":
		return "warning"
	case "🛑":
		return "octagonal_sign"
	case "🎉":
		return "tada"
	case "🔥":
		return "fire"
	case "❤":
		return "heart"
	case "👌":
		return "ok_hand"
	}
	name := strings.Trim(emoji, ":")
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_+-'") != "" {
		return ""
	}
	return name
}
