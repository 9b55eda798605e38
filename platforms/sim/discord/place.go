package discord

import (
	"slices"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// object is a JSON object on the wire.
type object = map[string]any

// Channel types of the API.
const (
	typeText         = 0
	typeDM           = 1
	typePublicThread = 11
	typeForum        = 15
)

// place is a channel, a DM or a thread, which on Discord is a channel with a parent.
type place struct {
	id, name string
	kind     int
	parent   *place // of a thread
	members  []string
	messages []*message
	typing   time.Time // shows until
	shut     bool      // the bot may no longer post here
	archived bool
	locked   bool
}

// chat is the id by which the Stage knows the place: a thread belongs to its parent.
func (p *place) chat() string {
	if p.parent != nil {
		return p.parent.id
	}
	return p.id
}

func (p *place) thread() string {
	if p.parent != nil {
		return p.id
	}
	return ""
}

func (p *place) guild() string {
	if p.kind == typeDM {
		return ""
	}
	return Guild
}

func (p *place) find(id string) *message {
	i := slices.IndexFunc(p.messages, func(m *message) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return p.messages[i]
}

func (p *place) add(m *message) {
	if len(p.messages) >= keepMessages {
		p.messages = slices.Delete(p.messages, 0, keepMessages/10)
	}
	p.messages = append(p.messages, m)
	if m.author == sim.Bot {
		p.typing = time.Time{}
		p.archived = false
	}
}

// message is one message; author is a user id or sim.Bot.
type message struct {
	id, author, content string
	at, edited          time.Time
	place               *place
	replyTo             string
	mentions            []string // user ids that were notified
	roles               []string
	everyone            bool
	flags               int
	components          []any
	embeds              []any
	reactions           []string
	file                *sim.Upload
	nonce               any
	extra               object // fields of the wire form that only some messages have
}

// person returns the API's user object.
func (s *Server) person(id string) object {
	if id == sim.Bot || id == s.opts.BotUser {
		return object{"id": s.opts.BotUser, "username": s.opts.BotName, "global_name": nil, "discriminator": "0", "avatar": nil, "bot": true}
	}
	u := s.users[id]
	o := object{"id": id, "username": u.Name, "global_name": u.Name, "discriminator": "0", "avatar": nil}
	if u.Bot {
		o["bot"] = true
	}
	return o
}

// channel returns the API's channel object.
func (s *Server) channel(p *place) object {
	o := object{"id": p.id, "type": p.kind}
	switch p.kind {
	case typeDM:
		recipients := []object{}
		for _, id := range p.members {
			recipients = append(recipients, s.person(id))
		}
		o["recipients"] = recipients
		return o
	case typePublicThread:
		o["parent_id"] = p.parent.id
		o["thread_metadata"] = object{"archived": p.archived, "locked": p.locked, "auto_archive_duration": 1440, "archive_timestamp": stamp(time.Now())}
	}
	o["name"], o["guild_id"] = p.name, Guild
	return o
}

// wire returns the API's message object, as the HTTP API gives it.
func (s *Server) wire(m *message) object {
	o := object{
		"id": m.id, "channel_id": m.place.id, "type": 0, "content": m.content, "author": s.person(m.author),
		"timestamp": stamp(m.at), "edited_timestamp": nil, "tts": false, "mention_everyone": m.everyone,
		"mention_roles": slices.Concat([]string{}, m.roles), "attachments": []object{}, "embeds": slices.Concat([]any{}, m.embeds),
		"components": slices.Concat([]any{}, m.components), "pinned": false, "flags": m.flags,
	}
	mentions := []object{}
	for _, id := range m.mentions {
		mentions = append(mentions, s.person(id))
	}
	o["mentions"] = mentions
	if !m.edited.IsZero() {
		o["edited_timestamp"] = stamp(m.edited)
	}
	if m.file != nil {
		o["attachments"] = []object{{
			"id": m.id, "filename": m.file.Name, "size": m.file.Size, "content_type": m.file.Type,
			"url": s.signed(m), "proxy_url": "",
		}}
	}
	if m.nonce != nil {
		o["nonce"] = m.nonce
	}
	if m.replyTo != "" {
		o["type"] = 19
		o["message_reference"] = object{"type": 0, "message_id": m.replyTo, "channel_id": m.place.id}
		o["referenced_message"] = nil
		if r := m.place.find(m.replyTo); r != nil {
			referenced := s.wire(r)
			delete(referenced, "referenced_message")
			o["referenced_message"] = referenced
		}
	}
	for k, v := range m.extra {
		o[k] = v
	}
	return o
}

// stamp writes a time as the API does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

// look returns a message as a person sees it now.
func (s *Server) look(m *message) sim.Message {
	visible, html := resolve(m.content, s.display)
	out := sim.Message{
		ID: m.id, Chat: m.place.chat(), Thread: m.place.thread(), User: m.author, Wire: m.content, Visible: visible, HTML: html,
		ReplyTo: m.replyTo, Silent: m.flags&flagSuppressNotifications != 0, Edited: !m.edited.IsZero(),
		Reactions: slices.Clone(m.reactions), File: m.file.Title(), At: m.at,
	}
	for _, row := range m.components {
		var buttons []sim.Button
		for _, c := range list(row, "components") {
			buttons = append(buttons, sim.Button{Label: text(c, "label"), Data: text(c, "custom_id")})
		}
		out.Buttons = append(out.Buttons, buttons)
	}
	return out
}

// display names what a mention or a channel link shows; the caller holds the lock.
func (s *Server) display(kind, id string) string {
	switch kind {
	case "@":
		return text(s.person(id), "username")
	case "#":
		if p := s.places[id]; p != nil {
			return p.name
		}
	case "@&":
		if id == BotRole {
			return s.opts.BotName
		}
	}
	return ""
}

// text and list read fields of decoded JSON, "" and nil where they are absent or of another type.
func text(v any, key string) string {
	o, _ := v.(object)
	t, _ := o[key].(string)
	return t
}

func list(v any, key string) []any {
	o, _ := v.(object)
	l, _ := o[key].([]any)
	return l
}
