package labpage_test

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// stage is a sim.Stage without a platform behind it: it keeps what people and the bot do, and reports each of the
// people's deeds on did.
type stage struct {
	faults sim.Faults
	did    chan string
	note   string // what a press or command is answered with; "" = no answer before the test ends

	mu       sync.Mutex
	messages []sim.Message
	typing   map[[2]string]bool
	last     int
	changed  chan struct{}
}

func newStage() *stage {
	return &stage{did: make(chan string, 100), typing: map[[2]string]bool{}, changed: make(chan struct{})}
}

func (s *stage) Handler() http.Handler     { return http.NotFoundHandler() }
func (s *stage) Close()                    {}
func (s *stage) AddUser(sim.User)          {}
func (s *stage) AddChat(sim.Chat)          {}
func (s *stage) Log() []sim.Event          { return nil }
func (s *stage) Faults() *sim.Faults       { return &s.faults }
func (s *stage) report(f string, a ...any) { s.did <- fmt.Sprintf(f, a...) }

// wake tells everyone who waits. The lock is held.
func (s *stage) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// add stores a message and returns its id.
func (s *stage) add(m sim.Message) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	m.ID = strconv.Itoa(s.last)
	if m.At.IsZero() {
		m.At = time.Now()
	}
	if m.HTML == "" {
		m.HTML = html.EscapeString(m.Visible)
	}
	if m.Wire == "" {
		m.Wire = m.Visible
	}
	s.messages = append(s.messages, m)
	s.wake()
	return m.ID
}

// change applies f to a message.
func (s *stage) change(id string, f func(*sim.Message)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.messages {
		if s.messages[i].ID == id {
			f(&s.messages[i])
			s.wake()
			return nil
		}
	}
	return fmt.Errorf("there is no message %q", id)
}

func (s *stage) setTyping(chat, thread string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typing[[2]string{chat, thread}] = on
	s.wake()
}

func (s *stage) Say(m sim.Say) (string, error) {
	if m.Text == "refuse me" {
		return "", fmt.Errorf("the text is too long for this platform")
	}
	text := m.Text
	if m.Mention {
		text = "@Talaria " + text
	}
	id := s.add(sim.Message{Chat: m.Chat, Thread: m.Thread, User: m.User, Visible: text, ReplyTo: m.ReplyTo, File: m.File})
	s.report("say %s %s/%s %q mention=%t reply=%s file=%s", m.User, m.Chat, m.Thread, m.Text, m.Mention, m.ReplyTo, m.File)
	return id, nil
}

func (s *stage) EditAs(user, chat, id, text string) error {
	s.report("edit %s %s %s %q", user, chat, id, text)
	return s.change(id, func(m *sim.Message) { m.Visible, m.HTML, m.Edited = text, html.EscapeString(text), true })
}

func (s *stage) DeleteAs(user, chat, id string) error {
	s.mu.Lock()
	s.messages = slices.DeleteFunc(s.messages, func(m sim.Message) bool { return m.ID == id })
	s.wake()
	s.mu.Unlock()
	s.report("delete %s %s %s", user, chat, id)
	return nil
}

func (s *stage) Press(user, chat, id, data string) (<-chan string, error) {
	s.report("press %s %s %s %s", user, chat, id, data)
	return s.reply(), nil
}

func (s *stage) Invoke(user, chat, thread, name, argument string) (<-chan string, error) {
	s.report("invoke %s %s/%s %s %q", user, chat, thread, name, argument)
	return s.reply(), nil
}

func (s *stage) reply() <-chan string {
	notes := make(chan string, 1)
	if s.note != "" {
		notes <- s.note
		close(notes)
	}
	return notes
}

func (s *stage) Visible(chat string) []sim.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []sim.Message
	for _, m := range s.messages {
		if m.Chat == chat {
			found = append(found, m)
		}
	}
	return found
}

func (s *stage) Typing(chat, thread string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.typing[[2]string{chat, thread}]
}

func (s *stage) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}
