package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	// ackAfter is how long the sink may take before an interaction is acknowledged without its receipt. Discord wants the
	// first response within three seconds.
	ackAfter    = time.Second
	ackDeadline = 2900 * time.Millisecond
	commandNote = "On it."
)

// onInteraction takes button presses and application commands.
func (a *Adapter) onInteraction(l *lanes, raw json.RawMessage) error {
	var i wireInteraction
	if err := json.Unmarshal(raw, &i); err != nil {
		return err
	}
	if i.ID == "" || i.Channel == "" || i.sender().ID == "" {
		return errors.New("an interaction without id, channel or user")
	}
	if i.Place.ID == i.Channel {
		a.places.put(i.Place)
	}
	native := "discord/" + a.me.Load().application + "/i/" + i.ID
	next := arrival{channel: i.Channel, kind: "interaction"}
	began := time.Now()
	switch discordgo.InteractionType(i.Type) {
	case discordgo.InteractionMessageComponent:
		next.update = func(ctx context.Context) (platforms.Update, error) {
			origin, err := a.origin(ctx, i.Channel, i.Guild, i.sender())
			if err != nil {
				return nil, err
			}
			return &platforms.ButtonPressed{Origin: origin, Native: native, MessageID: i.Message.ID, Data: i.Data.CustomID}, nil
		}
	case discordgo.InteractionApplicationCommand:
		next.update = func(ctx context.Context) (platforms.Update, error) {
			origin, err := a.origin(ctx, i.Channel, i.Guild, i.sender())
			if err != nil {
				return nil, err
			}
			return &platforms.CommandInvoked{
				Origin: origin, Native: native, Name: strings.ToLower(i.Data.Name), Argument: i.argument(), At: began,
			}, nil
		}
	default:
		a.odd.note(fmt.Sprintf("interaction of type %d", i.Type), nil)
		return nil
	}
	stored := make(chan platforms.Receipt, 1)
	next.done = func(r platforms.Receipt) { stored <- r }
	l.await(func(ctx context.Context) { a.acknowledge(ctx, &i, stored) })
	l.push(next)
	return nil
}

// acknowledge answers an interaction once it is stored, or before that if storing takes long.
func (a *Adapter) acknowledge(ctx context.Context, i *wireInteraction, stored <-chan platforms.Receipt) {
	ctx, cancel := context.WithTimeout(ctx, ackDeadline)
	defer cancel()
	early := time.NewTimer(ackAfter)
	defer early.Stop()
	var receipt platforms.Receipt
	select {
	case receipt = <-stored:
	case <-early.C:
	case <-ctx.Done():
		return
	}
	err := a.respond(ctx, i, receipt.Note)
	if c := platforms.ClassOf(err); c == platforms.Transient || c == platforms.RateLimited {
		if sleep(ctx, max(platforms.WaitOf(err), 100*time.Millisecond)) {
			err = a.respond(ctx, i, receipt.Note)
		}
	}
	if err != nil && codeOf(err) != codeAcknowledged {
		a.log.Warn("interaction not acknowledged", "error", err)
	}
}

// response is the body of an interaction's first response.
type response struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data *note                             `json:"data,omitempty"`
}

// note is a message that one person sees.
type note struct {
	Content         string                           `json:"content"`
	Flags           discordgo.MessageFlags           `json:"flags"`
	AllowedMentions discordgo.MessageAllowedMentions `json:"allowed_mentions"`
}

// respond makes the first response: a press without a note is acknowledged in silence, a command must say something.
func (a *Adapter) respond(ctx context.Context, i *wireInteraction, said string) error {
	command := discordgo.InteractionType(i.Type) == discordgo.InteractionApplicationCommand
	if said == "" && command {
		said = commandNote
	}
	body := response{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	if said != "" {
		body.Type = discordgo.InteractionResponseChannelMessageWithSource
		body.Data = &note{
			Content: cut(escape(said), maxContent), Flags: discordgo.MessageFlagsEphemeral,
			AllowedMentions: discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}},
		}
	}
	return a.api.call(ctx, request{
		op: "acknowledge interaction", method: http.MethodPost,
		path:  "interactions/" + url.PathEscape(i.ID) + "/" + url.PathEscape(i.Token) + "/callback",
		class: "POST interactions", free: true, priority: platforms.PriorityAck, repeatable: true, body: body,
	})
}
