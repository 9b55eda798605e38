package labpage

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// chatDiff is what changed in one chat since the last chatDiff of the same stream.
type chatDiff struct {
	Platform platforms.Name    `json:"platform"`
	Chat     string            `json:"chat"`
	Typing   []string          `json:"typing"`  // threads in which the bot types; "" is the chat itself
	Order    []string          `json:"order"`   // ids of all messages, oldest first; one that is missing was deleted
	Changed  []json.RawMessage `json:"changed"` // messageView of each new or changed message
	news     bool
}

// messageView is a message as the page reads it.
type messageView struct {
	ID        string         `json:"id"`
	Thread    string         `json:"thread"`
	User      string         `json:"user"`
	HTML      string         `json:"html"`
	Text      string         `json:"text"`
	Wire      string         `json:"wire"`
	ReplyTo   string         `json:"replyTo"`
	Silent    bool           `json:"silent"`
	Edited    bool           `json:"edited"`
	Buttons   [][]buttonView `json:"buttons"`
	Reactions []string       `json:"reactions"`
	File      string         `json:"file"`
	At        time.Time      `json:"at"`
}

type buttonView struct {
	Label string `json:"label"`
	Data  string `json:"data"`
}

// snapshot remembers what one stream has sent. It belongs to that stream's goroutine.
type snapshot map[place]*sentChat

type place struct {
	platform platforms.Name
	chat     string
}

type sentChat struct {
	typing, order []string
	messages      map[string]string // messageView by id, encoded
}

// advance compares a chat with what was sent and remembers it as sent.
func (s snapshot) advance(p Pane, c Chat) chatDiff {
	at := place{p.Platform, c.ID}
	last := s[at]
	visible := p.Stage.Visible(c.ID)
	diff := chatDiff{
		Platform: p.Platform, Chat: c.ID, Typing: typingIn(p.Stage, c, visible), Order: []string{},
		Changed: []json.RawMessage{},
	}
	now := &sentChat{messages: make(map[string]string, len(visible))}
	for _, m := range visible {
		data, err := json.Marshal(viewMessage(m))
		if err != nil {
			continue // cannot happen but for a year beyond 9999
		}
		diff.Order = append(diff.Order, m.ID)
		now.messages[m.ID] = string(data)
		if last == nil || last.messages[m.ID] != string(data) {
			diff.Changed = append(diff.Changed, data)
		}
	}
	now.typing, now.order = diff.Typing, diff.Order
	diff.news = last == nil || len(diff.Changed) > 0 ||
		!slices.Equal(last.typing, now.typing) || !slices.Equal(last.order, now.order)
	s[at] = now
	return diff
}

// typingIn lists where in a chat the bot types: in the chat itself, in a thread, or below a message that has no answer
// yet and so only may become a thread.
func typingIn(stage sim.Stage, c Chat, visible []sim.Message) []string {
	const openers = 30 // the latest messages are enough: an indicator lasts two minutes at most
	threads := []string{""}
	for _, t := range c.Threads {
		threads = append(threads, t.ID)
	}
	for i, m := range visible {
		if m.Thread != "" {
			threads = append(threads, m.Thread)
		} else if i >= len(visible)-openers {
			threads = append(threads, m.ID)
		}
	}
	slices.Sort(threads)
	threads = slices.Compact(threads)
	return slices.DeleteFunc(threads, func(t string) bool { return !stage.Typing(c.ID, t) })
}

func viewMessage(m sim.Message) messageView {
	v := messageView{
		ID: m.ID, Thread: m.Thread, User: m.User, HTML: m.HTML, Text: m.Visible, Wire: m.Wire, ReplyTo: m.ReplyTo,
		Silent: m.Silent, Edited: m.Edited, Buttons: [][]buttonView{}, Reactions: append([]string{}, m.Reactions...),
		File: m.File, At: m.At,
	}
	for _, row := range m.Buttons {
		views := []buttonView{}
		for _, b := range row {
			views = append(views, buttonView(b))
		}
		v.Buttons = append(v.Buttons, views)
	}
	return v
}
