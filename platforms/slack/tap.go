package slack

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"
)

// tap listens to the library's debug log, the only place where it tells two things that matter: that Slack sent a ping
// or a frame, the evidence of life, and why Slack asks to disconnect, which decides whether to come back. Nothing of the
// log is written anywhere. If a later version of the library words its log differently, the tests of both notice.
type tap struct {
	alive *atomic.Int64
	why   atomic.Pointer[string]
}

const (
	tapFrame = "Received WebSocket message: "
	tapPing  = "WebSocket ping message received"
)

// Output takes one line of the log.
func (t *tap) Output(_ int, line string) error {
	frame, isFrame := strings.CutPrefix(line, tapFrame)
	if isFrame || strings.HasPrefix(line, tapPing) {
		t.alive.Store(time.Now().UnixNano())
	}
	if isFrame && strings.Contains(frame, `"type":"disconnect"`) {
		var d struct{ Type, Reason string }
		if json.Unmarshal([]byte(frame), &d) == nil && d.Type == "disconnect" {
			t.why.Store(&d.Reason)
		}
	}
	return nil
}

// reason is what the disconnect message said, empty if there was none.
func (t *tap) reason() string {
	if why := t.why.Load(); why != nil {
		return *why
	}
	return ""
}
