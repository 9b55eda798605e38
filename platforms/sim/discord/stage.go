package discord

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// AddUser makes a person known.
func (s *Server) AddUser(u sim.User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID] = u
}

// AddChat makes a DM ("dm"), a text channel ("channel", "group") or a forum ("forum", where every post is a thread).
func (s *Server) AddChat(c sim.Chat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &place{id: c.ID, name: c.Title, members: slices.Clone(c.Members), kind: typeText}
	switch c.Kind {
	case "dm":
		p.kind = typeDM
	case "forum":
		p.kind = typeForum
	}
	s.places[c.ID] = p
	event := "CHANNEL_CREATE"
	if p.kind != typeDM {
		s.dispatch(event, s.channel(p), intentGuilds)
	}
}

// Say writes a message as a person. A Thread that does not exist yet is started with that id; in a forum a message
// without Thread starts a post.
func (s *Server) Say(say sim.Say) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.whereToSay(say)
	if err != nil {
		return "", err
	}
	content := say.Text
	if say.Mention {
		content = "<@" + s.opts.BotUser + "> " + content
	}
	content = strings.TrimSpace(content)
	if content == "" && say.File == "" {
		return "", fmt.Errorf("an empty message cannot be sent")
	}
	if n := len([]rune(content)); n > maxContent {
		return "", fmt.Errorf("message has %d characters, at most %d fit", n, maxContent)
	}
	if say.ReplyTo != "" && p.find(say.ReplyTo) == nil {
		return "", fmt.Errorf("no message %q to reply to", say.ReplyTo)
	}
	m := &message{id: s.ids.next(), author: say.User, content: content, at: time.Now(), place: p, replyTo: say.ReplyTo, file: say.Upload()}
	s.notify(m, mentionRule{everything: true, repliedUser: true})
	s.publish(m)
	return m.id, nil
}

// whereToSay finds the place of a message that a person writes, and starts the thread if it is new.
func (s *Server) whereToSay(say sim.Say) (*place, error) {
	if _, ok := s.users[say.User]; !ok {
		return nil, fmt.Errorf("no user %q", say.User)
	}
	chat := s.places[say.Chat]
	if chat == nil {
		return nil, fmt.Errorf("no chat %q", say.Chat)
	}
	thread := say.Thread
	if thread == "" && chat.kind == typeForum {
		thread = s.ids.next()
	}
	if thread == "" {
		return chat, nil
	}
	if chat.kind == typeDM {
		return nil, fmt.Errorf("a direct message has no threads")
	}
	p := s.places[thread]
	if p == nil {
		p = s.startThread(chat, thread, "thread "+thread)
	}
	if p.parent != chat {
		return nil, fmt.Errorf("thread %q is not in chat %q", thread, say.Chat)
	}
	return p, nil
}

func (s *Server) startThread(parent *place, id, name string) *place {
	p := &place{id: id, name: name, kind: typePublicThread, parent: parent, members: parent.members}
	s.places[id] = p
	o := s.channel(p)
	o["newly_created"] = true
	s.dispatch("THREAD_CREATE", o, intentGuilds)
	return p
}

// publish stores a new message and tells everybody. The caller holds the lock.
func (s *Server) publish(m *message) {
	m.place.add(m)
	kind := "say"
	if m.author == sim.Bot {
		kind = "send"
	}
	s.record(kind, s.look(m))
	s.dispatchMessage("MESSAGE_CREATE", m)
}

// EditAs changes a person's own message.
func (s *Server) EditAs(user, chat, messageID, content string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.ownMessage(user, chat, messageID)
	if err != nil {
		return err
	}
	if mention := "<@" + s.opts.BotUser + "> "; strings.HasPrefix(m.content, mention) && !strings.HasPrefix(content, "<@") {
		content = mention + content // a person changes the words behind the mention
	}
	m.content, m.edited = strings.TrimSpace(content), time.Now()
	m.mentions, m.roles = nil, nil
	s.notify(m, mentionRule{everything: true, repliedUser: true})
	s.record("edit", s.look(m))
	s.dispatchMessage("MESSAGE_UPDATE", m)
	return nil
}

// Unfurl makes the service change a message by itself, as it does when it resolves a link's preview: an update without
// a new edit time.
func (s *Server) Unfurl(chat, messageID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.message(chat, messageID)
	if m == nil {
		return fmt.Errorf("no message %q", messageID)
	}
	m.embeds = []any{object{"type": "link", "url": "https://example.com", "title": "Example"}}
	s.dispatchMessage("MESSAGE_UPDATE", m)
	return nil
}

// DeleteAs removes a person's own message.
func (s *Server) DeleteAs(user, chat, messageID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.ownMessage(user, chat, messageID)
	if err != nil {
		return err
	}
	s.remove(m)
	return nil
}

// remove takes a message away and tells everybody. The caller holds the lock.
func (s *Server) remove(m *message) {
	p := m.place
	p.messages = slices.DeleteFunc(p.messages, func(o *message) bool { return o == m })
	s.record("delete", s.look(m))
	o := object{"id": m.id, "channel_id": p.id}
	if g := p.guild(); g != "" {
		o["guild_id"] = g
	}
	s.dispatch("MESSAGE_DELETE", o, messageIntent(p))
}

func (s *Server) ownMessage(user, chat, id string) (*message, error) {
	m := s.message(chat, id)
	if m == nil {
		return nil, fmt.Errorf("no message %q in chat %q", id, chat)
	}
	if m.author != user {
		return nil, fmt.Errorf("message %q is not of user %q", id, user)
	}
	return m, nil
}

// message finds a message in a chat or one of its threads. The caller holds the lock.
func (s *Server) message(chat, id string) *message {
	for _, p := range s.places {
		if p.id == chat || p.chat() == chat {
			if m := p.find(id); m != nil {
				return m
			}
		}
	}
	return nil
}

// Visible returns a chat as it looks now, threads included.
func (s *Server) Visible(chat string) []sim.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*message
	for _, p := range s.places {
		if p.chat() == chat {
			all = append(all, p.messages...)
		}
	}
	slices.SortFunc(all, func(a, b *message) int { return compareIDs(a.id, b.id) })
	out := make([]sim.Message, 0, len(all))
	for _, m := range all {
		out = append(out, s.look(m))
	}
	return out
}

// compareIDs orders snowflakes, which may differ in length.
func compareIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// Typing tells whether the bot's typing shows now.
func (s *Server) Typing(chat, thread string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := chat
	if thread != "" {
		id = thread
	}
	p := s.places[id]
	return p != nil && p.typing.After(time.Now())
}

// Log returns everything that was visibly done, oldest first.
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

// Refuse takes the bot's permission to post in a chat away: in a DM the person has blocked it, in a channel it was
// removed.
func (s *Server) Refuse(chat string, refuse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.places[chat]; p != nil {
		p.shut = refuse
	}
}

// Archive archives a thread, and locks it if lock is set: posting in it then fails instead of reviving it.
func (s *Server) Archive(thread string, lock bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.places[thread]; p != nil && p.parent != nil {
		p.archived, p.locked = true, lock
		s.dispatch("THREAD_UPDATE", s.channel(p), intentGuilds)
	}
}

// Pinged returns whom a message notified: user ids, "@everyone".
func (s *Server) Pinged(chat, messageID string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.message(chat, messageID)
	if m == nil {
		return nil
	}
	out := slices.Concat(m.mentions, m.roles)
	if m.everyone {
		out = append(out, "@everyone")
	}
	return out
}

// Publish delivers a message made of the given fields over the usual ones, for what people do beyond Say: forwards,
// stickers, webhooks, system messages.
func (s *Server) Publish(user, chat string, fields map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &message{id: s.ids.next(), author: user, at: time.Now(), place: s.places[chat], extra: fields}
	m.content = text(fields, "content")
	s.publish(m)
	return m.id
}
