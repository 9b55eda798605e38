package discord

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// client calls a simulator's handler directly, as a bot would.
type client struct {
	t *testing.T
	s *Server
}

func newClient(t *testing.T, opts Options) client {
	s := New(opts)
	t.Cleanup(s.Close)
	s.AddUser(sim.User{ID: "1", Name: "Ann"})
	s.AddChat(sim.Chat{ID: "10", Kind: "dm", Members: []string{"1"}})
	s.AddChat(sim.Chat{ID: "20", Kind: "channel", Title: "general", Members: []string{"1"}})
	s.AddChat(sim.Chat{ID: "30", Kind: "forum", Title: "help"})
	return client{t, s}
}

// call makes a request and returns the status and the decoded answer.
func (c client) call(method, path, body string) (int, object) {
	c.t.Helper()
	r := httptest.NewRequest(method, "/api/v9"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bot token")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	c.s.Handler().ServeHTTP(w, r)
	var o object
	_ = json.Unmarshal(w.Body.Bytes(), &o) // lists and empty answers are looked at by their status
	return w.Code, o
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("é", maxContent)
	button := `{"type":2,"style":1,"label":"x","custom_id":%q}`
	row := func(buttons ...string) string { return `{"type":1,"components":[` + strings.Join(buttons, ",") + `]}` }
	id := func(n int) string { return fmt.Sprintf(button, fmt.Sprint("b", n)) }
	for name, c := range map[string]struct {
		method, path, body string
		status, code       int
		field              string // of a 50035, as path and code
	}{
		"fits":                {"POST", "/channels/10/messages", `{"content":"` + long + `"}`, 200, 0, ""},
		"too long":            {"POST", "/channels/10/messages", `{"content":"` + long + `x"}`, 400, 50035, "content BASE_TYPE_MAX_LENGTH"},
		"empty":               {"POST", "/channels/10/messages", `{"content":"  \n "}`, 400, 50006, ""},
		"only buttons":        {"POST", "/channels/10/messages", `{"components":[` + row(id(1)) + `]}`, 400, 50006, ""},
		"not JSON":            {"POST", "/channels/10/messages", `{`, 400, 50109, ""},
		"long nonce":          {"POST", "/channels/10/messages", `{"content":"x","nonce":"` + strings.Repeat("n", 26) + `"}`, 400, 50035, "nonce BASE_TYPE_MAX_LENGTH"},
		"null parse":          {"POST", "/channels/10/messages", `{"content":"x","allowed_mentions":{"parse":null}}`, 400, 50035, "allowed_mentions.parse LIST_TYPE_CONVERT"},
		"bad parse":           {"POST", "/channels/10/messages", `{"content":"x","allowed_mentions":{"parse":["all"]}}`, 400, 50035, "allowed_mentions.parse.0 BASE_TYPE_CHOICES"},
		"reply to nothing":    {"POST", "/channels/10/messages", `{"content":"x","message_reference":{"message_id":"5"}}`, 400, 50035, "message_reference MESSAGE_REFERENCE_UNKNOWN_MESSAGE"},
		"reply, not failing":  {"POST", "/channels/10/messages", `{"content":"x","message_reference":{"message_id":"5","fail_if_not_exists":false}}`, 200, 0, ""},
		"unknown channel":     {"POST", "/channels/99/messages", `{"content":"x"}`, 404, 10003, ""},
		"not a snowflake":     {"POST", "/channels/abc/messages", `{"content":"x"}`, 400, 50035, "channel_id NUMBER_TYPE_COERCE"},
		"a forum":             {"POST", "/channels/30/messages", `{"content":"x"}`, 400, 50008, ""},
		"six buttons":         {"POST", "/channels/10/messages", `{"content":"x","components":[` + row(id(1), id(2), id(3), id(4), id(5), id(6)) + `]}`, 400, 50035, "components.0.components BASE_TYPE_BAD_LENGTH"},
		"six rows":            {"POST", "/channels/10/messages", `{"content":"x","components":[` + strings.Join([]string{row(id(1)), row(id(2)), row(id(3)), row(id(4)), row(id(5)), row(id(6))}, ",") + `]}`, 400, 50035, "components BASE_TYPE_BAD_LENGTH"},
		"same id twice":       {"POST", "/channels/10/messages", `{"content":"x","components":[` + row(id(1), id(1)) + `]}`, 400, 50035, "components.0.components.1.custom_id COMPONENT_CUSTOM_ID_DUPLICATED"},
		"long custom id":      {"POST", "/channels/10/messages", `{"content":"x","components":[` + row(fmt.Sprintf(button, strings.Repeat("i", 101))) + `]}`, 400, 50035, "components.0.components.0.custom_id BASE_TYPE_MAX_LENGTH"},
		"long label":          {"POST", "/channels/10/messages", `{"content":"x","components":[` + row(`{"type":2,"style":1,"custom_id":"a","label":"`+strings.Repeat("l", 81)+`"}`) + `]}`, 400, 50035, "components.0.components.0.label BASE_TYPE_MAX_LENGTH"},
		"unknown message":     {"PATCH", "/channels/10/messages/77", `{"content":"x"}`, 404, 10008, ""},
		"unknown emoji":       {"PUT", "/channels/10/messages/%s/reactions/thumbsup/@me", "", 400, 10014, ""},
		"emoji":               {"PUT", "/channels/10/messages/%s/reactions/%%F0%%9F%%91%%8D/@me", "", 204, 0, ""},
		"another's message":   {"PATCH", "/channels/10/messages/%s", `{"content":"x"}`, 403, 50005, ""},
		"another's, deleted":  {"DELETE", "/channels/10/messages/%s", "", 403, 50013, ""},
		"unknown interaction": {"POST", "/interactions/5/token/callback", `{"type":6}`, 404, 10062, ""},
		"unknown application": {"GET", "/applications/5/commands", "", 404, 10002, ""},
		"command's name":      {"PUT", "/applications/" + Application + "/commands", `[{"name":"New One","description":"x"}]`, 400, 50035, "0.name APPLICATION_COMMAND_INVALID_NAME"},
		"no such route":       {"GET", "/channels", "", 404, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newClient(t, Options{})
			said, err := cl.s.Say(sim.Say{User: "1", Chat: "10", Text: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(c.path, "%") {
				c.path = fmt.Sprintf(c.path, said)
			}
			status, o := cl.call(c.method, c.path, c.body)
			code, _ := o["code"].(float64)
			if status != c.status || int(code) != c.code {
				t.Fatalf("got %d, %v", status, o)
			}
			if c.field == "" {
				return
			}
			path, want, _ := strings.Cut(c.field, " ")
			at, _ := o["errors"].(object)
			for _, step := range strings.Split(path, ".") {
				at, _ = at[step].(object)
			}
			errors := list(at, "_errors")
			if len(errors) == 0 || text(errors[0], "code") != want {
				t.Errorf("errors are %v", o["errors"])
			}
		})
	}
}

func TestToken(t *testing.T) {
	cl := newClient(t, Options{Token: "other"})
	if status, _ := cl.call("GET", "/users/@me", ""); status != http.StatusUnauthorized {
		t.Errorf("got %d", status)
	}
}

func TestNonce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newClient(t, Options{})
		send := func(extra string) string {
			_, o := cl.call("POST", "/channels/10/messages", `{"content":"x","nonce":"n1"`+extra+`}`)
			return text(o, "id")
		}
		first := send(`,"enforce_nonce":true`)
		if again := send(`,"enforce_nonce":true`); again != first {
			t.Errorf("the same nonce made %s after %s", again, first)
		}
		if plain := send(""); plain == first {
			t.Error("a nonce that is not enforced returned the first message")
		}
		time.Sleep(nonceWindow + time.Second)
		if late := send(`,"enforce_nonce":true`); late == first {
			t.Error("the nonce is known for ever")
		}
	})
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newClient(t, Options{})
		post := func(chat string) (int, object) {
			return cl.call("POST", "/channels/"+chat+"/messages", `{"content":"x"}`)
		}
		for range 5 {
			if status, _ := post("10"); status != 200 {
				t.Fatal(status)
			}
		}
		status, o := post("10")
		if wait, _ := o["retry_after"].(float64); status != 429 || wait <= 0 || wait > 5 || o["global"] != false {
			t.Errorf("got %d %v", status, o)
		}
		if status, _ := post("20"); status != 200 {
			t.Errorf("another channel got %d", status)
		}
		time.Sleep(5 * time.Second)
		if status, _ := post("10"); status != 200 {
			t.Errorf("after the window got %d", status)
		}
		time.Sleep(5 * time.Second)
		for i := range globalPerSecond {
			cl.s.AddChat(sim.Chat{ID: fmt.Sprint(1000 + i), Kind: "channel"})
			if status, _ := post(fmt.Sprint(1000 + i)); status != 200 {
				t.Fatalf("call %d of a second got %d", i, status)
			}
		}
		if status, o := post("20"); status != 429 || o["global"] != true {
			t.Errorf("got %d %v", status, o)
		}
	})
}

func TestInteractionDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newClient(t, Options{})
		_, o := cl.call("POST", "/channels/10/messages", `{"content":"x","components":[{"type":1,"components":[{"type":2,"style":1,"label":"Go","custom_id":"go"}]}]}`)
		press := func() (path string, shown <-chan string) {
			shown, err := cl.s.Press("1", "10", text(o, "id"), "go")
			if err != nil {
				t.Fatal(err)
			}
			cl.s.mu.Lock()
			defer cl.s.mu.Unlock()
			for id, i := range cl.s.interactions {
				if !i.answered {
					path = "/interactions/" + id + "/" + i.token + "/callback"
				}
			}
			return path, shown
		}
		path, shown := press()
		if status, _ := cl.call("POST", path, `{"type":4,"data":{"content":"ok","flags":64}}`); status != 204 || <-shown != "ok" {
			t.Errorf("got %d", status)
		}
		if status, o := cl.call("POST", path, `{"type":6}`); status != 400 || o["code"] != float64(40060) {
			t.Errorf("a second answer got %d %v", status, o)
		}
		path, shown = press()
		time.Sleep(interactionDeadline + time.Millisecond)
		if status, o := cl.call("POST", path, `{"type":6}`); status != 404 || o["code"] != float64(10062) {
			t.Errorf("a late answer got %d %v", status, o)
		}
		if _, answered := <-shown; answered {
			t.Error("something shows for an unanswered press")
		}
		if _, err := cl.s.Press("1", "10", text(o, "id"), "stop"); err == nil {
			t.Error("pressed a button that is not there")
		}
	})
}

func TestPermissions(t *testing.T) {
	cl := newClient(t, Options{})
	cl.s.Refuse("10", true)
	cl.s.Refuse("20", true)
	for chat, code := range map[string]float64{"10": 50007, "20": 50001} {
		if status, o := cl.call("POST", "/channels/"+chat+"/messages", `{"content":"x"}`); status != 403 || o["code"] != code {
			t.Errorf("chat %s got %d %v", chat, status, o)
		}
	}
}

func TestThreads(t *testing.T) {
	cl := newClient(t, Options{})
	id, err := cl.s.Say(sim.Say{User: "1", Chat: "20", Text: "topic"})
	if err != nil {
		t.Fatal(err)
	}
	path := "/channels/20/messages/" + id + "/threads"
	if status, o := cl.call("POST", path, `{"name":"the topic"}`); status != 201 || o["id"] != id || o["parent_id"] != "20" {
		t.Errorf("got %d %v", status, o)
	}
	if status, o := cl.call("POST", path, `{"name":"again"}`); status != 400 || o["code"] != float64(160004) {
		t.Errorf("got %d %v", status, o)
	}
	cl.s.Archive(id, false)
	if status, _ := cl.call("POST", "/channels/"+id+"/messages", `{"content":"revived"}`); status != 200 {
		t.Errorf("an archived thread got %d", status)
	}
	cl.s.Archive(id, true)
	if status, o := cl.call("POST", "/channels/"+id+"/messages", `{"content":"x"}`); status != 400 || o["code"] != float64(160005) {
		t.Errorf("a locked thread got %d %v", status, o)
	}
	seen := cl.s.Visible("20")
	if len(seen) != 2 || seen[1].Thread != id || seen[1].Visible != "revived" {
		t.Errorf("shows %+v", seen)
	}
}

// TestVeil looks at what a bot without the Message Content intent sees.
func TestVeil(t *testing.T) {
	cl := newClient(t, Options{NoMessageContent: true})
	for _, c := range []struct {
		say  sim.Say
		sees bool
	}{
		{sim.Say{Chat: "10", Text: "direct"}, true},
		{sim.Say{Chat: "20", Text: "talk"}, false},
		{sim.Say{Chat: "20", Text: "for you", Mention: true}, true},
	} {
		c.say.User = "1"
		id, err := cl.s.Say(c.say)
		if err != nil {
			t.Fatal(err)
		}
		_, o := cl.call("GET", "/channels/"+c.say.Chat+"/messages/"+id, "")
		if sees := text(o, "content") != ""; sees != c.sees {
			t.Errorf("%q is seen as %q", c.say.Text, o["content"])
		}
	}
}

func TestHistory(t *testing.T) {
	cl := newClient(t, Options{})
	var ids []string
	for i := range 5 {
		id, err := cl.s.Say(sim.Say{User: "1", Chat: "20", Text: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	for query, want := range map[string]string{"limit=2": "43", "limit=2&before=" + ids[3]: "21", "limit=2&after=" + ids[0]: "21", "": "43210"} {
		r := httptest.NewRequest("GET", "/api/v9/channels/20/messages?"+query, nil)
		r.Header.Set("Authorization", "Bot token")
		w := httptest.NewRecorder()
		cl.s.Handler().ServeHTTP(w, r)
		var found []object
		if err := json.Unmarshal(w.Body.Bytes(), &found); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		for _, m := range found {
			got.WriteString(text(m, "content"))
		}
		if got.String() != want {
			t.Errorf("%q gives %s, want %s", query, got.String(), want)
		}
	}
	if status, _ := cl.call("GET", "/channels/20/messages?limit=101", ""); status != 400 {
		t.Errorf("a limit of 101 got %d", status)
	}
}
