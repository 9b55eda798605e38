package labpage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

const (
	// settle is how long the stream waits after a change for others that belong to it.
	settle = 20 * time.Millisecond
	// typingCheck is how often a typing indicator that shows is looked at again: it ends by itself.
	typingCheck = time.Second
	// writeLimit is how long a browser may take to accept one event before its stream is given up.
	writeLimit = 10 * time.Second
)

// events is the stream of server-sent events. Each event "chat" carries a chatDiff.
func (s server) events(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer cancel()

	w.Header().Set("Content-Type", "text/event-stream")
	changed := make(chan struct{}, 1)
	for _, p := range s.cfg.Panes {
		watchers.Go(func() { watch(ctx, p.Stage, changed) })
	}
	out := stream{w: w, control: http.NewResponseController(w)}
	seen := make(snapshot)
	timer := time.NewTimer(typingCheck)
	defer timer.Stop()
	for {
		typing := false
		for _, p := range s.cfg.Panes {
			for _, c := range p.Chats {
				diff := seen.advance(p, c)
				typing = typing || len(diff.Typing) > 0
				if diff.news && !out.send(diff) {
					return
				}
			}
		}
		if !out.flush() {
			return
		}
		var again <-chan time.Time
		if typing {
			timer.Reset(typingCheck)
			again = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
			continue
		case <-changed:
		}
		timer.Reset(settle)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

// watch signals every change of a stage until the context ends. It takes the next channel before it signals, so a
// change after the reader has looked is never missed.
func watch(ctx context.Context, stage sim.Stage, changed chan<- struct{}) {
	for {
		next := stage.Changed()
		select {
		case changed <- struct{}{}:
		default: // the reader has not yet looked since the last signal
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// stream writes events to one browser.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send writes one event and reports whether the browser is still there.
func (s stream) send(d chatDiff) bool {
	data, err := json.Marshal(d)
	if err != nil {
		return false // cannot happen: the type holds nothing but strings and times
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeLimit)) // not every ResponseWriter has one
	_, err = fmt.Fprintf(s.w, "event: chat\ndata: %s\n\n", data)
	return err == nil
}

func (s stream) flush() bool { return s.control.Flush() == nil }
