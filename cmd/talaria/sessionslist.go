package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/talaria-agent/talaria/sessions"
)

// listRequest asks for one conversation, or for all.
type listRequest struct {
	Key sessions.Key `json:"key,omitempty"`
}

// conversationSummary is what there is to tell about a conversation. One is a line of the answer.
type conversationSummary struct {
	Key      sessions.Key     `json:"key"`
	Sessions []sessionSummary `json:"sessions"` // the oldest first
}

// sessionSummary is one session: what lies between two resets.
type sessionSummary struct {
	Last     time.Time     `json:"last"` // activity
	Title    string        `json:"title,omitempty"`
	About    string        `json:"about,omitempty"` // how its first message begins
	Messages int           `json:"messages"`
	Turns    []turnSummary `json:"turns,omitempty"`
}

type turnSummary struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	About   string    `json:"about,omitempty"`  // how its first message begins
	Reason  string    `json:"reason,omitempty"` // loop.EndReason; empty = it has not ended
	Rounds  int       `json:"rounds"`
	Tokens  int       `json:"tokens"`
}

// listSessions is the operation.
func (i instance) listSessions(ctx context.Context, in listRequest, out io.Writer) error {
	found := false
	for key, err := range i.store.Keys(ctx) {
		if err != nil {
			return err
		}
		if in.Key != "" && key != in.Key {
			continue
		}
		found = true
		c, err := i.summary(ctx, key)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(c); err != nil {
			return err
		}
	}
	if in.Key != "" && !found {
		return noConversation(in.Key)
	}
	return nil
}

func noConversation(key sessions.Key) error {
	return fmt.Errorf("there is no conversation %q; talaria sessions list shows all", key)
}

// summary reads the whole log of a conversation.
func (i instance) summary(ctx context.Context, key sessions.Key) (conversationSummary, error) {
	c := conversationSummary{Key: key, Sessions: []sessionSummary{{}}}
	redact := newRedactor(i.config().secrets()...).text
	for r, err := range i.store.History(ctx, key, 0) {
		if err != nil {
			return c, err
		}
		for _, e := range r.Entries {
			if _, ok := e.(sessions.Reset); ok && len(c.current().Turns) > 0 {
				c.Sessions = append(c.Sessions, sessionSummary{})
			}
			c.current().add(e, redact)
		}
		c.current().Last = r.At
	}
	return c, nil
}

func (c *conversationSummary) current() *sessionSummary { return &c.Sessions[len(c.Sessions)-1] }

func (s *sessionSummary) add(e sessions.Entry, redact func(string) string) {
	turn := &turnSummary{}
	if n := len(s.Turns); n > 0 {
		turn = &s.Turns[n-1]
	}
	switch e := e.(type) {
	case sessions.TurnStarted:
		s.Turns = append(s.Turns, turnSummary{ID: e.Turn, Started: e.At})
	case sessions.UserMessage:
		s.Messages++
		if turn.About == "" {
			turn.About = beginning(redact(e.Message.Text))
		}
		if s.About == "" {
			s.About = turn.About
		}
	case sessions.AssistantMessage:
		s.Messages++
		turn.Rounds++
		turn.Tokens += e.Usage.Input + e.Usage.Output
	case sessions.ToolResult:
		s.Messages++
	case sessions.Titled:
		s.Title = beginning(redact(e.Title))
	case sessions.TurnEnded:
		turn.Reason, turn.Rounds, turn.Tokens = e.Reason, e.Rounds, e.Usage.Input+e.Usage.Output
	}
}

// beginning returns the first words of a text, on one line, with nothing in it that a terminal would obey.
func beginning(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return r
		}
		return -1
	}, text)
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > 40 {
		return string(line[:39]) + "…"
	}
	return string(line)
}

func (c conversationSummary) turns() (n int) {
	for _, s := range c.Sessions {
		n += len(s.Turns)
	}
	return n
}

func (c conversationSummary) messages() (n int) {
	for _, s := range c.Sessions {
		n += s.Messages
	}
	return n
}

func (c conversationSummary) tokens() (n int) {
	for _, s := range c.Sessions {
		for _, t := range s.Turns {
			n += t.Tokens
		}
	}
	return n
}
