package discord

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/talaria-agent/talaria/platforms"
)

// receive takes one event of the gateway. It runs on discordgo's reader, one event at a time, and only sorts: what
// concerns channels is noted at once, what concerns people goes into its channel's lane.
func (a *Adapter) receive(l *lanes, name string, raw json.RawMessage) {
	if a.me.Load() == nil {
		a.odd.note("event before READY", nil)
		return
	}
	var err error
	switch name {
	case "MESSAGE_CREATE":
		err = a.onMessage(l, raw)
	case "MESSAGE_UPDATE":
		err = a.onEdit(l, raw)
	case "MESSAGE_DELETE":
		err = a.onDelete(l, raw)
	case "MESSAGE_DELETE_BULK":
		err = a.onBulkDelete(l, raw)
	case "INTERACTION_CREATE":
		err = a.onInteraction(l, raw)
	case "GUILD_CREATE":
		err = a.onGuild(raw)
	case "GUILD_MEMBER_UPDATE":
		err = a.onMember(raw)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		var c wireChannel
		if err = json.Unmarshal(raw, &c); err == nil {
			a.places.put(c)
		}
	case "CHANNEL_DELETE", "THREAD_DELETE":
		var c wireChannel
		if err = json.Unmarshal(raw, &c); err == nil {
			a.places.drop(c.ID)
		}
	case "THREAD_LIST_SYNC":
		var sync struct {
			Threads []wireChannel `json:"threads"`
		}
		if err = json.Unmarshal(raw, &sync); err == nil {
			a.places.put(sync.Threads...)
		}
	default:
		if !ofNoConcern(name) {
			a.odd.note("event "+name, nil)
		}
	}
	if err != nil {
		a.odd.note("malformed "+name, err)
	}
}

// ofNoConcern lists the events that come with our intents and that nothing has to be done about.
func ofNoConcern(name string) bool {
	switch name {
	case "READY", "RESUMED", "GUILD_UPDATE", "GUILD_DELETE", "GUILD_ROLE_CREATE", "GUILD_ROLE_UPDATE", "GUILD_ROLE_DELETE",
		"CHANNEL_PINS_UPDATE", "THREAD_MEMBER_UPDATE", "THREAD_MEMBERS_UPDATE", "STAGE_INSTANCE_CREATE", "STAGE_INSTANCE_UPDATE",
		"STAGE_INSTANCE_DELETE", "VOICE_CHANNEL_STATUS_UPDATE", "APPLICATION_COMMAND_PERMISSIONS_UPDATE", "USER_UPDATE",
		"GUILD_AUDIT_LOG_ENTRY_CREATE", "ENTITLEMENT_CREATE", "ENTITLEMENT_UPDATE", "ENTITLEMENT_DELETE":
		return true
	}
	return false
}

// readMessage decodes a message event; nil if no person wrote it.
func readMessage(raw json.RawMessage) (*wireMessage, error) {
	var m wireMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	if m.ID == "" || m.Channel == "" {
		return nil, errors.New("a message without id or channel")
	}
	if !m.written() {
		return nil, nil
	}
	return &m, nil
}

func (a *Adapter) onMessage(l *lanes, raw json.RawMessage) error {
	m, err := readMessage(raw)
	if m == nil {
		return err
	}
	l.push(arrival{channel: m.Channel, kind: "message", update: func(ctx context.Context) (platforms.Update, error) {
		return a.decodeMessage(ctx, m)
	}})
	return nil
}

// onEdit tells edits from the other changes that Discord announces in the same way: link previews, pins, threads.
func (a *Adapter) onEdit(l *lanes, raw json.RawMessage) error {
	m, err := readMessage(raw)
	if m == nil {
		return err
	}
	if m.Edited == "" || !a.edits.changed(m.ID, m.Edited) {
		return nil
	}
	l.push(arrival{channel: m.Channel, kind: "edit", update: func(ctx context.Context) (platforms.Update, error) {
		edited, err := a.decodeMessage(ctx, m)
		if err != nil {
			return nil, err
		}
		original := edited.Native
		edited.Native = "discord/" + a.me.Load().application + "/e/" + m.ID + "/" + m.Edited
		return &platforms.MessageEdited{Message: *edited, Original: original}, nil
	}})
	return nil
}

func (a *Adapter) onDelete(l *lanes, raw json.RawMessage) error {
	var d struct {
		ID      string `json:"id"`
		Channel string `json:"channel_id"`
		Guild   string `json:"guild_id"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	return a.pushDeleted(l, d.Channel, d.Guild, d.ID)
}

func (a *Adapter) onBulkDelete(l *lanes, raw json.RawMessage) error {
	var d struct {
		IDs     []string `json:"ids"`
		Channel string   `json:"channel_id"`
		Guild   string   `json:"guild_id"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	return a.pushDeleted(l, d.Channel, d.Guild, d.IDs...)
}

// pushDeleted announces removed messages; who wrote them is not said.
func (a *Adapter) pushDeleted(l *lanes, channel, guild string, ids ...string) error {
	if channel == "" || slices.Contains(ids, "") {
		return errors.New("a deletion without channel or message")
	}
	for _, id := range ids {
		l.push(arrival{channel: channel, kind: "deletion", update: func(ctx context.Context) (platforms.Update, error) {
			origin, err := a.origin(ctx, channel, guild, platforms.Person{})
			if err != nil {
				return nil, err
			}
			account := "discord/" + origin.Address.Account
			return &platforms.MessageDeleted{
				Origin: origin, Native: account + "/d/" + id, MessageID: id, Original: account + "/m/" + id,
			}, nil
		}})
	}
	return nil
}

func (a *Adapter) onGuild(raw json.RawMessage) error {
	var g struct {
		ID       string        `json:"id"`
		Channels []wireChannel `json:"channels"`
		Threads  []wireChannel `json:"threads"`
		Members  []wireMember  `json:"members"`
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	a.places.put(g.Channels...)
	a.places.put(g.Threads...)
	for _, m := range g.Members {
		if m.User.ID == a.me.Load().user {
			a.places.setRoles(g.ID, m.Roles)
		}
	}
	return nil
}

// onMember follows the bot's own roles.
func (a *Adapter) onMember(raw json.RawMessage) error {
	var m struct {
		wireMember
		Guild string `json:"guild_id"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if m.User.ID == a.me.Load().user {
		a.places.setRoles(m.Guild, m.Roles)
	}
	return nil
}
