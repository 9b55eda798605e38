//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/platforms"
)

// TestShutdownWhileAllHangs: a call to a platform that does not end and a model that does not answer do not keep the
// program from its end, with 0; the next start goes on with both.
func TestShutdownWhileAllHangs(t *testing.T) {
	t.Parallel()
	asked, sending := make(chan struct{}), make(chan struct{})
	var hangs atomic.Bool
	hangs.Store(true)
	var once sync.Once
	s := serveAll(t, 1, func(req demo.Request) demo.Response {
		reply := echo(req)
		if text, _ := req.LastUser(); hangs.Load() && strings.Contains(text, "slow") {
			once.Do(func() { close(asked) })
			return demo.Response{Wait: time.Hour} // ends with the client
		}
		return reply
	}, func(_ platforms.Name, next http.Handler) http.Handler {
		var once sync.Once
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if hangs.Load() && strings.HasSuffix(r.URL.Path, "/sendMessage") {
				once.Do(func() { close(sending) })
				untilClientIsGone(r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	config := s.config(t, filepath.Join(t.TempDir(), "data"), "[gateway]\nshutdown_grace = \"3s\"\n")
	p := launch(t, nil, "run", "--config", config)
	alice, bob := s.seat(platforms.Telegram, 0), s.seat(platforms.Slack, 0)
	alice.say(t, "hello there")
	receive(t, "an answer is being sent", sending)
	bob.say(t, "slow down")
	receive(t, "the model is asked", asked)
	p.signal(t, syscall.SIGTERM)
	p.mustExit(t, 0, "talaria has stopped")

	hangs.Store(false)
	p = launch(t, nil, "run", "--config", config)
	alice.sees(t, "If it is missing")
	bob.sees(t, "echo down")
	p.signal(t, syscall.SIGTERM)
	p.mustExit(t, 0)
}

// TestTraces: with a collector named in the environment a turn's trace arrives there, at the latest when the program ends,
// and holds nothing that was written.
func TestTraces(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got.WriteString(r.URL.Path + " " + r.Header.Get("X-Key") + " " + string(body))
	}))
	defer collector.Close()
	s := serveAll(t, 1, echo, nil)
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=" + canary + "%20key"}
	p := launch(t, env, "run", "--config", s.config(t, filepath.Join(t.TempDir(), "data"), ""))
	s.seat(platforms.Telegram, 0).say(t, "hello quite-private")
	s.seat(platforms.Telegram, 0).sees(t, "echo quite-private")
	p.signal(t, syscall.SIGTERM)
	p.mustExit(t, 0)
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"/v1/traces " + canary + " key ", `"name":"turn"`, `"name":"model scripted"`, `"name":"delivery"`, `"talaria.conversation"`} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("the collector has no %s in %s", want, got.String())
		}
	}
	if strings.Contains(got.String(), "quite-private") {
		t.Error("what was written is in the traces")
	}
}
