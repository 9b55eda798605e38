package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

// cmdTools says which tools there are here, and why others are not.
func (c *conversation) cmdTools(ctx context.Context, in *input) {
	var b strings.Builder
	list := c.g.Tools().Tools()
	if len(list) == 0 {
		b.WriteString("I have no tools here.\n")
	} else {
		b.WriteString("What I can use here:\n\n")
	}
	for _, set := range toolsets(list) {
		fmt.Fprintf(&b, "- **%s**: %s\n", set.name, strings.Join(set.tools, ", "))
	}
	missing := c.g.parts.Missing
	if source := c.g.parts.Source; source != nil {
		missing = append(slices.Clip(missing), source.Missing()...)
	}
	if len(missing) > 0 {
		b.WriteString("\nNot available:\n\n")
		for _, m := range missing {
			name := m.Toolset
			if m.Name != "" {
				name = m.Name
			}
			fmt.Fprintf(&b, "- **%s**: %s\n", name, m.Reason)
		}
	}
	c.reply(ctx, in, b.String())
}

// toolNames is a toolset with the names of its tools, for people.
type toolNames struct {
	name  string
	tools []string
}

// toolsets groups tools, in the order in which the model sees them.
func toolsets(list []tools.Tool) (sets []toolNames) {
	for _, tool := range list {
		spec := tool.Spec()
		i := slices.IndexFunc(sets, func(s toolNames) bool { return s.name == spec.Toolset })
		if i < 0 {
			i = len(sets)
			sets = append(sets, toolNames{name: spec.Toolset})
		}
		sets[i].tools = append(sets[i].tools, "`"+spec.Name+"`")
	}
	return sets
}
