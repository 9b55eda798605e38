package discord

import (
	"net/http"
	"slices"
	"unicode/utf8"
)

// Flags of an application that say whether it may have the Message Content intent (limited: under 100 servers).
const flagMessageContentLimited = 1 << 19

func (s *Server) getMe(*call) (int, any, error) {
	return http.StatusOK, s.person(s.opts.BotUser), nil
}

func (s *Server) getApplication(*call) (int, any, error) {
	flags := flagMessageContentLimited
	if s.opts.NoMessageContent {
		flags = 0
	}
	return http.StatusOK, object{"id": s.opts.Application, "name": s.opts.BotName, "flags": flags, "bot_public": false}, nil
}

func (s *Server) getChannel(c *call) (int, any, error) {
	return http.StatusOK, s.channel(c.place), nil
}

func (s *Server) getMember(c *call) (int, any, error) {
	id := c.PathValue("user")
	if id == s.opts.BotUser {
		return http.StatusOK, s.botMember(), nil
	}
	if _, ok := s.users[id]; !ok {
		return 0, nil, unknown("user_id", id, errUnknownMember)
	}
	return http.StatusOK, object{"user": s.person(id), "roles": []string{}}, nil
}

func (s *Server) botMember() object {
	return object{"user": s.person(s.opts.BotUser), "roles": []string{BotRole}, "nick": nil}
}

// openDM handles POST /users/@me/channels: the DM with a person, made if it is not there yet.
func (s *Server) openDM(c *call) (int, any, error) {
	user := text(c.body, "recipient_id")
	if _, ok := s.users[user]; !ok {
		return 0, nil, unknown("recipient_id", user, errUnknownMember)
	}
	for _, p := range s.places {
		if p.kind == typeDM && slices.Contains(p.members, user) {
			return http.StatusOK, s.channel(p), nil
		}
	}
	p := &place{id: s.ids.next(), kind: typeDM, members: []string{user}}
	s.places[p.id] = p
	return http.StatusOK, s.channel(p), nil
}

// createThread handles POST /channels/{id}/threads and, for one that begins with a message and takes its id, POST
// /channels/{id}/messages/{id}/threads.
func (s *Server) createThread(c *call) (int, any, error) {
	name := text(c.body, "name")
	if n := utf8.RuneCountInString(name); n < 1 || n > 100 {
		return 0, nil, invalidForm(badLength("name", 1, 100))
	}
	if c.place.kind != typeText {
		return 0, nil, &problem{status: 400, code: 50024, message: "Cannot execute action on this channel type"}
	}
	id := s.ids.next()
	if c.PathValue("message") != "" {
		m, err := s.pathMessage(c)
		if err != nil {
			return 0, nil, err
		}
		if id = m.id; s.places[id] != nil {
			return 0, nil, errThreadExists
		}
	}
	return http.StatusCreated, s.channel(s.startThread(c.place, id, name)), nil
}
