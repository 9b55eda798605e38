package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	maxContent    = 2_000 // code points (discord/discord-api-docs#1315), whatever an error message says
	maxRows       = 5
	maxRowButtons = 5
	maxLabel      = 80              // code points
	nonceLength   = 24              // at most 25
	nonceWindow   = 2 * time.Minute // "the past few minutes", by the documentation of enforce_nonce
)

// outgoing is the body of a new or edited message. discordgo's own has no nonce.
type outgoing struct {
	Content         string                           `json:"content"`
	Nonce           string                           `json:"nonce,omitempty"`
	EnforceNonce    bool                             `json:"enforce_nonce,omitempty"`
	Flags           discordgo.MessageFlags           `json:"flags,omitempty"`
	Reference       *discordgo.MessageReference      `json:"message_reference,omitempty"`
	AllowedMentions discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Components      []discordgo.ActionsRow           `json:"components"` // an empty list removes them
}

// Send posts one message. After an OutcomeUnknown the same Key can be sent again within two minutes: Discord then
// returns the message that it already has.
func (a *Adapter) Send(ctx context.Context, to platforms.Address, out platforms.Outgoing) (string, error) {
	const op = "create message"
	body, err := a.message(op, out)
	if err != nil {
		return "", err
	}
	if out.Silent {
		body.Flags |= discordgo.MessageFlagsSuppressNotifications
	}
	if out.Key != "" {
		body.Nonce, body.EnforceNonce = nonce(out.Key), true
	}
	if out.ReplyTo != "" {
		vanished := false
		body.Reference = &discordgo.MessageReference{MessageID: out.ReplyTo, FailIfNotExists: &vanished}
		body.AllowedMentions.RepliedUser = !out.Silent
	}
	var sent struct {
		ID string `json:"id"`
	}
	err = a.api.call(ctx, request{
		op: op, method: http.MethodPost, path: "channels/" + channelOf(to) + "/messages", priority: out.Class, body: body, into: &sent,
	})
	return sent.ID, err
}

// Edit changes a message of our own.
func (a *Adapter) Edit(ctx context.Context, at platforms.Address, messageID string, out platforms.Outgoing) error {
	const op = "edit message"
	body, err := a.message(op, out)
	if err != nil {
		return err
	}
	return a.api.call(ctx, request{
		op: op, method: http.MethodPatch, path: messagePath(at, messageID), class: "PATCH channels/" + channelOf(at) + "/messages",
		priority: out.Class, repeatable: true, body: body,
	})
}

// Delete removes a message of our own.
func (a *Adapter) Delete(ctx context.Context, at platforms.Address, messageID string) error {
	err := a.api.call(ctx, request{
		op: "delete message", method: http.MethodDelete, path: messagePath(at, messageID),
		class: "DELETE channels/" + channelOf(at) + "/messages", repeatable: true,
	})
	if platforms.ClassOf(err) == platforms.Gone {
		return nil
	}
	return err
}

// Typing shows "typing ..." for ten seconds or until the next message. It is dropped when no permit is free.
func (a *Adapter) Typing(ctx context.Context, at platforms.Address) error {
	return a.api.call(ctx, request{
		op: "show typing", method: http.MethodPost, path: "channels/" + channelOf(at) + "/typing", priority: platforms.PriorityTyping,
		repeatable: true, droppable: true,
	})
}

// React puts a Unicode emoji, or a custom one as "name:id", on a message.
func (a *Adapter) React(ctx context.Context, at platforms.Address, messageID, emoji string) error {
	return a.api.call(ctx, request{
		op: "add reaction", method: http.MethodPut, path: messagePath(at, messageID) + "/reactions/" + url.PathEscape(emoji) + "/@me",
		class: "PUT channels/" + channelOf(at) + "/reactions", priority: platforms.PriorityProgress, repeatable: true,
	})
}

// channelOf is the channel that an address posts in: a thread is one itself.
func channelOf(at platforms.Address) string {
	if at.Thread != "" {
		return url.PathEscape(at.Thread)
	}
	return url.PathEscape(at.Chat)
}

func messagePath(at platforms.Address, messageID string) string {
	return "channels/" + channelOf(at) + "/messages/" + url.PathEscape(messageID)
}

// message makes the body that a new and an edited message have in common. Nothing in a text ever pings anybody.
func (a *Adapter) message(op string, out platforms.Outgoing) (outgoing, error) {
	content := escape(out.Text)
	if !out.Plain {
		content = a.dialect.Render(out.Text)
	}
	bad := func(class platforms.Class, why string) (outgoing, error) {
		return outgoing{}, &platforms.Error{Class: class, Op: "discord " + op, Err: errors.New(why)}
	}
	if strings.TrimSpace(content) == "" {
		return bad(platforms.Invalid, "the message is empty")
	}
	if utf8.RuneCountInString(content) > maxContent {
		return bad(platforms.TooLong, "the text has more than 2,000 characters")
	}
	rows, err := buttons(out.Buttons)
	if err != nil {
		return bad(platforms.Invalid, err.Error())
	}
	return outgoing{
		Content:         content,
		AllowedMentions: discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}},
		Components:      rows,
	}, nil
}

// buttons lays buttons out in Discord's rows; a row of more than five goes on in the next one.
func buttons(rows [][]platforms.Button) ([]discordgo.ActionsRow, error) {
	out := []discordgo.ActionsRow{}
	for _, row := range rows {
		for i, b := range row {
			if i%maxRowButtons == 0 {
				out = append(out, discordgo.ActionsRow{})
			}
			style := discordgo.SecondaryButton
			if b.Danger {
				style = discordgo.DangerButton
			}
			last := &out[len(out)-1]
			last.Components = append(last.Components, discordgo.Button{Label: cut(b.Label, maxLabel), Style: style, CustomID: b.Data})
		}
	}
	if len(out) > maxRows {
		return nil, errors.New("the message has more than five rows of buttons")
	}
	return out, nil
}

// cut shortens a text to a number of code points.
func cut(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

// escape makes Discord show a text as it stands. A text that would not fit with its escapes goes without them.
func escape(s string) string {
	escaped := marks.Replace(s)
	if utf8.RuneCountInString(escaped) > maxContent {
		return s
	}
	return escaped
}

var marks = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, ">", `\>`, "<", `\<`, "#", `\#`, "[", `\[`, "-", `\-`,
)

// nonce makes the idempotency key that Discord keeps for a few minutes out of ours.
func nonce(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:nonceLength]
}
