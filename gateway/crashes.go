package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

const (
	// crashesName is the value of the store that counts crashes in a row.
	crashesName = "crashes"
	// crashesFree is how many of them cost nothing; from then on the pause before connecting doubles, beginning with a
	// second.
	crashesFree = 5
	// crashForgotten is how long a process must have been connected for its crash to be the first one again.
	crashForgotten = 10 * time.Minute
)

// crashes is what is kept while a process runs: if it is found by the next one, nobody has ended this one on purpose.
type crashes struct {
	InARow int       `json:"in_a_row"`
	At     time.Time `json:"at"` // when the process that wrote this began to connect
}

// crashed notes that a process begins, and returns how long it has to wait before it connects: the longer, the more often
// the ones before it have crashed soon after they had. A connection is nothing that a platform gives away without end:
// after a thousand in a day Discord takes the bot's token away. ended has to be called when the process ends as it should.
func (g *Gateway) crashed(ctx context.Context) (pause time.Duration, ended func(context.Context)) {
	ended = func(context.Context) {}
	if g.now().CrashPause <= 0 {
		return 0, ended
	}
	stored, err := g.store.Value(ctx, crashesName)
	var c crashes
	if err == nil && len(stored) > 0 {
		err = json.Unmarshal(stored, &c)
		if c.InARow++; time.Since(c.At) > crashForgotten {
			c.InARow = 1
		}
	}
	if n := c.InARow - crashesFree; n > 0 {
		pause = g.now().CrashPause
		if n < 20 {
			pause = min(pause, time.Second<<(n-1))
		}
		g.log.Warn("the program has ended again and again without being told to; waiting before it connects", "times", c.InARow, "pause", pause)
	}
	c.At = time.Now().Add(pause).UTC()
	value, bad := json.Marshal(c)
	if err == nil {
		err = bad
	}
	if err == nil {
		_, err = g.store.Commit(ctx, sessions.Set{Name: crashesName, Was: stored, Value: value})
	}
	if err != nil {
		g.log.Error("how often the program has crashed could not be kept", "error", fmt.Errorf("count crashes: %w", err))
		return pause, ended
	}
	return pause, func(ctx context.Context) {
		if _, err := g.store.Commit(ctx, sessions.Set{Name: crashesName, Was: value}); err != nil {
			g.log.Warn("that the program ended as it should could not be kept", "error", err)
		}
	}
}
