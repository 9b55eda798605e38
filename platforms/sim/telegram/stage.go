package telegram

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

var _ sim.Stage = (*Server)(nil)

// AddUser adds a person; the id is a positive number. A name made of letters, digits and underscores is also the
// username. It panics on another id, which is a mistake in the test.
func (s *Server) AddUser(u sim.User) {
	id, err := strconv.ParseInt(u.ID, 10, 64)
	if err != nil || id <= 0 {
		panic("telegram user id " + u.ID + " is not a positive number")
	}
	added := &user{id: id, name: u.Name, bot: u.Bot}
	if isUsername(u.Name) {
		added.username = u.Name
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID] = added
}

// AddChat adds a chat. A "dm" has the id of its person, a "group" a negative id (a supergroup one that begins with
// -100), a "forum" one that begins with -100. A forum's topics come into being when they are first named, by a number
// from 2 to 999; its messages count from 1000. It panics on other ids, which is a mistake in the test.
func (s *Server) AddChat(c sim.Chat) {
	id, err := strconv.ParseInt(c.ID, 10, 64)
	added := &chat{id: id, kind: c.Kind, title: c.Title, topics: map[int]bool{}, typing: map[int]time.Time{}, drafts: map[int]*draft{}}
	switch {
	case err != nil, (c.Kind == "dm") != (id > 0), c.Kind == "forum" && !added.supergroup():
		panic("telegram chat id " + c.ID + " does not fit a " + c.Kind)
	case c.Kind != "dm" && c.Kind != "group" && c.Kind != "forum":
		panic("telegram has no simulated chats of kind " + c.Kind)
	case c.Kind == "forum":
		added.lastID = 999
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Kind == "dm" {
		added.peer = s.users[c.ID]
	}
	s.chats[c.ID] = added
}

// Say writes a message as a person. In a forum, no thread means the General topic. A text that is too long for one message
// goes out as several, as Telegram's apps do it, and the id is that of the first; the file and the reply belong to that.
func (s *Server) Say(say sim.Say) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, c, err := s.place(say.User, say.Chat)
	if err != nil {
		return "", err
	}
	thread, err := s.openTopic(c, u, say.Thread)
	if err != nil {
		return "", err
	}
	text := say.Text
	if say.Mention {
		text = "@" + s.bot.username + " " + text
	}
	if text == "" && say.File == "" {
		return "", errors.New("a message needs a text or a file")
	}
	replyTo := 0
	if say.ReplyTo != "" {
		replyTo, _ = strconv.Atoi(say.ReplyTo)
		if c.find(replyTo) == nil {
			return "", fmt.Errorf("no message %s to reply to", say.ReplyTo)
		}
	}
	first := 0
	for i, part := range splitTyped(text) {
		m := &message{from: u, thread: thread, source: part, text: part, entities: recognise(part, nil), at: time.Now()}
		if i == 0 {
			m.replyTo, m.file = replyTo, say.Upload()
		}
		s.add(c, m)
		if i == 0 {
			first = m.id
		}
		s.record("say", m.show(c, s.bot))
		if s.hears(c, m) {
			s.push(map[string]any{"message": m.wire(c, true)})
		}
	}
	return strconv.Itoa(first), nil
}

// EditAs changes a person's own message.
func (s *Server) EditAs(userID, chatID, messageID, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.own(userID, chatID, messageID)
	if err != nil {
		return err
	}
	if mention := "@" + s.bot.username + " "; strings.HasPrefix(m.text, mention) && !strings.HasPrefix(text, "@") {
		text = mention + text // a person changes the words behind the mention
	}
	m.source, m.text, m.entities, m.edited = text, text, recognise(text, nil), time.Now()
	s.record("edit", m.show(c, s.bot))
	if s.hears(c, m) {
		s.push(map[string]any{"edited_message": m.wire(c, true)})
	}
	return nil
}

// DeleteAs removes a person's own message. The bot is not told: Telegram has no such update for ordinary chats.
func (s *Server) DeleteAs(userID, chatID, messageID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.own(userID, chatID, messageID)
	if err != nil {
		return err
	}
	s.remove(c, m)
	return nil
}

// Invoke fails: Telegram's commands are messages.
func (s *Server) Invoke(_, _, _, name, _ string) (<-chan string, error) {
	return nil, fmt.Errorf("telegram has no native commands: say /%s", name)
}

// Visible returns the chat as it looks now, with what the bot is still writing at its end.
func (s *Server) Visible(chatID string) []sim.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var shown []sim.Message
	if c := s.chats[chatID]; c != nil {
		for _, m := range c.messages {
			if m.topic == "" {
				shown = append(shown, m.show(c, s.bot))
			}
		}
		shown = append(shown, c.shownDrafts(s.bot)...)
	}
	return shown
}

// Typing tells whether the bot seems to type at a place.
func (s *Server) Typing(chatID, thread string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chatID]
	if c == nil {
		return false
	}
	topic, _ := strconv.Atoi(thread) // "" and "general" are 0
	return time.Now().Before(c.typing[topic])
}

// Log returns what was visibly done, in order.
func (s *Server) Log() []sim.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Changed returns a channel that is closed at the next visible change.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Block makes a person block the bot, or unblock it.
func (s *Server) Block(userID string, blocked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.users[userID]; u != nil {
		u.blocked = blocked
	}
}

// Kick removes the bot from a group.
func (s *Server) Kick(chatID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chats[chatID]; c != nil {
		c.kicked = true
	}
}

// Migrate upgrades a group to a supergroup with a new id, as Telegram does behind the scenes: both chats hold a
// service message about it, and the old one refuses messages and names the new one.
func (s *Server) Migrate(chatID, newID string) error {
	id, err := strconv.ParseInt(newID, 10, 64)
	to := &chat{id: id, kind: "group", topics: map[int]bool{}, typing: map[int]time.Time{}}
	if err != nil || !to.supergroup() {
		return fmt.Errorf("%s is not a supergroup's id", newID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.chats[chatID]
	if from == nil || from.kind != "group" || from.supergroup() {
		return fmt.Errorf("%s is not a basic group", chatID)
	}
	to.title, from.movedTo = from.title, id
	s.chats[newID] = to
	now := time.Now().Unix()
	s.push(map[string]any{"message": &wireMessage{MessageID: s.nextID(from), Chat: from.wire(), Date: now, MigrateToChatID: id}})
	s.push(map[string]any{"message": &wireMessage{MessageID: s.nextID(to), Chat: to.wire(), Date: now, MigrateFromChatID: from.id}})
	return nil
}

// place finds a person and a chat. The mutex is held, as in all that follows.
func (s *Server) place(userID, chatID string) (*user, *chat, error) {
	u, c := s.users[userID], s.chats[chatID]
	if u == nil {
		return nil, nil, fmt.Errorf("no user %q", userID)
	}
	if c == nil {
		return nil, nil, fmt.Errorf("no chat %q", chatID)
	}
	return u, c, nil
}

// own finds a person's own message.
func (s *Server) own(userID, chatID, messageID string) (*chat, *message, error) {
	u, c, err := s.place(userID, chatID)
	if err != nil {
		return nil, nil, err
	}
	id, _ := strconv.Atoi(messageID)
	m := c.find(id)
	if m == nil || m.from != u {
		return nil, nil, fmt.Errorf("no message %q of user %q", messageID, userID)
	}
	return c, m, nil
}

// openTopic returns the topic that a thread names and creates it if it is new.
func (s *Server) openTopic(c *chat, u *user, thread string) (int, error) {
	if thread == "" || thread == general && c.kind == "forum" {
		return 0, nil
	}
	id, err := strconv.Atoi(thread)
	if err != nil || c.kind == "group" || c.kind == "forum" && (id < 2 || id > 999) {
		return 0, fmt.Errorf("chat %s cannot have a topic %q", c.key(), thread)
	}
	if !c.topics[id] {
		c.topics[id] = true
		c.messages = append(c.messages, &message{id: id, from: u, topic: "Topic " + thread, thread: id, at: time.Now()})
	}
	return id, nil
}

// add gives a message its id and puts it at the chat's end; the oldest is forgotten when there are too many.
func (s *Server) add(c *chat, m *message) {
	m.id = s.nextID(c)
	c.messages = append(c.messages, m)
	if len(c.messages) > maxMessages {
		c.messages = slices.Delete(c.messages, 0, len(c.messages)-maxMessages)
	}
}

func (s *Server) nextID(c *chat) int {
	if c.supergroup() {
		c.lastID++
		return c.lastID
	}
	s.lastID++
	return s.lastID
}

func (s *Server) remove(c *chat, m *message) {
	c.messages = slices.DeleteFunc(c.messages, func(other *message) bool { return other == m })
	s.record("delete", m.show(c, s.bot))
}

func isUsername(name string) bool {
	return len(name) >= 2 && !slices.ContainsFunc([]byte(name), func(c byte) bool { return c != '_' && !isToken(c) || c == '.' || c == '-' })
}
