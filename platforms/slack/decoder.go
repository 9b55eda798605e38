package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// decoder turns envelopes into updates. It is pure: the same envelope always gives the same update, whichever of the
// copies that Slack sends it comes from, but for names, which are added later.
type decoder struct {
	team string
	bot  string // user id of the bot
	text reader
}

// envelope is what came over the socket.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// decoded is what an envelope holds.
type decoded struct {
	update      platforms.Update // nil = nothing for us
	revoked     bool             // Slack took the app's tokens away
	responseURL string           // where a note to the person who acted can be posted
	unknown     string           // kind of envelope that nobody here understands; empty = understood
	why         string           // and in what way it is not understood
}

// unknown is a decoded envelope of an unknown kind.
func unknown(kind, why string) decoded { return decoded{unknown: kind, why: why} }

func (d decoder) decode(e envelope) decoded {
	switch e.Type {
	case "events_api":
		return d.event(e.Payload)
	case "slash_commands":
		return d.command(e)
	case "interactive":
		return d.interaction(e.Payload)
	}
	return unknown("envelope "+e.Type, "unknown type")
}

func (d decoder) event(payload json.RawMessage) decoded {
	var outer innerEvent
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(payload, &outer); err != nil {
		return unknown("events_api", "no event in it")
	}
	if err := json.Unmarshal(outer.Event, &head); err != nil || head.Type == "" {
		return unknown("events_api", "no type in it")
	}
	if head.Type == "app_uninstalled" || head.Type == "tokens_revoked" && revokesBot(outer.Event) {
		return decoded{revoked: true}
	}
	if head.Type != "message" && head.Type != "app_mention" {
		return unknown("event "+head.Type, "unknown type")
	}
	var e event
	if err := json.Unmarshal(outer.Event, &e); err != nil {
		return unknown("event "+head.Type, "unknown shape")
	}
	if e.Channel == "" || or(e.TS, e.EventTS) == "" {
		return unknown("event "+head.Type, "no channel or timestamp in it")
	}
	if e.Type == "app_mention" && (kindOf(e.ChannelType, e.Channel) == platforms.Direct || e.ChannelType == "mpim") {
		return decoded{} // its message event comes as well
	}
	switch e.Subtype {
	case "", "file_share", "thread_broadcast":
		if m := d.message(e); m != nil {
			return decoded{update: m}
		}
	case "message_changed":
		return decoded{update: d.changed(e)}
	case "message_deleted":
		return decoded{update: d.deleted(e, e.DeletedTS)}
	}
	return decoded{} // somebody joined, a topic changed, a bot wrote: nothing for us
}

// revokesBot tells whether a tokens_revoked event is about the bot's token, and not a person's.
func revokesBot(event json.RawMessage) bool {
	var e struct {
		Tokens struct {
			Bot []string `json:"bot"`
		} `json:"tokens"`
	}
	return json.Unmarshal(event, &e) == nil && len(e.Tokens.Bot) > 0
}

// message reads something that a person wrote; it is nil for what a bot did, ourselves above all.
func (d decoder) message(e event) *platforms.Message {
	if !d.person(e) {
		return nil
	}
	ts := or(e.TS, e.EventTS)
	read := d.text.read(e.Text)
	m := &platforms.Message{
		Origin:        d.origin(e, ts),
		Native:        d.native("m", e.Channel, ts),
		ID:            ts,
		Text:          read.text,
		MentionsOther: read.other,
		Quoted:        d.quoted(e.Attachments),
		Attachments:   attachmentsOf(e.Files),
		At:            stamp(ts),
	}
	inBotsThread := e.ParentUserID == d.bot && e.ParentUserID != "" && !read.other
	m.Mentioned = m.Kind == platforms.Direct || read.mentioned || e.Type == "app_mention" || inBotsThread
	return m
}

// changed reads message_changed: an edit if a person changed the text, a deletion if only a tombstone is left. Slack
// sends the same event when it adds a link preview and when a bot edits its own message; these are dropped.
func (d decoder) changed(e event) platforms.Update {
	m := e.Message
	if m == nil || m.TS == "" {
		return nil
	}
	if m.Subtype == "tombstone" {
		return d.deleted(e, m.TS)
	}
	if m.Edited == nil || (e.Previous != nil && e.Previous.Text == m.Text) {
		return nil
	}
	switch m.Subtype {
	case "", "file_share", "thread_broadcast":
	default:
		return nil
	}
	inner := *m
	inner.Type, inner.Channel, inner.ChannelType = "message", e.Channel, e.ChannelType
	message := d.message(inner)
	if message == nil {
		return nil
	}
	original := message.Native
	message.Native = d.native("e", e.Channel, m.TS, or(e.EventTS, m.Edited.TS)) // the edit's own ts is in whole seconds
	return &platforms.MessageEdited{Message: *message, Original: original}
}

// deleted reads the removal of a message; ours are dropped.
func (d decoder) deleted(e event, ts string) platforms.Update {
	inner := event{}
	if e.Previous != nil {
		inner = *e.Previous
		if !d.person(inner) {
			return nil
		}
	}
	if ts == "" {
		return nil
	}
	inner.Channel, inner.ChannelType = e.Channel, e.ChannelType
	return &platforms.MessageDeleted{
		Origin: d.origin(inner, ts), Native: d.native("d", e.Channel, ts), MessageID: ts, Original: d.native("m", e.Channel, ts),
	}
}

// person tells whether a human being wrote a message.
func (d decoder) person(e event) bool {
	return e.User != "" && e.User != d.bot && e.User != "USLACKBOT" && e.BotID == ""
}

func (d decoder) origin(e event, ts string) platforms.Origin {
	kind := kindOf(e.ChannelType, e.Channel)
	return platforms.Origin{
		Address: d.address(kind, e.Channel, ts, e.ThreadTS),
		Kind:    kind,
		Sender:  platforms.Person{ID: e.User},
	}
}

// address says where replies go: to the thread of a message; at the top level of a channel to the thread that the
// message opens, at the top level of a direct message to the conversation itself. A root that has replies carries its
// own ts as thread_ts.
func (d decoder) address(kind platforms.ChatKind, channel, ts, thread string) platforms.Address {
	to := platforms.Address{Platform: platforms.Slack, Account: d.team, Chat: channel, Thread: thread}
	switch {
	case kind != platforms.Direct && thread == "":
		to.Thread = ts
	case kind == platforms.Direct && thread == ts:
		to.Thread = ""
	}
	return to
}

// kindOf tells direct messages from the rest, where everything is a thread. Their ids begin with D, and not every event
// carries a channel type.
func kindOf(channelType, channel string) platforms.ChatKind {
	if channelType == "im" || strings.HasPrefix(channel, "D") {
		return platforms.Direct
	}
	return platforms.Thread
}

// native makes the identity of an event. The team is the one that the app lives in, so that both copies of a message in
// a shared channel agree.
func (d decoder) native(parts ...string) string {
	return fmt.Sprintf("%s/%s/%s", platforms.Slack, d.team, strings.Join(parts, "/"))
}

// quoted reads the first message that somebody shared along with the text.
func (d decoder) quoted(list []attachment) *platforms.Quote {
	for _, a := range list {
		if a.IsShare || a.IsMsg {
			return &platforms.Quote{
				MessageID: a.TS, Text: d.text.read(a.Text).text, Own: a.AuthorID == d.bot && d.bot != "",
				Sender: platforms.Person{ID: a.AuthorID, Name: a.AuthorName},
			}
		}
	}
	return nil
}

// command reads a slash command: "/talaria status now" is the command "status" with the argument "now", a bare
// "/talaria" is "help". Slack gives a command no thread.
func (d decoder) command(e envelope) decoded {
	var c slashCommand
	if json.Unmarshal(e.Payload, &c) != nil || c.ChannelID == "" || c.UserID == "" {
		return unknown("slash_commands", "unknown shape")
	}
	name, argument, _ := strings.Cut(strings.TrimSpace(d.text.read(c.Text).text), " ")
	kind := kindOf("", c.ChannelID)
	return decoded{responseURL: c.ResponseURL, update: &platforms.CommandInvoked{
		Origin: platforms.Origin{
			Address: platforms.Address{Platform: platforms.Slack, Account: d.team, Chat: c.ChannelID},
			Kind:    kind,
			Sender:  platforms.Person{ID: c.UserID, Name: c.UserName},
			Title:   titleOf(kind, c.ChannelName),
		},
		Native:   d.native("c", c.ChannelID, or(c.TriggerID, e.ID)),
		Name:     or(strings.ToLower(name), "help"),
		Argument: strings.TrimSpace(argument),
		At:       time.Now(),
	}}
}

// interaction reads a press on one of our buttons; other interactions are not ours.
func (d decoder) interaction(payload json.RawMessage) decoded {
	var in interaction
	if json.Unmarshal(payload, &in) != nil {
		return unknown("interactive", "unknown shape")
	}
	channel := or(in.Channel.ID, in.Container.ChannelID)
	if in.Type != "block_actions" || len(in.Actions) == 0 || channel == "" || in.User.ID == "" {
		return unknown("interactive "+in.Type, "unknown type")
	}
	action := in.Actions[0]
	if action.Type != "button" || !strings.HasPrefix(action.ActionID, actionPrefix) {
		return unknown("interactive "+in.Type, "not one of our buttons")
	}
	kind, message := kindOf("", channel), in.Container.MessageTS
	return decoded{responseURL: in.ResponseURL, update: &platforms.ButtonPressed{
		Origin: platforms.Origin{
			Address: d.address(kind, channel, message, or(in.Container.ThreadTS, in.Message.ThreadTS)),
			Kind:    kind,
			Sender:  platforms.Person{ID: in.User.ID, Name: or(in.User.Name, in.User.Username)},
			Title:   titleOf(kind, in.Channel.Name),
		},
		Native:    d.native("b", channel, message, action.ActionTS, in.User.ID),
		MessageID: message,
		Data:      action.Value,
	}}
}

// titleOf is a conversation's name; Slack calls private ones "privategroup", which is none.
func titleOf(kind platforms.ChatKind, name string) string {
	if kind == platforms.Direct || name == "privategroup" {
		return ""
	}
	return name
}
