package discord

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// interactionDeadline is how long the first response to an interaction may take.
const interactionDeadline = 3 * time.Second

const flagEphemeral = 1 << 6

// interaction is a press or a command that waits for its first response.
type interaction struct {
	id, token string
	user      string
	place     *place
	answered  bool
	shown     chan string // what the person sees; closed at the end
	deadline  *time.Timer
}

func (i *interaction) end() {
	i.deadline.Stop()
	if !i.answered {
		close(i.shown)
	}
}

// Press presses a button of a message of the bot.
func (s *Server) Press(user, chat, messageID, data string) (<-chan string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.message(chat, messageID)
	if m == nil {
		return nil, fmt.Errorf("no message %q in chat %q", messageID, chat)
	}
	has := slices.ContainsFunc(s.look(m).Buttons, func(row []sim.Button) bool {
		return slices.ContainsFunc(row, func(b sim.Button) bool { return b.Data == data })
	})
	if !has {
		return nil, fmt.Errorf("message %q has no button %q", messageID, data)
	}
	s.record("press", sim.Message{ID: messageID, Chat: chat, Thread: m.place.thread(), User: user, Wire: data, At: time.Now()})
	return s.interact(user, m.place, 3, object{"custom_id": data, "component_type": 2}, s.wire(m))
}

// Invoke uses an application command that the bot has registered.
func (s *Server) Invoke(user, chat, thread, name, argument string) (<-chan string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := chat
	if thread != "" {
		id = thread
	}
	p := s.places[id]
	if p == nil {
		return nil, fmt.Errorf("no chat %q", id)
	}
	at := slices.IndexFunc(s.commands, func(c object) bool { return text(c, "name") == name })
	if at < 0 {
		return nil, fmt.Errorf("no command /%s is registered", name)
	}
	data := object{"id": s.commands[at]["id"], "name": name, "type": 1}
	if argument != "" {
		options := list(s.commands[at], "options")
		if len(options) == 0 {
			return nil, fmt.Errorf("command /%s takes no argument", name)
		}
		data["options"] = []object{{"name": text(options[0], "name"), "type": 3, "value": argument}}
	}
	return s.interact(user, p, 2, data, nil)
}

// interact tells the bot and starts the clock. The caller holds the lock.
func (s *Server) interact(user string, p *place, kind int, data, message object) (<-chan string, error) {
	if _, ok := s.users[user]; !ok {
		return nil, fmt.Errorf("no user %q", user)
	}
	if s.closed {
		return nil, fmt.Errorf("the simulator is closed")
	}
	i := &interaction{id: s.ids.next(), user: user, place: p, shown: make(chan string, 1)}
	i.token = "aW50ZXJhY3Rpb24" + i.id
	s.interactions[i.id] = i
	i.deadline = time.AfterFunc(interactionDeadline, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.interactions[i.id] == i {
			delete(s.interactions, i.id)
			if !i.answered {
				s.unanswered++
			}
			i.end()
		}
	})
	o := object{
		"id": i.id, "application_id": s.opts.Application, "type": kind, "token": i.token, "version": 1, "locale": "en-GB",
		"data": data, "channel_id": p.id, "channel": s.channel(p), "app_permissions": "0",
	}
	if message != nil {
		o["message"] = message
	}
	if g := p.guild(); g != "" {
		o["guild_id"] = g
		o["member"] = object{"user": s.person(user), "roles": []string{}}
	} else {
		o["user"] = s.person(user)
	}
	s.dispatch("INTERACTION_CREATE", o, 0)
	return i.shown, nil
}

// respond handles POST /interactions/{id}/{token}/callback.
func (s *Server) respond(c *call) (int, any, error) {
	i := s.interactions[c.PathValue("interaction")]
	if i == nil || i.token != c.PathValue("token") {
		return 0, nil, unknown("interaction_id", c.PathValue("interaction"), errUnknownInteraction)
	}
	if i.answered {
		return 0, nil, errAcknowledged
	}
	form := c.form()
	data, _ := form["data"].(object)
	var shows string
	switch form["type"] {
	case float64(5), float64(6):
	case float64(4):
		if bad := checkMessage(data); bad != nil {
			return 0, nil, bad
		}
		if shows = strings.TrimSpace(text(data, "content")); shows == "" {
			return 0, nil, errEmptyMessage
		}
		if utf8.RuneCountInString(shows) > maxContent {
			return 0, nil, invalidForm(tooLong("data.content", maxContent))
		}
	default:
		return 0, nil, invalidForm(badChoice("type", "Value must be one of {4, 5, 6, 7, 8, 9, 10, 12}."))
	}
	// An answered interaction stays until its deadline, so that a second answer is refused as what it is.
	i.answered = true
	i.shown <- shows
	if shows != "" {
		s.showResponse(i, shows, data)
	}
	close(i.shown)
	return http.StatusNoContent, nil, nil
}

// showResponse records what a response shows: a note to one person, or a message to all.
func (s *Server) showResponse(i *interaction, shows string, data object) {
	flags, _ := data["flags"].(float64)
	if int(flags)&flagEphemeral == 0 {
		m := &message{id: s.ids.next(), author: sim.Bot, at: time.Now(), place: i.place, content: shows}
		s.publish(m)
		return
	}
	visible, html := resolve(shows, s.display)
	s.record("note", sim.Message{
		Chat: i.place.chat(), Thread: i.place.thread(), User: i.user, Wire: shows, Visible: visible, HTML: html, At: time.Now(),
	})
}
