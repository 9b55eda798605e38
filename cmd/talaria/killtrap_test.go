//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/talaria-agent/talaria/platforms"
)

// trap waits for a text to come by in one state, once. Whoever springs it stays there until the program is gone.
type trap struct {
	mu     sync.Mutex
	state  string
	text   string
	sprung chan struct{}
	passed bool // a Telegram update with the text has been handed over
}

func (t *trap) set(state, text string) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state, t.text, t.sprung, t.passed = state, text, make(chan struct{}), false
	return t.sprung
}

func (t *trap) springs(state, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != state || !strings.Contains(text, t.text) {
		return false
	}
	t.spring()
	return true
}

func (t *trap) spring() {
	t.state = ""
	close(t.sprung)
}

// handsOver notes that an update with the text goes out.
func (t *trap) handsOver(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == accepting && strings.Contains(text, t.text) {
		t.passed = true
	}
}

// acknowledges springs at the poll after the one that handed the text over, which confirms it.
func (t *trap) acknowledges() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != accepting || !t.passed {
		return false
	}
	t.spring()
	return true
}

// watch stands before a platform's server with the traps.
func (d *drill) watch(p platforms.Name, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/getUpdates"):
			d.watchPoll(w, r, next)
		case strings.HasSuffix(r.URL.Path, "/sendMessage"), strings.HasSuffix(r.URL.Path, "/chat.postMessage"),
			r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/api/v9/channels/") && strings.HasSuffix(r.URL.Path, "/messages"):
			d.watchSend(w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (d *drill) watchPoll(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if d.trap.acknowledges() {
		untilClientIsGone(r)
		return
	}
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	d.trap.handsOver(answer.Body.String())
	pass(w, answer)
}

func (d *drill) watchSend(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the program is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if d.trap.springs(before, string(body)) {
		untilClientIsGone(r)
		return
	}
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	if d.trap.springs(after, string(body)) {
		untilClientIsGone(r)
		return
	}
	pass(w, answer)
}

// untilClientIsGone keeps a request without an answer.
func untilClientIsGone(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client has gone
	<-r.Context().Done()
}

func pass(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}
