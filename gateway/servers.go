package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// cmdMCP says how the servers are that offer tools.
func (c *conversation) cmdMCP(ctx context.Context, in *input) {
	source := c.g.parts.Source
	if source == nil {
		c.reply(ctx, in, "I use no MCP servers here.")
		return
	}
	var b strings.Builder
	for _, s := range source.Servers() {
		describeServer(&b, s)
	}
	c.reply(ctx, in, b.String())
}

func describeServer(b *strings.Builder, s tools.ServerStatus) {
	fmt.Fprintf(b, "- **%s**: %s", s.Name, s.State)
	if s.State != tools.ServerUp && !s.Since.IsZero() {
		fmt.Fprintf(b, " for %s", short(time.Since(s.Since)))
	}
	if s.Trouble != "" {
		fmt.Fprintf(b, " (%s)", s.Trouble)
	}
	switch {
	case len(s.Tools) > 0:
		fmt.Fprintf(b, ". Tools: `%s`", strings.Join(s.Tools, "`, `"))
	case s.State == tools.ServerUp:
		b.WriteString(". It offers no tools")
	}
	b.WriteByte('\n')
	for _, m := range s.Refused {
		fmt.Fprintf(b, "  - `%s` is not used: %s\n", m.Name, m.Reason)
	}
}
