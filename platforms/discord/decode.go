package discord

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// origin says where something came from.
func (a *Adapter) origin(ctx context.Context, channel, guild string, sender platforms.Person) (platforms.Origin, error) {
	at, p, err := a.where(ctx, channel, guild)
	title := p.name
	if p.kind == platforms.Direct {
		title = sender.Name
	}
	return platforms.Origin{Address: at, Kind: p.kind, Sender: sender, Title: title}, err
}

// decodeMessage decodes a message that a person wrote.
func (a *Adapter) decodeMessage(ctx context.Context, m *wireMessage) (*platforms.Message, error) {
	origin, err := a.origin(ctx, m.Channel, m.Guild, m.Author.person(m.Member.Nick))
	if err != nil {
		return nil, err
	}
	me := a.me.Load()
	out := &platforms.Message{
		Origin:      origin,
		Native:      "discord/" + me.application + "/m/" + m.ID,
		ID:          m.ID,
		Forwarded:   len(m.Snapshots) > 0,
		Attachments: m.attachments(),
		At:          m.at(),
	}
	if out.At.IsZero() {
		out.At = time.Now()
	}
	named, others := a.mentions(m, me)
	out.Mentioned = named || origin.Kind == platforms.Direct
	if r := m.Referenced; r != nil && m.Type == messageReply {
		out.Quoted = &platforms.Quote{MessageID: r.ID, Sender: r.Author.person(r.Member.Nick), Text: readable(r.text(), r.Mentions), Own: r.Author.ID == me.user}
		out.Mentioned = out.Mentioned || out.Quoted.Own
	}
	out.MentionsOther = others && !out.Mentioned
	out.Text = readable(a.withoutLead(m, me), m.Mentions)
	return out, nil
}

// mentions tells whether a message names the bot, by its user or by a role of its own, and whether it names others. A
// mention of everybody counts for neither.
func (a *Adapter) mentions(m *wireMessage, me *identity) (bot, others bool) {
	for _, u := range m.Mentions {
		if u.ID == me.user {
			bot = true
		} else {
			others = true
		}
	}
	if len(m.MentionRoles) > 0 {
		if a.places.hasRole(m.Guild, m.MentionRoles) {
			bot = true
		} else {
			others = true
		}
	}
	return bot, others
}

var leadingMention = regexp.MustCompile(`^\s*<@([!&]?)(\d+)>[\s,:]*`)

// withoutLead is the text without the mention of the bot that begins it.
func (a *Adapter) withoutLead(m *wireMessage, me *identity) string {
	text := m.text()
	lead := leadingMention.FindStringSubmatch(text)
	if lead == nil {
		return strings.TrimSpace(text)
	}
	isRole, id := lead[1] == "&", lead[2]
	if (isRole && a.places.hasRole(m.Guild, []string{id})) || (!isRole && id == me.user) {
		text = text[len(lead[0]):]
	}
	return strings.TrimSpace(text)
}

var (
	userMention = regexp.MustCompile(`<@!?(\d+)>`)
	customEmoji = regexp.MustCompile(`<a?:(\w+):\d+>`)
)

// readable replaces mentions and custom emoji by what people see.
func readable(text string, mentioned []wireUser) string {
	text = userMention.ReplaceAllStringFunc(text, func(found string) string {
		id := userMention.FindStringSubmatch(found)[1]
		i := slices.IndexFunc(mentioned, func(u wireUser) bool { return u.ID == id })
		if i < 0 {
			return found
		}
		return "@" + mentioned[i].name("")
	})
	return customEmoji.ReplaceAllString(text, ":$1:")
}
