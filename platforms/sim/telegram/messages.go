package telegram

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// deleteWithin is how long a message can be deleted (core.telegram.org/bots/api#deletemessage). The bot's own messages
// can be edited for ever.
const deleteWithin = 48 * time.Hour

func (s *Server) sendMessage(_ *http.Request, p params) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.writable(p)
	if refused != nil {
		return nil, refused
	}
	text, entities, refused := formatText(p["text"], p["parse_mode"])
	if refused != nil {
		return nil, refused
	}
	keyboard, refused := readKeyboard(p["reply_markup"])
	if refused != nil {
		return nil, refused
	}
	m := &message{
		from: s.bot, source: p["text"], text: text, entities: entities, keyboard: keyboard,
		silent: p.yes("disable_notification"), at: time.Now(),
	}
	if m.thread, refused = topicOf(c, p); refused != nil {
		return nil, refused
	}
	if m.replyTo, refused = replyOf(c, p); refused != nil {
		return nil, refused
	}
	if refused := s.limit(c); refused != nil {
		return nil, refused
	}
	s.add(c, m)
	delete(c.typing, m.thread)
	delete(c.drafts, m.thread)
	s.record("send", m.show(c, s.bot))
	return m.wire(c, true), nil
}

func (s *Server) editMessageText(_ *http.Request, p params) (any, *refusal) {
	text, entities, refused := formatText(p["text"], p["parse_mode"])
	if refused != nil {
		return nil, refused
	}
	return s.edit(p, func(m *message) {
		m.source, m.text, m.entities = p["text"], text, entities
	})
}

func (s *Server) editMessageReplyMarkup(_ *http.Request, p params) (any, *refusal) {
	return s.edit(p, func(*message) {})
}

// edit changes a message of the bot; the keyboard is always replaced.
func (s *Server) edit(p params, change func(*message)) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.writable(p)
	if refused != nil {
		return nil, refused
	}
	m, refused := messageOf(c, p, "edit")
	if refused != nil {
		return nil, refused
	}
	if m.from != s.bot {
		return nil, badRequest("message can't be edited")
	}
	keyboard, refused := readKeyboard(p["reply_markup"])
	if refused != nil {
		return nil, refused
	}
	changed := *m
	change(&changed)
	changed.keyboard = keyboard
	if changed.text == m.text && reflect.DeepEqual(changed.entities, m.entities) && reflect.DeepEqual(keyboard, m.keyboard) {
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly " +
			"the same as a current content and reply markup of the message")
	}
	if refused := s.limit(c); refused != nil {
		return nil, refused
	}
	changed.edited = time.Now()
	*m = changed
	s.record("edit", m.show(c, s.bot))
	return m.wire(c, true), nil
}

func (s *Server) deleteMessage(_ *http.Request, p params) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.writable(p)
	if refused != nil {
		return nil, refused
	}
	m, refused := messageOf(c, p, "delete")
	if refused != nil {
		return nil, refused
	}
	if time.Since(m.at) > deleteWithin {
		return nil, badRequest("message can't be deleted")
	}
	s.remove(c, m)
	return true, nil
}

// writable returns the chat that a request names, if the bot may do anything in it.
func (s *Server) writable(p params) (*chat, *refusal) {
	if p["chat_id"] == "" {
		return nil, badRequest("chat_id is empty")
	}
	c := s.chats[p["chat_id"]]
	switch {
	case c == nil:
		return nil, badRequest("chat not found")
	case c.movedTo != 0:
		r := badRequest("group chat was upgraded to a supergroup chat")
		r.migratedTo = c.movedTo
		return nil, r
	case c.kind == "dm" && s.users[c.key()] != nil && s.users[c.key()].blocked:
		return nil, &refusal{code: http.StatusForbidden, description: "Forbidden: bot was blocked by the user"}
	case c.kicked && c.supergroup():
		return nil, &refusal{code: http.StatusForbidden, description: "Forbidden: bot was kicked from the supergroup chat"}
	case c.kicked:
		return nil, &refusal{code: http.StatusForbidden, description: "Forbidden: bot was kicked from the group chat"}
	}
	return c, nil
}

// limit counts a message or an edit against the rate limits.
func (s *Server) limit(c *chat) *refusal {
	if s.opts.NoRateLimits {
		return nil
	}
	if wait := s.limits.take(c.key(), c.kind != "dm", time.Now()); wait > 0 {
		return tooManyRequests(wait)
	}
	return nil
}

// topicOf reads message_thread_id, which must name a topic. General is not one: it is written to without an id.
func topicOf(c *chat, p params) (int, *refusal) {
	if p["message_thread_id"] == "" {
		return 0, nil
	}
	id, _ := strconv.Atoi(p["message_thread_id"])
	if !c.topics[id] {
		return 0, badRequest("message thread not found")
	}
	return id, nil
}

// replyOf reads reply_parameters.
func replyOf(c *chat, p params) (int, *refusal) {
	if p["reply_parameters"] == "" {
		return 0, nil
	}
	var reply struct {
		MessageID int  `json:"message_id"`
		Anyway    bool `json:"allow_sending_without_reply"`
	}
	if json.Unmarshal([]byte(p["reply_parameters"]), &reply) != nil {
		return 0, badRequest("object expected as reply parameters")
	}
	if c.find(reply.MessageID) == nil {
		if reply.Anyway {
			return 0, nil
		}
		return 0, badRequest("message to be replied not found")
	}
	return reply.MessageID, nil
}

// messageOf returns the message that a request names.
func messageOf(c *chat, p params, what string) (*message, *refusal) {
	id, ok := p.integer("message_id")
	if !ok || id <= 0 {
		return nil, badRequest("message identifier is not specified")
	}
	m := c.find(int(id))
	if m == nil {
		return nil, badRequest("message to %s not found", what)
	}
	return m, nil
}

// chatActions are those that sendChatAction takes.
func chatActions() []string {
	return []string{
		"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",
		"choose_sticker", "find_location", "record_video_note", "upload_video_note",
	}
}

// typingFor is how long a chat action shows, unless a message ends it (core.telegram.org/bots/api#sendchataction).
const typingFor = 5 * time.Second

// sendChatAction takes any thread id: the real service does not check it, and General's typing needs the id 1.
func (s *Server) sendChatAction(_ *http.Request, p params) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.writable(p)
	if refused != nil {
		return nil, refused
	}
	if !slices.Contains(chatActions(), p["action"]) {
		return nil, badRequest("wrong parameter action in request")
	}
	topic, _ := strconv.Atoi(p["message_thread_id"])
	if c.kind == "forum" && topic == 1 {
		topic = 0
	} else if c.kind == "forum" && topic == 0 {
		return true, nil // without an id it shows in no topic
	}
	was := time.Now().Before(c.typing[topic])
	c.typing[topic] = time.Now().Add(typingFor)
	if !was {
		m := message{from: s.bot, thread: topic, at: time.Now()}
		s.record("typing", m.show(c, s.bot))
	}
	return true, nil
}
