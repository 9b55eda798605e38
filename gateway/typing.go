package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// typing keeps "typing ..." showing while a turn works. It belongs to one turn, stops with it, and pauses while a
// person is waited for.
type typing struct {
	g     *Gateway
	at    platforms.Address
	every time.Duration
	typer platforms.Typer
	sign  *firstSign

	mu     sync.Mutex
	paused int
	cancel context.CancelFunc
	done   chan struct{}
}

func newTyping(g *Gateway, at platforms.Address, sign *firstSign) *typing {
	adapter := g.adapters[at.Platform]
	typer, _ := adapter.(platforms.Typer)
	return &typing{g: g, at: at, typer: typer, sign: sign, every: adapter.Limits().TypingFor * 4 / 5}
}

func (t *typing) start(ctx context.Context) {
	if t.typer == nil || t.every <= 0 {
		return
	}
	ctx, t.cancel = context.WithCancel(ctx)
	t.done = make(chan struct{})
	go t.run(ctx)
}

func (t *typing) run(ctx context.Context) {
	defer close(t.done)
	for ctx.Err() == nil {
		t.mu.Lock()
		show := t.paused == 0
		t.mu.Unlock()
		if show {
			call, cancel := context.WithTimeout(ctx, t.every)
			switch err := t.typer.Typing(call, t.at); {
			case err == nil:
				t.sign.shown(t.g, t.at.Platform)
			case ctx.Err() == nil:
				t.g.log.Debug("typing was not shown", "at", t.at, "error", err)
			}
			cancel()
		}
		if !sleepUntil(ctx, time.Now().Add(t.every)) {
			return
		}
	}
}

// stop ends the indicator and waits until no more signal can be sent.
func (t *typing) stop() {
	if t.cancel != nil {
		t.cancel()
		<-t.done
	}
}

func (t *typing) pause()  { t.change(1) }
func (t *typing) resume() { t.change(-1) }

func (t *typing) change(by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused += by
}
