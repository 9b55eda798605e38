package telegram

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// answered is a decoded answer of the Bot API.
type answered struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// ask calls a method with name, value pairs, without a network.
func ask(t *testing.T, s *Server, method string, pairs ...string) answered {
	t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/bot"+s.Token()+"/"+method, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, req)
	var a answered
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%s answered %q: %v", method, w.Body, err)
	}
	if !a.OK && a.Code != w.Code {
		t.Errorf("%s: error code %d with HTTP status %d", method, a.Code, w.Code)
	}
	return a
}

// mustSend sends a text and returns its id.
func mustSend(t *testing.T, s *Server, pairs ...string) string {
	t.Helper()
	a := ask(t, s, "sendMessage", pairs...)
	if !a.OK {
		t.Fatalf("sendMessage %v: %s", pairs, a.Description)
	}
	var m struct {
		ID int `json:"message_id"`
	}
	if err := json.Unmarshal(a.Result, &m); err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(m.ID)
}

// updateIDs polls once and returns the ids that came.
func updateIDs(t *testing.T, s *Server, pairs ...string) []int64 {
	t.Helper()
	a := ask(t, s, "getUpdates", pairs...)
	if !a.OK {
		t.Fatalf("getUpdates %v: %s", pairs, a.Description)
	}
	var updates []struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(a.Result, &updates); err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, u := range updates {
		ids = append(ids, u.ID)
	}
	return ids
}

func newTestServer() *Server {
	s := New(Options{})
	s.AddUser(sim.User{ID: "100", Name: "ada"})
	s.AddChat(sim.Chat{ID: "100", Kind: "dm"})
	s.AddChat(sim.Chat{ID: "-500", Kind: "group", Title: "Group"})
	s.AddChat(sim.Chat{ID: "-1001000", Kind: "forum", Title: "Forum"})
	return s
}

func say(t *testing.T, s *Server, chat, thread, text string) string {
	t.Helper()
	id, err := s.Say(sim.Say{User: "100", Chat: chat, Thread: thread, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		person := say(t, s, "100", "", "mine")
		say(t, s, "-1001000", "7", "a topic")
		mine := mustSend(t, s, "chat_id", "100", "text", "one")
		keyboard := func(button string) string { return `{"inline_keyboard":[[` + button + `]]}` }
		for _, c := range []struct {
			method string
			pairs  []string
			want   string
		}{
			{"sendMessage", nil, "chat_id is empty"},
			{"sendMessage", []string{"chat_id", "999", "text", "x"}, "chat not found"},
			{"sendMessage", []string{"chat_id", "100"}, "message text is empty"},
			{"sendMessage", []string{"chat_id", "-1001000", "text", "x", "message_thread_id", "1"}, "message thread not found"},
			{"sendMessage", []string{"chat_id", "-1001000", "text", "x", "message_thread_id", "8"}, "message thread not found"},
			{"sendMessage", []string{"chat_id", "100", "text", "x", "reply_parameters", `{"message_id":12345}`}, "message to be replied not found"},
			{"sendMessage", []string{"chat_id", "100", "text", "x", "reply_markup", keyboard(`{"text":"a","callback_data":"` + strings.Repeat("x", 65) + `"}`)}, "BUTTON_DATA_INVALID"},
			{"sendMessage", []string{"chat_id", "100", "text", "x", "reply_markup", keyboard(`{"text":"a"}`)}, "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard"},
			{"editMessageText", []string{"chat_id", "100", "message_id", mine, "text", "one"}, "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"},
			{"editMessageText", []string{"chat_id", "100", "message_id", person, "text", "x"}, "message can't be edited"},
			{"editMessageText", []string{"chat_id", "100", "message_id", "12345", "text", "x"}, "message to edit not found"},
			{"editMessageText", []string{"chat_id", "100", "text", "x"}, "message identifier is not specified"},
			{"deleteMessage", []string{"chat_id", "100", "message_id", "12345"}, "message to delete not found"},
			{"sendChatAction", []string{"chat_id", "100", "action", "dance"}, "wrong parameter action in request"},
			{"answerCallbackQuery", []string{"callback_query_id", "1"}, "query is too old and response timeout expired or query ID is invalid"},
			{"answerCallbackQuery", []string{"callback_query_id", "1", "text", strings.Repeat("x", 201)}, "MESSAGE_TOO_LONG"},
			{"setMessageReaction", []string{"chat_id", "100", "message_id", mine, "reaction", `[{"type":"emoji","emoji":"🧀"}]`}, "REACTION_INVALID"},
			{"setMyCommands", []string{"commands", `[{"command":"New","description":"x"}]`}, "BOT_COMMAND_INVALID"},
		} {
			a := ask(t, s, c.method, c.pairs...)
			if a.OK || a.Code != http.StatusBadRequest || a.Description != "Bad Request: "+c.want {
				t.Errorf("%s %v: %d %q, want %q", c.method, c.pairs, a.Code, a.Description, c.want)
			}
		}
		time.Sleep(49 * time.Hour)
		if a := ask(t, s, "deleteMessage", "chat_id", "100", "message_id", mine); a.Description != "Bad Request: message can't be deleted" {
			t.Errorf("deletion after two days: %q", a.Description)
		}
		if a := ask(t, s, "editMessageText", "chat_id", "100", "message_id", mine, "text", "two"); !a.OK {
			t.Errorf("edit after two days: %q", a.Description)
		}
	})
}

func TestPermissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		s.Block("100", true)
		if a := ask(t, s, "sendMessage", "chat_id", "100", "text", "x"); a.Code != 403 || a.Description != "Forbidden: bot was blocked by the user" {
			t.Errorf("blocked: %+v", a)
		}
		s.Kick("-1001000")
		if a := ask(t, s, "sendMessage", "chat_id", "-1001000", "text", "x"); a.Code != 403 || a.Description != "Forbidden: bot was kicked from the supergroup chat" {
			t.Errorf("kicked: %+v", a)
		}
		if err := s.Migrate("-500", "-1005000"); err != nil {
			t.Fatal(err)
		}
		if a := ask(t, s, "sendMessage", "chat_id", "-500", "text", "x"); a.Code != 400 || a.Parameters.MigrateTo != -1005000 {
			t.Errorf("migrated: %+v", a)
		}
		mustSend(t, s, "chat_id", "-1005000", "text", "x")

		for path, code := range map[string]int{
			"/bot" + s.Token() + "/getme":      200, // names ignore case
			"/bot" + s.Token() + "/flyToMoon":  404,
			"/bot7000000001:WRONG/getMe":       401,
			"/file/bot" + s.Token() + "/a.jpg": 404,
		} {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if w.Code != code {
				t.Errorf("%s answers %d, want %d", path, w.Code, code)
			}
		}
	})
}

func TestOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		for range 5 {
			say(t, s, "100", "", "x")
		}
		all := updateIDs(t, s, "offset", "0")
		if len(all) != 5 {
			t.Fatalf("first poll gives %v", all)
		}
		if again := updateIDs(t, s, "offset", "0"); len(again) != 1 || again[0] != all[0] {
			t.Errorf("a poll repeated at once gives %v, want the first update alone", again)
		}
		time.Sleep(time.Minute)
		if two := updateIDs(t, s, "offset", "0", "limit", "2"); len(two) != 2 {
			t.Errorf("limit 2 gives %v", two)
		}
		if rest := updateIDs(t, s, "offset", strconv.FormatInt(all[2], 10)); len(rest) != 3 || rest[0] != all[2] {
			t.Errorf("offset of the third gives %v", rest)
		}
		time.Sleep(time.Minute)
		if last := updateIDs(t, s, "offset", "-1"); len(last) != 1 || last[0] != all[4] {
			t.Errorf("offset -1 gives %v", last)
		}
		if left := s.pendingCount(); left != 1 {
			t.Errorf("%d updates are left after offset -1, want 1", left)
		}
		time.Sleep(25 * time.Hour)
		if stale := updateIDs(t, s, "offset", "0"); len(stale) != 0 {
			t.Errorf("updates of yesterday are still there: %v", stale)
		}
	})
}

func TestLongPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		start := time.Now()
		updateIDs(t, s, "offset", "0", "timeout", "900")
		if took := time.Since(start); took != 50*time.Second {
			t.Errorf("an empty poll with timeout 900 took %v, want the longest, 50s", took)
		}
		start = time.Now()
		go func() { time.Sleep(20 * time.Second); _, _ = s.Say(sim.Say{User: "100", Chat: "100", Text: "x"}) }()
		if ids := updateIDs(t, s, "offset", "0", "timeout", "50"); len(ids) != 1 || time.Since(start) != 20*time.Second {
			t.Errorf("poll gave %v after %v", ids, time.Since(start))
		}
		a := ask(t, s, "getUpdates", "offset", "0", "allowed_updates", `["callback_query"]`, "limit", "1")
		say(t, s, "100", "", "not wanted")
		if !a.OK || s.pendingCount() != 1 {
			t.Errorf("allowed_updates did not keep messages out: %d pending", s.pendingCount())
		}
	})
}

func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		start := time.Now()
		older := make(chan answered)
		go func() { older <- ask(t, s, "getUpdates", "offset", "0", "timeout", "50") }()
		time.Sleep(10 * time.Second)
		newer := make(chan []int64)
		go func() { newer <- updateIDs(t, s, "offset", "0", "timeout", "50") }()
		a := <-older
		if a.Code != http.StatusConflict || !strings.Contains(a.Description, "terminated by other getUpdates request") {
			t.Errorf("the older poll ends with %+v", a)
		}
		if took := time.Since(start); took != 13*time.Second {
			t.Errorf("the older poll ended after %v, want 3s after the newer began", took)
		}
		say(t, s, "100", "", "x")
		if ids := <-newer; len(ids) != 1 {
			t.Errorf("the newer poll gave %v", ids)
		}
	})
}

func TestRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		for range 5 {
			mustSend(t, s, "chat_id", "100", "text", "x")
		}
		a := ask(t, s, "sendMessage", "chat_id", "100", "text", "x")
		if a.Code != 429 || a.Parameters.RetryAfter != 1 || a.Description != "Too Many Requests: retry after 1" {
			t.Errorf("sixth message at once: %+v", a)
		}
		time.Sleep(time.Second)
		mustSend(t, s, "chat_id", "100", "text", "x")

		sent := 0
		for range 60 {
			if ask(t, s, "sendMessage", "chat_id", "-500", "text", "x").OK {
				sent++
			}
			time.Sleep(time.Second)
		}
		if sent != 20 {
			t.Errorf("a group took %d messages in a minute, want 20", sent)
		}
		for i := range 40 {
			id := strconv.Itoa(1000 + i)
			s.AddUser(sim.User{ID: id})
			s.AddChat(sim.Chat{ID: id, Kind: "dm"})
			if ok := ask(t, s, "sendMessage", "chat_id", id, "text", "x").OK; ok != (i < 30) {
				t.Errorf("message %d of one second to different chats: ok %v", i+1, ok)
			}
		}
		free := New(Options{NoRateLimits: true})
		free.AddUser(sim.User{ID: "100"})
		free.AddChat(sim.Chat{ID: "100", Kind: "dm"})
		for range 100 {
			mustSend(t, free, "chat_id", "100", "text", "x")
		}
	})
}

func TestTopicsAndTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		say(t, s, "-1001000", "7", "in a topic")
		say(t, s, "-1001000", "", "in General")
		mustSend(t, s, "chat_id", "-1001000", "text", "to the topic", "message_thread_id", "7")
		mustSend(t, s, "chat_id", "-1001000", "text", "to General")
		var threads []string
		for _, m := range s.Visible("-1001000") {
			threads = append(threads, m.Thread)
		}
		if got := strings.Join(threads, " "); got != "7 general 7 general" {
			t.Errorf("threads are %s", got)
		}
		ask(t, s, "sendChatAction", "chat_id", "-1001000", "action", "typing")
		if s.Typing("-1001000", "general") {
			t.Error("typing shows in General without the id 1")
		}
		ask(t, s, "sendChatAction", "chat_id", "-1001000", "action", "typing", "message_thread_id", "1")
		if !s.Typing("-1001000", "general") || s.Typing("-1001000", "7") {
			t.Error("typing with the id 1 does not show in General alone")
		}
		mustSend(t, s, "chat_id", "-1001000", "text", "done")
		if s.Typing("-1001000", "general") {
			t.Error("a message does not end typing")
		}
	})
}

func TestPressExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		id := mustSend(t, s, "chat_id", "100", "text", "x", "reply_markup", `{"inline_keyboard":[[{"text":"Stop","callback_data":"s"}]]}`)
		if _, err := s.Press("100", "100", id, "other"); err == nil {
			t.Error("a button that is not there could be pressed")
		}
		if _, err := s.Press("100", "100", id, "s"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		if ids := updateIDs(t, s, "offset", "0"); len(ids) != 0 {
			t.Errorf("a press is still delivered after 150 seconds: %v", ids)
		}
	})
}

func TestEventFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		s.Faults().Events.Swap()
		s.Faults().Events.Duplicate(1)
		say(t, s, "100", "", "first")
		say(t, s, "100", "", "second")
		a := ask(t, s, "getUpdates", "offset", "0")
		var updates []struct {
			Message struct{ Text string } `json:"message"`
		}
		if err := json.Unmarshal(a.Result, &updates); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, u := range updates {
			texts = append(texts, u.Message.Text)
		}
		if got := strings.Join(texts, " "); got != "second second first" {
			t.Errorf("swapped and doubled: %s", got)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	s := New(Options{NoRateLimits: true})
	s.AddUser(sim.User{ID: "100"})
	s.AddChat(sim.Chat{ID: "100", Kind: "dm"})
	for range maxEvents + maxMessages {
		say(t, s, "100", "", "x")
	}
	if shown, events := len(s.Visible("100")), len(s.Log()); shown > maxMessages || events > maxEvents {
		t.Errorf("%d messages and %d events are kept", shown, events)
	}
}
