package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/gateway/metrics"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// living is an adapter of which only the signs of life matter.
type living struct {
	platforms.Adapter
	name platforms.Name
	at   time.Time
}

func (l living) Name() platforms.Name { return l.name }

func (l living) LastAlive() time.Time { return l.at }

func TestHealth(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name    string
		at      []time.Time
		ready   int
		says    string
		trouble error
	}{
		{"all alive", []time.Time{now, now.Add(-time.Minute)}, http.StatusOK, `"a":"alive","b":"alive"`, nil},
		{"one connecting", []time.Time{now, {}}, http.StatusServiceUnavailable, `"b":"connecting"`, nil},
		{"one silent", []time.Time{now.Add(-time.Hour), now}, http.StatusServiceUnavailable, `"a":"silent"`, nil},
		{"the disk is full", []time.Time{now, now}, http.StatusServiceUnavailable, `"a":"alive","b":"alive"`, sessions.ErrFull},
	} {
		t.Run(test.name, func(t *testing.T) {
			handler := operatorHandler([]platforms.Adapter{
				living{name: "a", at: test.at[0]}, living{name: "b", at: test.at[1]},
			}, func() error { return test.trouble }, metrics.New("test"))
			for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": test.ready, "/": http.StatusNotFound} {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				if w.Code != want {
					t.Errorf("%s answers %d, want %d", path, w.Code, want)
				}
				if path != "/" && !strings.Contains(w.Body.String(), test.says) {
					t.Errorf("%s says %s", path, w.Body)
				}
			}
		})
	}
}
