package platforms

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestConnectionLog(t *testing.T) {
	var b strings.Builder
	c := NewConnectionLog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	c.Connecting()
	c.Lost(errors.New("no route"), 1500*time.Millisecond)
	c.Connecting()
	c.Lost(errors.New("no route"), 3*time.Second)
	c.Lost(errors.New("refused"), 6*time.Second)
	c.Connected("@bot")
	c.Connected("@bot")
	c.Lost(errors.New("no route"), time.Second)
	c.Connected("@bot")
	const want = `level=DEBUG msg=connecting
level=WARN msg="connection lost" reason="no route" again_in=1.5s
level=WARN msg="connection lost" reason=refused again_in=6s
level=INFO msg=connected as=@bot
level=WARN msg="connection lost" reason="no route" again_in=1s
level=INFO msg=connected as=@bot
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}
