package loop

import (
	"context"
	"sync"

	"github.com/talaria-agent/talaria/sessions"
)

// meter counts what a tool call uses of models beside the conversation. A nil meter counts nothing. It may be used from
// any goroutine.
type meter struct {
	mu    sync.Mutex
	spent sessions.Spent
	cost  float64 // US dollars, as far as prices are known
}

type meterKey struct{}

// metered returns a context for a call, and the meter of what is done with it.
func metered(ctx context.Context) (context.Context, *meter) {
	m := &meter{}
	return context.WithValue(ctx, meterKey{}, m), m
}

// meterOf returns the meter of the call that a context belongs to, nil outside of any.
func meterOf(ctx context.Context) *meter {
	m, _ := ctx.Value(meterKey{}).(*meter)
	return m
}

func (m *meter) count(u sessions.Usage, by Profile) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent = m.spent.Add(sessions.Spent{Tokens: u.Input + u.Output, Usage: u})
	m.cost += costOf(u, by).usd
}

// read returns what was counted so far.
func (m *meter) read() (sessions.Spent, float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent, m.cost
}
