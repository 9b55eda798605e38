package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
)

func (c *conversation) cmdStatus(ctx context.Context, in *input) {
	s := c.log.snapshot()
	var b strings.Builder
	switch {
	case c.turn == nil:
		b.WriteString("I am idle.")
	case s.Turn == nil:
		b.WriteString("I am about to begin.")
	default:
		fmt.Fprintf(&b, "I have been working for %s; this is round %d.", short(time.Since(c.turn.started)), s.Turn.Rounds+1)
	}
	if n := len(c.queue); n > 0 {
		fmt.Fprintf(&b, " %d more waiting.", n)
	}
	b.WriteString("\n\n")
	if s.ID == "" {
		b.WriteString("- Session: none yet\n")
	} else {
		fmt.Fprintf(&b, "- Session: since %s, %d messages\n", s.Started.Format("2006-01-02 15:04 MST"), len(s.Messages))
	}
	tokens := loop.ContextTokens(s)
	now := c.g.now()
	usable := max(now.Window-now.MaxOutput, 1)
	fmt.Fprintf(&b, "- Memory: about %d of %d tokens (%d %%)", tokens, usable, tokens*100/usable)
	if s.Compactions > 0 {
		fmt.Fprintf(&b, ", compressed %d×", s.Compactions)
	}
	fmt.Fprintf(&b, "\n- Model: %s\n- Busy mode: %s\n", now.Runner.Model.Name(), c.busy(in.origin().Address))
	for _, left := range c.g.parts.Background.Running(string(c.key)) {
		fmt.Fprintf(&b, "- In the background: `%s`, for %s\n", oneLine(left.Command, previewRunes), short(time.Since(left.Started)))
	}
	if c.g.busyFor(in.origin()) {
		b.WriteString(c.g.describeErrands(in.origin()))
	}
	if lost := s.Undelivered; lost != nil {
		fmt.Fprintf(&b, "- Not delivered: an answer at %s (%s)\n", lost.At.UTC().Format("2006-01-02 15:04 MST"), lost.Reason)
	}
	c.reply(ctx, in, b.String())
}

// short writes a duration for people.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
}
