package slack

import (
	"slices"
	"strconv"
	"time"
)

func (s *Server) userInfo(c *call) (object, *refusal) {
	u, ok := s.users[c.arg("user")]
	if !ok {
		return nil, refuse("user_not_found")
	}
	return object{"user": object{
		"id": u.ID, "team_id": s.cfg.Team, "name": u.Name, "real_name": u.Name, "is_bot": u.Bot, "deleted": false,
		"profile": object{"display_name": u.Name, "real_name": u.Name, "team": s.cfg.Team},
	}}, nil
}

func (c *chat) info() object {
	return object{
		"id": c.ID, "name": c.Title, "is_channel": c.kind() == "channel", "is_im": c.kind() == "im",
		"is_mpim": c.kind() == "mpim", "is_private": c.kind() != "channel", "is_archived": c.archived,
		"is_member": !c.kicked,
	}
}

func (s *Server) conversationInfo(c *call) (object, *refusal) {
	room := s.chats[c.chat()]
	if room == nil {
		return nil, refuse("channel_not_found")
	}
	return object{"channel": room.info()}, nil
}

func (s *Server) conversationOpen(c *call) (object, *refusal) {
	room := s.chats[c.chat()]
	if room == nil {
		room = s.directWith(c.arg("users"))
	}
	if room == nil {
		return nil, refuse("user_not_found")
	}
	return object{"channel": room.info()}, nil
}

// history lists the top level of a conversation, newest first.
func (s *Server) history(c *call) (object, *refusal) {
	room, no := s.readable(c.chat())
	if no != nil {
		return nil, no
	}
	found := s.page(room, c, func(m *message) bool { return m.thread == "" })
	slices.Reverse(found.messages)
	return found.cut(c), nil
}

// threadReplies lists a thread, its root first.
func (s *Server) threadReplies(c *call) (object, *refusal) {
	room, no := s.readable(c.chat())
	if no != nil {
		return nil, no
	}
	root := c.arg("ts")
	if room.root(root) != root && room.replies(root) == 0 {
		return nil, refuse("thread_not_found")
	}
	return s.page(room, c, func(m *message) bool { return m.thread == root || m.ts == root }).cut(c), nil
}

func (s *Server) readable(id string) (*chat, *refusal) {
	c := s.chats[id]
	switch {
	case c == nil:
		return nil, refuse("channel_not_found")
	case c.kicked:
		return nil, refuse("not_in_channel")
	}
	return c, nil
}

type page struct{ messages []object }

// page collects the messages that a listing shows: those within oldest and latest that the index has caught up with.
func (s *Server) page(room *chat, c *call, want func(*message) bool) page {
	var p page
	oldest, latest, inclusive := c.arg("oldest"), c.arg("latest"), truth(c.arg("inclusive"))
	within := func(ts string) bool {
		if inclusive && (ts == oldest || ts == latest) {
			return true
		}
		return (oldest == "" || micros(ts) > micros(oldest)) && (latest == "" || micros(ts) < micros(latest))
	}
	for _, m := range room.messages {
		if !want(m) || !within(m.ts) || time.Since(m.at) < s.cfg.Lag {
			continue
		}
		o := s.wire(room, m)
		if m.metadata != nil && truth(c.arg("include_all_metadata")) {
			o["metadata"] = m.metadata
		}
		p.messages = append(p.messages, o)
	}
	return p
}

// cut keeps to the limit of a call, from its cursor on, and says whether there is more and where.
func (p page) cut(c *call) object {
	limit, err := strconv.Atoi(c.arg("limit"))
	if err != nil || limit < 1 || limit > 999 {
		limit = 100
	}
	from, _ := strconv.Atoi(c.arg("cursor"))
	rest := p.messages[min(max(from, 0), len(p.messages)):]
	more := len(rest) > limit
	if more {
		rest = rest[:limit]
	}
	o := object{"messages": slices.Concat([]object{}, rest), "has_more": more}
	if more {
		o["response_metadata"] = object{"next_cursor": strconv.Itoa(from + limit)}
	}
	return o
}

// truth reads a boolean argument, which clients write as 1 or true.
func truth(s string) bool { return s == "1" || s == "true" }

// micros turns a ts into microseconds; it is 0 for what is none.
func micros(ts string) int64 {
	f, err := strconv.ParseFloat(ts, 64)
	if err != nil {
		return 0
	}
	return int64(f*1e6 + 0.5)
}
