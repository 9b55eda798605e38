package telegram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// Limits of inline keyboards and of the answers to their buttons (core.telegram.org/bots/api#inlinekeyboardbutton,
// #answercallbackquery). How long a press can be answered is not published; clients stop waiting after about a minute.
const (
	maxButtonData = 64  // bytes
	maxButtons    = 100 // below one message
	maxNote       = 200 // characters
	answerWithin  = time.Minute
)

// press is a button press that the bot may still answer.
type press struct {
	shown chan string
	chat  *chat
	user  *user
	at    time.Time
}

// Press presses a button below a message of the bot.
func (s *Server) Press(userID, chatID, messageID, data string) (<-chan string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, c, err := s.place(userID, chatID)
	if err != nil {
		return nil, err
	}
	id, _ := strconv.Atoi(messageID)
	m := c.find(id)
	if m == nil || m.from != s.bot || !m.keyboard.has(data) {
		return nil, fmt.Errorf("no button %q below message %q", data, messageID)
	}
	now := time.Now()
	for id, old := range s.presses {
		if now.Sub(old.at) > answerWithin {
			delete(s.presses, id)
		}
	}
	s.lastPress++
	query := strconv.FormatInt(4_200_000_000_000_000_000+s.lastPress, 10)
	p := &press{shown: make(chan string, 1), chat: c, user: u, at: now}
	s.presses[query] = p
	shown := m.show(c, s.bot)
	shown.User, shown.Visible = u.key(), data
	s.record("press", shown)
	s.push(map[string]any{"callback_query": map[string]any{
		"id": query, "from": u.wire(), "message": m.wire(c, true), "chat_instance": c.key(), "data": data,
	}})
	return p.shown, nil
}

func (s *Server) answerCallbackQuery(_ *http.Request, p params) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := p["text"]
	if utf8.RuneCountInString(text) > maxNote {
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	id := p["callback_query_id"]
	pressed := s.presses[id]
	if pressed == nil || time.Since(pressed.at) > answerWithin {
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	delete(s.presses, id)
	pressed.shown <- text
	close(pressed.shown)
	if text != "" {
		s.record("note", sim.Message{Chat: pressed.chat.key(), User: pressed.user.key(), Wire: text, Visible: text, At: time.Now()})
	}
	return true, nil
}

func (k *wireKeyboard) has(data string) bool {
	if k == nil {
		return false
	}
	for _, row := range k.Rows {
		for _, b := range row {
			if b.Data == data && data != "" {
				return true
			}
		}
	}
	return false
}

// readKeyboard reads and checks reply_markup; none and an empty one are nil.
func readKeyboard(raw string) (*wireKeyboard, *refusal) {
	if raw == "" {
		return nil, nil
	}
	var k wireKeyboard
	if json.Unmarshal([]byte(raw), &k) != nil {
		return nil, badRequest("object expected as reply markup")
	}
	count := 0
	rows := k.Rows[:0:0]
	for _, row := range k.Rows {
		for _, b := range row {
			count++
			switch {
			case b.Text == "":
				return nil, badRequest("can't parse inline keyboard button: Field \"text\" must be non-empty")
			case b.Data == "" && b.URL == "":
				return nil, badRequest("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			case len(b.Data) > maxButtonData:
				return nil, badRequest("BUTTON_DATA_INVALID")
			case b.Style != "" && b.Style != "danger" && b.Style != "success" && b.Style != "primary":
				return nil, badRequest("can't parse inline keyboard button: invalid button style specified")
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	if count > maxButtons {
		return nil, badRequest("reply markup is too long")
	}
	if count == 0 {
		return nil, nil
	}
	return &wireKeyboard{Rows: rows}, nil
}
