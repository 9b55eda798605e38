package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// chat is a conversation with its messages, oldest first.
type chat struct {
	sim.Chat
	archived bool
	kicked   bool // the bot is no member
	messages []*message
	byTS     map[string]*message
	answered map[string]int    // replies in a thread, by its root; roots may be gone
	latest   int64             // microseconds of the newest ts
	statuses map[string]status // assistant statuses by thread
}

// mostMessages bounds the memory of one conversation.
const mostMessages = 20_000

type message struct {
	ts       string
	thread   string // ts of the thread's root; empty at the top level, also for a root
	user     string // sim.Bot for the bot under test
	text     string // as on the wire
	plain    bool   // mrkdwn=false
	blocks   []block
	metadata json.RawMessage
	edited   string // ts of the last edit
	file     *sim.Upload
	reacted  []string
	at       time.Time
}

// status is what assistant.threads.setStatus shows; Slack removes it after two minutes or with the next reply.
type status struct {
	text  string
	until time.Time
}

const statusFor = 2 * time.Minute

// stamp returns a timestamp with microseconds that is unique and increasing in the conversation.
func (c *chat) stamp(now time.Time) string {
	c.latest = max(c.latest+1, now.UnixMicro())
	return fmt.Sprintf("%d.%06d", c.latest/1e6, c.latest%1e6)
}

func newChat(c sim.Chat) *chat {
	return &chat{Chat: c, byTS: map[string]*message{}, answered: map[string]int{}, statuses: map[string]status{}}
}

func (c *chat) find(ts string) *message { return c.byTS[ts] }

func (c *chat) add(m *message) {
	if len(c.messages) >= mostMessages {
		for _, old := range slices.Clone(c.messages[:mostMessages/2]) {
			c.remove(old.ts)
		}
	}
	c.messages = append(c.messages, m)
	c.byTS[m.ts] = m
	if m.thread != "" {
		c.answered[m.thread]++
	}
}

func (c *chat) remove(ts string) {
	m := c.byTS[ts]
	i, _ := slices.BinarySearchFunc(c.messages, m, func(a, b *message) int {
		return cmp.Compare(micros(a.ts), micros(b.ts))
	})
	c.messages = slices.Delete(c.messages, i, i+1)
	delete(c.byTS, ts)
	if m.thread != "" {
		if c.answered[m.thread]--; c.answered[m.thread] == 0 {
			delete(c.answered, m.thread)
		}
	}
}

// root returns the ts of the thread that a reply to the message with this ts goes to, empty if there is none.
func (c *chat) root(ts string) string {
	m := c.find(ts)
	switch {
	case m == nil:
		return ""
	case m.thread != "":
		return m.thread
	default:
		return m.ts
	}
}

func (c *chat) replies(root string) int { return c.answered[root] }

func (c *chat) has(user string) bool {
	return len(c.Members) == 0 || slices.Contains(c.Members, user)
}

// kind is Slack's channel_type.
func (c *chat) kind() string {
	switch c.Kind {
	case "dm":
		return "im"
	case "group":
		return "mpim"
	case "private": // a private channel
		return "group"
	default:
		return "channel"
	}
}

// shown is a message as people see it. The lock is held.
func (s *Server) shown(c *chat, m *message) sim.Message {
	d := s.drawing()
	if len(m.blocks) > 0 {
		d.blocks(m.blocks)
	} else {
		d.text(m.text, !m.plain)
	}
	return sim.Message{
		ID: m.ts, Chat: c.ID, Thread: m.thread, User: m.user, Wire: m.text,
		Visible: d.visible.String(), HTML: d.html.String(),
		Edited: m.edited != "", Buttons: buttonsOf(m.blocks), Reactions: slices.Clone(m.reacted),
		File: m.file.Title(), At: m.at,
	}
}
