package slack

import (
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// object is a JSON object.
type object = map[string]any

// emit wraps an inner event and gives it to the hub. The lock is held, so events leave in the order of what happened.
func (s *Server) emit(event any) {
	now := time.Now()
	s.hub.deliver(&envelope{
		kind: "events_api",
		payload: object{
			"token": "verification-simulated", "team_id": s.cfg.Team, "api_app_id": appID,
			"type": "event_callback", "event": event,
			"event_id": s.nextID("Ev"), "event_time": now.Unix(),
			"authorizations": []object{{
				"enterprise_id": nil, "team_id": s.cfg.Team, "user_id": s.cfg.BotUser,
				"is_bot": true, "is_enterprise_install": false,
			}},
			"is_ext_shared_channel": false,
		},
		retry: true,
	})
}

// emitMessage sends the message event of a new message, and app_mention if the bot is mentioned in it: in either order,
// as in Slack. The lock is held.
func (s *Server) emitMessage(c *chat, m *message) {
	if c.kicked {
		return
	}
	event := s.wire(c, m)
	event["channel"], event["channel_type"], event["event_ts"] = c.ID, c.kind(), m.ts
	events := []object{event}
	if m.user != sim.Bot && strings.Contains(m.text, "<@"+s.cfg.BotUser+">") {
		mention := object{}
		for _, field := range []string{"client_msg_id", "user", "text", "ts", "thread_ts", "team", "channel", "event_ts", "files", "bot_id"} {
			if v, ok := event[field]; ok {
				mention[field] = v
			}
		}
		mention["type"] = "app_mention"
		events = append(events, mention)
		if s.rand.IntN(2) == 0 {
			events[0], events[1] = events[1], events[0]
		}
	}
	for _, e := range events {
		if s.hears(e, c.kind()) {
			s.emit(e)
		}
	}
}

// emitChanged sends message_changed. The lock is held.
func (s *Server) emitChanged(c *chat, m, before *message) {
	if c.kicked || !s.hears(object{"type": "message"}, c.kind()) {
		return
	}
	s.emit(object{
		"type": "message", "subtype": "message_changed", "hidden": true,
		"channel": c.ID, "channel_type": c.kind(), "ts": m.edited, "event_ts": m.edited,
		"message": s.wire(c, m), "previous_message": s.wire(c, before),
	})
}

// emitUnfurled sends the message_changed of a link preview: the same text, one attachment more. The lock is held.
func (s *Server) emitUnfurled(c *chat, m *message) {
	now := c.stamp(time.Now())
	after := s.wire(c, m)
	after["attachments"] = []object{{
		"id": 1, "from_url": "https://example.com/", "original_url": "https://example.com/",
		"title": "Example", "text": "A preview.", "fallback": "Example",
	}}
	s.emit(object{
		"type": "message", "subtype": "message_changed", "hidden": true,
		"channel": c.ID, "channel_type": c.kind(), "ts": now, "event_ts": now,
		"message": after, "previous_message": s.wire(c, m),
	})
}

// emitRemoved removes a message and sends what Slack sends: message_deleted, or, for the root of a thread that has
// replies, a message_changed that leaves a tombstone. The lock is held.
func (s *Server) emitRemoved(c *chat, m *message) {
	now := c.stamp(time.Now())
	event := object{
		"type": "message", "hidden": true, "channel": c.ID, "channel_type": c.kind(), "ts": now, "event_ts": now,
		"previous_message": s.wire(c, m),
	}
	if c.replies(m.ts) > 0 {
		event["subtype"] = "message_changed"
		event["message"] = object{
			"type": "message", "subtype": "tombstone", "hidden": true, "user": "USLACKBOT",
			"text": "This message was deleted.", "ts": m.ts, "thread_ts": m.ts,
		}
	} else {
		event["subtype"], event["deleted_ts"] = "message_deleted", m.ts
	}
	c.remove(m.ts)
	if !c.kicked && s.hears(event, c.kind()) {
		s.emit(event)
	}
}

// wire is a message as the Events API and the history show it. The lock is held.
func (s *Server) wire(c *chat, m *message) object {
	o := object{
		"type": "message", "ts": m.ts, "text": m.text, "user": m.user, "team": s.cfg.Team,
		"client_msg_id": c.ID + "-" + m.ts,
	}
	if m.user == sim.Bot {
		delete(o, "client_msg_id")
		o["user"], o["bot_id"] = s.cfg.BotUser, botID
		o["bot_profile"] = object{"id": botID, "app_id": appID, "name": s.cfg.BotName, "team_id": s.cfg.Team}
	} else if u := s.users[m.user]; u.Bot {
		o["bot_id"] = "B" + strings.TrimPrefix(m.user, "U")
	}
	switch {
	case m.thread != "":
		o["thread_ts"] = m.thread
		if root := c.find(m.thread); root != nil {
			o["parent_user_id"] = s.wireUser(root.user)
		}
	case c.replies(m.ts) > 0:
		o["thread_ts"], o["reply_count"] = m.ts, c.replies(m.ts)
	}
	if len(m.blocks) > 0 {
		o["blocks"] = m.blocks
	} else if m.text != "" {
		o["blocks"] = []object{{"type": "rich_text", "block_id": "r", "elements": []object{{
			"type": "rich_text_section", "elements": []object{{"type": "text", "text": m.text}},
		}}}}
	}
	if m.edited != "" {
		o["edited"] = object{"user": s.wireUser(m.user), "ts": m.edited}
	}
	if m.file != nil {
		o["subtype"], o["upload"] = "file_share", false
		delete(o, "client_msg_id")
		delete(o, "team")
		o["files"] = []object{m.upload("https://files.slack.com")}
	}
	return o
}

func (s *Server) wireUser(user string) string {
	if user == sim.Bot {
		return s.cfg.BotUser
	}
	return user
}
