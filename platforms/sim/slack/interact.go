package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

const (
	responsesAllowed = 5 // of one response_url
	responsesFor     = 30 * time.Minute
	noteWithin       = time.Second // a note that comes later than this after a bare acknowledgement is not waited for
)

// answer is what a person waits for after pressing a button or using the command.
type answer struct {
	user, chat, thread string
	used               int
	expires            time.Time

	mu    sync.Mutex
	yield chan string // capacity 1
	done  bool
	timer *time.Timer
}

// say shows a note, once; later ones are only in the log.
func (a *answer) say(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	a.done = true
	a.yield <- text
	close(a.yield)
	if a.timer != nil {
		a.timer.Stop()
	}
}

// silence shows nothing unless a note follows soon.
func (a *answer) silence() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done && a.timer == nil {
		a.timer = time.AfterFunc(noteWithin, func() { a.say("") })
	}
}

// close gives up waiting.
func (a *answer) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
	}
	if !a.done {
		a.done = true
		close(a.yield)
	}
}

// await makes an answer and the id of its response_url. The lock is held.
func (s *Server) await(c *chat, user, thread string) (*answer, string) {
	now := time.Now()
	for id, a := range s.answers {
		if now.After(a.expires) {
			a.close()
			delete(s.answers, id)
		}
	}
	a := &answer{
		user: user, chat: c.ID, thread: thread,
		expires: now.Add(responsesFor), yield: make(chan string, 1),
	}
	id := s.nextID("R")
	s.answers[id] = a
	return a, id
}

// Press presses a button. Slack itself shows nothing when the press is acknowledged; the channel yields the note that
// the bot shows to that person within a second of the acknowledgement, or an empty string.
func (s *Server) Press(user, chatID, messageID, data string) (<-chan string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.place(user, chatID)
	if err != nil {
		return nil, err
	}
	m := c.find(messageID)
	if m == nil {
		return nil, fmt.Errorf("no message %s in %s", messageID, chatID)
	}
	blockID, button, ok := findButton(m.blocks, data)
	if !ok {
		return nil, fmt.Errorf("message %s in %s has no button %q", messageID, chatID, data)
	}
	s.happened("press", sim.Message{ID: m.ts, Chat: c.ID, Thread: m.thread, User: user, Wire: data, At: time.Now()})
	if c.kicked {
		return nil, fmt.Errorf("the bot is not in %s", chatID)
	}
	if s.app.noPress {
		return nil, errors.New("this app is not configured to handle interactive responses")
	}
	a, id := s.await(c, user, m.thread)
	container := object{"type": "message", "message_ts": m.ts, "channel_id": c.ID, "is_ephemeral": false}
	if m.thread != "" {
		container["thread_ts"] = m.thread
	}
	s.hub.deliver(&envelope{
		kind: "interactive",
		payload: object{
			"type": "block_actions", "api_app_id": appID, "token": "verification-simulated",
			"user":    object{"id": user, "username": s.nameOf(user), "name": s.nameOf(user), "team_id": s.cfg.Team},
			"team":    object{"id": s.cfg.Team, "domain": "olympus"},
			"channel": object{"id": c.ID, "name": channelName(c)}, "container": container, "message": s.wire(c, m),
			"trigger_id": s.nextID("trigger."), "response_url": s.hub.base() + "/respond/" + id,
			"enterprise": nil,
			"actions": []object{{
				"type": "button", "action_id": button.ActionID, "block_id": blockID, "value": button.Value,
				"text": button.Text, "action_ts": c.stamp(time.Now()),
			}},
		},
		answer: func(json.RawMessage) { a.silence() },
		failed: a.close,
	})
	return a.yield, nil
}

// Invoke uses the app's slash command with "name argument" behind it. Slack has no slash commands in threads.
func (s *Server) Invoke(user, chatID, thread, name, argument string) (<-chan string, error) {
	if thread != "" {
		return nil, fmt.Errorf("%s is not supported in threads", command)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.place(user, chatID)
	if err != nil {
		return nil, err
	}
	if s.app.command == "" {
		return nil, fmt.Errorf("%s is not a valid command", command)
	}
	a, id := s.await(c, user, "")
	s.hub.deliver(&envelope{
		kind: "slash_commands",
		payload: object{
			"token": "verification-simulated", "team_id": s.cfg.Team, "team_domain": "olympus", "api_app_id": appID,
			"channel_id": c.ID, "channel_name": channelName(c), "user_id": user, "user_name": s.nameOf(user),
			"command": command, "text": strings.TrimSpace(name + " " + argument),
			"response_url": s.hub.base() + "/respond/" + id, "trigger_id": s.nextID("trigger."),
			"is_enterprise_install": "false",
		},
		answer: func(payload json.RawMessage) { s.commandAnswered(c, a, payload) },
		failed: a.close,
	})
	return a.yield, nil
}

func channelName(c *chat) string {
	switch c.kind() {
	case "im":
		return "directmessage"
	case "mpim":
		return "mpdm-" + c.Title
	case "group":
		return "privategroup"
	default:
		return c.Title
	}
}

// commandAnswered shows the text that came with the acknowledgement of a slash command.
func (s *Server) commandAnswered(c *chat, a *answer, payload json.RawMessage) {
	var p struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(payload, &p)
	if p.Text == "" {
		a.silence()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted(c, a.user, "", content{text: p.Text})
	a.say(s.drawn(content{text: p.Text}))
}

// serveResponse takes what is posted to a response_url.
func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	var p struct {
		Text            string          `json:"text"`
		Blocks          json.RawMessage `json:"blocks"`
		ThreadTS        string          `json:"thread_ts"`
		ResponseType    string          `json:"response_type"`
		ReplaceOriginal bool            `json:"replace_original"`
		DeleteOriginal  bool            `json:"delete_original"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&p)
	fault, faulty := s.faults.Take("response_url", "")
	if faulty {
		answerFault(w, fault)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.answers[r.PathValue("id")]
	switch {
	case err != nil || p.Text == "":
		writeJSON(w, http.StatusBadRequest, object{"ok": false, "error": "no_text"})
	case a == nil || time.Now().After(a.expires):
		writeJSON(w, http.StatusNotFound, object{"ok": false, "error": "expired_url"})
	case a.used >= responsesAllowed:
		writeJSON(w, http.StatusNotFound, object{"ok": false, "error": "used_url"})
	case p.ReplaceOriginal || p.DeleteOriginal || p.ResponseType == "in_channel":
		writeJSON(w, http.StatusBadRequest, object{"ok": false, "error": "unsupported_response_type"})
	default:
		a.used++
		k := content{text: p.Text}
		s.noted(s.chats[a.chat], a.user, p.ThreadTS, k)
		a.say(s.drawn(k))
		_, _ = w.Write([]byte("ok"))
	}
}

// note shows an ephemeral message and gives it to a press that waits for one. The lock is held.
func (s *Server) note(c *chat, user, thread string, k content) {
	s.noted(c, user, thread, k)
	for _, a := range s.answers {
		if a.user == user && a.chat == c.ID {
			a.say(s.drawn(k))
		}
	}
}

// noted records an ephemeral message. The lock is held.
func (s *Server) noted(c *chat, user, thread string, k content) {
	s.happened("note", sim.Message{
		Chat: c.ID, Thread: thread, User: user, Wire: k.text, Visible: s.drawn(k), At: time.Now(),
	})
}

// drawn is the visible text of a content. The lock is held.
func (s *Server) drawn(k content) string {
	d := s.drawing()
	d.text(k.text, !k.plain)
	return d.visible.String()
}
