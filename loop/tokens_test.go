package loop_test

import (
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

func user(text string) sessions.Message { return sessions.Message{Role: sessions.RoleUser, Text: text} }

func assistant(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleAssistant, Text: text}
}

func TestContextTokens(t *testing.T) {
	english, chinese := strings.Repeat("four", 1000), strings.Repeat("字", 1000)
	for name, c := range map[string]struct {
		s        sessions.Session
		min, max int
	}{
		"nothing":           {sessions.Session{}, 0, 0},
		"English, no usage": {sessions.Session{Messages: []sessions.Message{user(english)}}, 1000, 1010},
		"Chinese, no usage": {sessions.Session{Messages: []sessions.Message{user(chinese)}}, 1000, 1010},
		"prompt counts": {
			sessions.Session{Prompt: &sessions.PromptBuilt{System: english, Tools: []byte(english)}, Messages: []sessions.Message{user("x")}}, 2000, 2010,
		},
		"all measured": {
			sessions.Session{Messages: []sessions.Message{user(english), assistant("x")}, Measured: 777, MeasuredTo: 2}, 777, 777,
		},
		"tail at the session's own ratio": { // the provider counts half of what was guessed
			sessions.Session{Messages: []sessions.Message{user(english), assistant("x"), user(english)}, Measured: 505, MeasuredTo: 2}, 990, 1020,
		},
		"an absurd measurement is bounded": {
			sessions.Session{Messages: []sessions.Message{user("four"), assistant("x"), user(english)}, Measured: 1_000_000, MeasuredTo: 2}, 1_000_000, 1_004_100,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := loop.ContextTokens(&c.s); got < c.min || got > c.max {
				t.Errorf("%d, want %d to %d", got, c.min, c.max)
			}
		})
	}
}
