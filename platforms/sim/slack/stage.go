package slack

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// AddUser adds a person, or another bot.
func (s *Server) AddUser(u sim.User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[u.ID] = u
}

// AddChat adds a conversation. Its kind is "dm", "group" (a group DM), "private" (a private channel) or "channel". Slack's clients tell a DM by its id,
// so a DM's id must begin with D, and no other may.
func (s *Server) AddChat(c sim.Chat) {
	if (c.Kind == "dm") != strings.HasPrefix(c.ID, "D") {
		panic(fmt.Sprintf("sim/slack: %q is no id for a conversation of kind %q: ids of direct messages begin with D",
			c.ID, c.Kind))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[c.ID] = newChat(c)
}

// Say writes a message as a person. "@Name" of somebody in the workspace, "@here", "@channel" and addresses become what
// Slack's own clients make of them. ReplyTo means: in the thread of that message.
func (s *Server) Say(say sim.Say) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.place(say.User, say.Chat)
	if err != nil {
		return "", err
	}
	thread := say.Thread
	if thread == "" && say.ReplyTo != "" {
		thread = c.root(say.ReplyTo)
	}
	if thread != "" && c.root(thread) != thread {
		return "", fmt.Errorf("no thread %s in %s", thread, say.Chat)
	}
	text := s.typed(say.Text)
	if say.Mention {
		text = strings.TrimSpace("<@" + s.cfg.BotUser + "> " + text)
	}
	if s.app.readOnly && c.kind() == "im" {
		return "", errors.New("sending messages to this app has been turned off")
	}
	now := time.Now()
	m := &message{ts: c.stamp(now), thread: thread, user: say.User, text: text, file: say.Upload(), at: now}
	c.add(m)
	s.happened("say", s.shown(c, m))
	s.emitMessage(c, m)
	return m.ts, nil
}

// EditAs changes a person's own message.
func (s *Server) EditAs(user, chatID, messageID, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.ownOf(user, chatID, messageID)
	if err != nil {
		return err
	}
	before := *m
	m.text = s.typed(text)
	if strings.HasPrefix(before.text, "<@"+s.cfg.BotUser+">") && !strings.HasPrefix(m.text, "<@") {
		m.text = "<@" + s.cfg.BotUser + "> " + m.text // a person edits the words behind the mention
	}
	m.edited = c.stamp(time.Now())
	s.happened("edit", s.shown(c, m))
	s.emitChanged(c, m, &before)
	return nil
}

// DeleteAs removes a person's own message.
func (s *Server) DeleteAs(user, chatID, messageID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, m, err := s.ownOf(user, chatID, messageID)
	if err != nil {
		return err
	}
	s.happened("delete", s.shown(c, m))
	s.emitRemoved(c, m)
	return nil
}

// Unfurl makes Slack add a link preview to a message: the text stays, a message_changed event goes out.
func (s *Server) Unfurl(chatID, messageID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChat(chatID)
	m := c.find(messageID)
	if m == nil {
		return fmt.Errorf("no message %s in %s", messageID, chatID)
	}
	s.emitUnfurled(c, m)
	return nil
}

// Visible returns a conversation as it looks now.
func (s *Server) Visible(chatID string) []sim.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChat(chatID)
	shown := make([]sim.Message, 0, len(c.messages))
	for _, m := range c.messages {
		shown = append(shown, s.shown(c, m))
	}
	return shown
}

// Typing tells whether the assistant status shows in a thread.
func (s *Server) Typing(chatID, thread string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.mustChat(chatID).statuses[thread]
	return ok && time.Now().Before(st.until)
}

// Log returns what visibly happened, the newest 50,000 events at least.
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

// place checks that a person may write in a conversation. The lock is held.
func (s *Server) place(user, chatID string) (*chat, error) {
	c := s.chats[chatID]
	if c == nil {
		return nil, fmt.Errorf("no conversation %s", chatID)
	}
	if _, ok := s.users[user]; !ok {
		return nil, fmt.Errorf("no user %s", user)
	}
	if !c.has(user) {
		return nil, fmt.Errorf("%s is not in %s", user, chatID)
	}
	if c.archived {
		return nil, errors.New("the conversation is archived")
	}
	return c, nil
}

func (s *Server) ownOf(user, chatID, messageID string) (*chat, *message, error) {
	c, err := s.place(user, chatID)
	if err != nil {
		return nil, nil, err
	}
	m := c.find(messageID)
	if m == nil || m.user != user {
		return nil, nil, fmt.Errorf("%s has no message %s in %s", user, messageID, chatID)
	}
	return c, m, nil
}

var (
	escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	atWord  = regexp.MustCompile(`@[\pL\pN_-]+`)
	webAddr = regexp.MustCompile(`https?://[^\s]+`)
)

// typed turns what a person types into what Slack's clients send. The lock is held.
func (s *Server) typed(text string) string {
	text = escaper.Replace(text)
	text = webAddr.ReplaceAllString(text, "<$0>")
	return atWord.ReplaceAllStringFunc(text, func(word string) string {
		switch word {
		case "@here", "@channel", "@everyone":
			return "<!" + word[1:] + ">"
		}
		for id, u := range s.users {
			if word == "@"+u.Name || word == "@"+id {
				return "<@" + id + ">"
			}
		}
		return word
	})
}
