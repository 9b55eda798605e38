package platforms

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ConnectionLog writes down how an adapter's connection fares, in the same words on all platforms: "connecting",
// "connected", "connection lost" with its reason and the wait until the next attempt. A reason that repeats itself before
// the next connection is said once. Safe for use from any goroutine.
type ConnectionLog struct {
	log *slog.Logger

	mu   sync.Mutex
	said string // the last reason; empty = none since the connection stood
	up   bool
}

// NewConnectionLog makes one for an adapter's log, which names the platform.
func NewConnectionLog(log *slog.Logger) *ConnectionLog { return &ConnectionLog{log: log} }

// Connecting says that a connection is about to be made, unless one was lost just now, which has said so.
func (c *ConnectionLog) Connecting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said == "" {
		c.log.Debug("connecting")
	}
}

// Connected says that it stands, and who the bot is; once until it is lost.
func (c *ConnectionLog) Connected(bot string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.up {
		c.log.Info("connected", "as", bot)
	}
	c.up, c.said = true, ""
}

// Lost says why it ended, or could not be made, and when it is tried again.
func (c *ConnectionLog) Lost(reason error, again time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up = false
	text := fmt.Sprint(reason)
	if text == c.said {
		return
	}
	c.said = text
	c.log.Warn("connection lost", "reason", text, "again_in", again.Round(time.Millisecond))
}
