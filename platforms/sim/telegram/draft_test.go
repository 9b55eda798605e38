package telegram

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// drafts returns what the drafts of a chat say now.
func drafts(s *Server, chat string) (texts []string) {
	for _, m := range s.Visible(chat) {
		if m.Draft {
			texts = append(texts, m.Visible)
		}
	}
	return texts
}

func TestDrafts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		show := func(id, text string) {
			t.Helper()
			if a := ask(t, s, "sendMessageDraft", "chat_id", "100", "draft_id", id, "text", text, "parse_mode", "HTML"); !a.OK {
				t.Fatalf("draft %q: %s", text, a.Description)
			}
			time.Sleep(time.Second)
		}
		want := func(when string, texts ...string) {
			t.Helper()
			if got := strings.Join(drafts(s, "100"), "|"); got != strings.Join(texts, "|") {
				t.Errorf("%s the drafts are %q, want %q", when, got, texts)
			}
		}
		show("7", "<b>Once</b>")
		show("7", "<b>Once</b> upon")
		want("after a change", "Once upon")
		show("8", "")
		want("after an empty one with another id", "Thinking…")
		time.Sleep(20 * time.Second)
		want("within 30 seconds", "Thinking…")
		time.Sleep(10 * time.Second)
		want("after 30 seconds")
		show("9", "again")
		id := mustSend(t, s, "chat_id", "100", "text", "the message")
		want("after a message")
		show("10", "below")
		ask(t, s, "editMessageText", "chat_id", "100", "message_id", id, "text", "edited")
		want("after an edit, which takes no draft's place", "below")
	})
}

func TestDraftRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		for _, c := range []struct {
			want  string
			pairs []string
		}{
			{"TEXTDRAFT_PEER_INVALID", []string{"chat_id", "-1001000", "draft_id", "1", "text", "x"}},
			{"RANDOM_ID_INVALID", []string{"chat_id", "100", "text", "x"}},
			{"RANDOM_ID_INVALID", []string{"chat_id", "100", "draft_id", "0", "text", "x"}},
			{"message is too long", []string{"chat_id", "100", "draft_id", "1", "text", strings.Repeat("x", 4097)}},
			{"chat not found", []string{"chat_id", "999", "draft_id", "1", "text", "x"}},
			{"message thread not found", []string{"chat_id", "100", "draft_id", "1", "text", "x", "message_thread_id", "8"}},
		} {
			a := ask(t, s, "sendMessageDraft", c.pairs...)
			if a.OK || a.Code != http.StatusBadRequest || a.Description != "Bad Request: "+c.want {
				t.Errorf("%v: %d %q, want %q", c.pairs, a.Code, a.Description, c.want)
			}
		}
		for range chatBurst {
			ask(t, s, "sendMessageDraft", "chat_id", "100", "draft_id", "1", "text", "x")
		}
		if a := ask(t, s, "sendMessageDraft", "chat_id", "100", "draft_id", "1", "text", "x"); a.Code != http.StatusTooManyRequests {
			t.Errorf("a flood of drafts is answered with %d %q", a.Code, a.Description)
		}
		s.Block("100", true)
		if a := ask(t, s, "sendMessageDraft", "chat_id", "100", "draft_id", "1", "text", "x"); a.Code != http.StatusForbidden {
			t.Errorf("a draft for somebody who has blocked the bot is answered with %d %q", a.Code, a.Description)
		}
	})
}
