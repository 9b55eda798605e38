package labpage_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/cmd/talaria/labpage"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// ask posts an action to a lab that has no network.
func ask(l *lab, endpoint, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://"+l.addr+"/api/"+endpoint, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Talaria-Token", token)
	return serve(labpage.New(l.config()), r)
}

func offlineLab() *lab {
	return &lab{telegram: newStage(), slack: newStage(), discord: newStage(), addr: "127.0.0.1:4000"}
}

func TestActionsReachTheStage(t *testing.T) {
	l := offlineLab()
	l.discord.note = "Stopping"
	for _, tc := range []struct{ endpoint, body, did, answer string }{
		{
			"say", `{"user":"1","chat":"dc","thread":"7","text":"hi","mention":true,"replyTo":"3","file":"a.txt"}`,
			`say 1 dc/7 "hi" mention=true reply=3 file=a.txt`, `{"id":"1"}`,
		},
		{"edit", `{"user":"1","chat":"dc","message":"1","text":"ho"}`, `edit 1 dc 1 "ho"`, `{}`},
		{"press", `{"user":"1","chat":"dc","message":"1","data":"stop"}`, `press 1 dc 1 stop`, `{"notes":["Stopping"],"answered":true}`},
		{
			"invoke", `{"user":"1","chat":"dc","thread":"7","command":"queue","argument":"x y"}`,
			`invoke 1 dc/7 queue "x y"`, `{"notes":["Stopping"],"answered":true}`,
		},
		{"delete", `{"user":"1","chat":"dc","message":"1"}`, `delete 1 dc 1`, `{}`},
	} {
		w := ask(l, tc.endpoint, `{"platform":"discord",`+tc.body[1:])
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != tc.answer {
			t.Errorf("%s: status %d, answer %s, want %s", tc.endpoint, w.Code, got, tc.answer)
		}
		expect(t, l.discord, tc.did)
	}
}

func TestActionsRefused(t *testing.T) {
	l := offlineLab()
	for name, tc := range map[string]struct {
		endpoint, body string
		want           int
		says           string
	}{
		"unknown platform": {"say", `{"platform":"irc"}`, http.StatusUnprocessableEntity, "irc"},
		"the stage's no":   {"say", `{"platform":"slack","text":"refuse me"}`, http.StatusUnprocessableEntity, "too long for this platform"},
		"no JSON":          {"say", `text=hi`, http.StatusBadRequest, "reading the request"},
		"too much":         {"say", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, http.StatusRequestEntityTooLarge, "too large"},
		"unknown fault":    {"fault", `{"platform":"slack","fault":"418","target":"edit"}`, http.StatusUnprocessableEntity, "418"},
		"unknown target":   {"fault", `{"platform":"slack","fault":"429","target":"x"}`, http.StatusUnprocessableEntity, "aimed"},
	} {
		w := ask(l, tc.endpoint, tc.body)
		var got struct{ Error string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Errorf("%s: the answer %q is no JSON", name, w.Body)
		}
		if w.Code != tc.want || !strings.Contains(got.Error, tc.says) {
			t.Errorf("%s: status %d, error %q, want %d and a word on %q", name, w.Code, got.Error, tc.want, tc.says)
		}
	}
}

func TestPressWithoutAnswerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := offlineLab()
		begin := time.Now()
		w := ask(l, "press", `{"platform":"slack","user":"1","chat":"sc","message":"1","data":"x"}`)
		if got := strings.TrimSpace(w.Body.String()); got != `{}` {
			t.Errorf("answer %s, want an empty one", got)
		}
		if waited := time.Since(begin); waited != 10*time.Second {
			t.Errorf("waited %s, want 10s", waited)
		}
	})
}

func TestFaults(t *testing.T) {
	l := offlineLab()
	for _, tc := range []struct {
		fault, target string
		want          sim.Fault
	}{
		{"429", "message", sim.Fault{Method: "chat.postMessage", Times: 1, Status: 429, RetryAfter: 3 * time.Second}},
		{"500", "edit", sim.Fault{Method: "chat.update", Times: 1, Status: 500}},
		{"lost", "anything", sim.Fault{Times: 1, Lose: true}},
		{"cut", "message", sim.Fault{Method: "chat.postMessage", Times: 1, Cut: true}},
	} {
		w := ask(l, "fault", `{"platform":"slack","fault":"`+tc.fault+`","target":"`+tc.target+`"}`)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", tc.fault, w.Code, w.Body)
		}
		got, ok := l.slack.Faults().Take(tc.want.Method, "sc")
		got.Times = 1 // Take counts it down
		if !ok || !cmp.Equal(got, tc.want) {
			t.Errorf("%s at the next %s: %v", tc.fault, tc.target, cmp.Diff(tc.want, got))
		}
	}
	ask(l, "fault", `{"platform":"slack","fault":"500","target":"message"}`)
	ask(l, "calm", `{"platform":"slack"}`)
	if f, ok := l.slack.Faults().Take("chat.postMessage", "sc"); ok {
		t.Errorf("after clearing there is still %v", f)
	}
}
