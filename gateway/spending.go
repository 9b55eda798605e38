package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

// spending is what the sessions of a conversation have used, by their numbers. It is a projection of the log, as the
// outline beside which it is kept.
type spending map[int]*spent

// spent is what one session has used.
type spent struct {
	turns, replies, calls int
	byModel               map[string]sessions.Usage
	model                 string // that replied last; what a call has used of models is counted as its
}

// add takes in a record that belongs to a session.
func (s spending) add(session *sessions.Segment, r sessions.Record) {
	if session == nil {
		return
	}
	of := s[session.Number]
	if of == nil {
		of = &spent{byModel: map[string]sessions.Usage{}}
		s[session.Number] = of
	}
	for _, e := range r.Entries {
		switch e := e.(type) {
		case sessions.TurnStarted:
			of.turns++
		case sessions.AssistantMessage:
			of.model = e.Model
			of.replies++
			of.calls += len(e.Message.ToolCalls)
			of.use(e.Usage)
		case sessions.Delegated:
			of.replies += e.Used.Rounds
			of.calls += e.Used.Calls
			of.use(e.Used.Usage)
		}
	}
}

func (s *spent) use(u sessions.Usage) { s.byModel[s.model] = s.byModel[s.model].Add(u) }

// sum adds up all sessions.
func (s spending) sum() *spent {
	all := &spent{byModel: map[string]sessions.Usage{}}
	for _, of := range s {
		all.turns, all.replies, all.calls = all.turns+of.turns, all.replies+of.replies, all.calls+of.calls
		for model, u := range of.byModel {
			all.byModel[model] = all.byModel[model].Add(u)
		}
	}
	return all
}

// cmdUsage shows what this session has used and cost, and all sessions together.
func (c *conversation) cmdUsage(ctx context.Context, in *input) {
	if err := c.readOutline(ctx); err != nil {
		c.unread(ctx, in, err)
		return
	}
	all := c.spending.sum()
	if all.replies == 0 {
		c.reply(ctx, in, "No model has been asked here yet.")
		return
	}
	var b strings.Builder
	if now := c.spending[c.outline.Current().Number]; now != nil && now.replies > 0 {
		b.WriteString("This session:\n\n" + now.describe(c.g.now().Price))
	} else {
		b.WriteString("No model has been asked in this session yet.\n")
	}
	if len(c.spending) > 1 {
		b.WriteString("\nAll sessions here:\n\n" + all.describe(c.g.now().Price))
	}
	c.reply(ctx, in, b.String())
}

// describe writes it as a list. price may be nil.
func (s *spent) describe(price func(model string, u sessions.Usage) (usd float64, known bool)) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s, %s, %s\n", plural(s.turns, "turn"), plural(s.replies, "reply"), plural(s.calls, "tool call"))
	total, unknown := 0.0, []string(nil)
	var used sessions.Usage
	for _, model := range slices.Sorted(maps.Keys(s.byModel)) {
		u := s.byModel[model]
		used = used.Add(u)
		usd, known := 0.0, false
		if price != nil {
			usd, known = price(model, u)
		}
		switch {
		case known:
			total += usd
		case u != (sessions.Usage{}):
			unknown = append(unknown, "`"+model+"`")
		}
	}
	fmt.Fprintf(&b, "- Input: %d tokens", used.Input)
	if used.Cached > 0 {
		fmt.Fprintf(&b, ", %d of them from the provider's cache", used.Cached)
	}
	fmt.Fprintf(&b, "\n- Output: %d tokens", used.Output)
	if used.Reasoning > 0 {
		fmt.Fprintf(&b, ", %d of them for thinking", used.Reasoning)
	}
	b.WriteString("\n- Cost: ")
	switch {
	case len(unknown) == 0:
		fmt.Fprintf(&b, "about $%.4f\n", total)
	case total == 0:
		fmt.Fprintf(&b, "unknown price (%s)\n", strings.Join(unknown, ", "))
	default:
		fmt.Fprintf(&b, "about $%.4f and an unknown price (%s)\n", total, strings.Join(unknown, ", "))
	}
	return b.String()
}

// plural counts things for people.
func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y"):
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
