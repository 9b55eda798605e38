package gateway

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// cmdWhoami tells somebody by which ids he and the chat are known, and what he may do.
func (c *conversation) cmdWhoami(ctx context.Context, in *input) {
	o := in.origin()
	p := o.Address.Platform
	var b strings.Builder
	fmt.Fprintf(&b, "- You: `%s:%s`", p, o.Sender.ID)
	if o.Sender.Name != "" {
		fmt.Fprintf(&b, " (%s)", who(o.Sender))
	}
	fmt.Fprintf(&b, "\n- Chat: `%s:%s`, %s\n", p, o.Address.Chat, kindOf(o.Kind))
	if o.Address.Thread != "" {
		fmt.Fprintf(&b, "- Topic or thread: `%s:%s/%s`\n", p, o.Address.Chat, o.Address.Thread)
	}
	fmt.Fprintf(&b, "- You may talk to me here by `%s`.\n", strings.ReplaceAll(c.g.admit(o).Rule, " and ", "` and `"))
	switch admin := c.g.isAdmin(o); {
	case admin:
		b.WriteString("- You are an admin: you may stop everybody's work, answer everybody's questions and use the commands for admins.\n")
	case shared(o.Kind):
		b.WriteString("- You are no admin: you may stop what I do for you, and answer what I ask you.\n")
	default:
		b.WriteString("- You are no admin.\n")
	}
	c.reply(ctx, in, b.String())
}

// kindOf is a kind of chat, for people.
func kindOf(kind platforms.ChatKind) string {
	switch kind {
	case platforms.Direct:
		return "a direct message"
	case platforms.Topic, platforms.Thread:
		return fmt.Sprintf("a %s, in which all share one conversation", kind)
	default:
		return fmt.Sprintf("a %s, in which each has a conversation of his own", kind)
	}
}

func (c *conversation) cmdVersion(ctx context.Context, in *input) {
	c.reply(ctx, in, "Talaria "+cmp.Or(c.g.parts.Version, "of an unknown version"))
}

// cmdContext shows what fills the model's window, and when the history is shortened.
func (c *conversation) cmdContext(ctx context.Context, in *input) {
	s, now := c.log.snapshot(), c.g.now()
	usable := max(now.Window-now.MaxOutput, 1)
	tokens := loop.ContextTokens(s)
	share := func(of float64) string { return fmt.Sprintf("%.0f %% (%d tokens)", of*100, int(of*float64(usable))) }
	var b strings.Builder
	how := "estimated"
	if s.Measured > 0 {
		how = "as the model counted them, and what came since estimated"
	}
	fmt.Fprintf(&b, "The model sees about %d of %d tokens (%d %%), %s.\n\n", tokens, usable, tokens*100/usable, how)
	fmt.Fprintf(&b, "- Window of the model: %d tokens, of which %d are kept for its answer\n", now.Window, now.MaxOutput)
	fmt.Fprintf(&b, "- In it: %d messages%s\n", len(s.Messages), promptSize(s))
	if comp := now.Runner.Compressor; comp != nil {
		preflight, summarize := comp.Thresholds()
		fmt.Fprintf(&b, "- While I work: old results of tools are left out from %s on, the middle is summarised from %s on\n", share(preflight), share(summarize))
	}
	fmt.Fprintf(&b, "- Before I begin: summarised from %s on\n", share(now.CompressAt))
	last, err := c.lastCompaction(ctx, s)
	switch {
	case err != nil:
		c.g.log.Warn("the last compaction could not be read", "conversation", c.key, "error", err)
		fallthrough
	case last == nil && s.Compactions > 0:
		fmt.Fprintf(&b, "- Compressed %d× in this session\n", s.Compactions)
	case last == nil:
		b.WriteString("- Not compressed in this session\n")
	default:
		fmt.Fprintf(&b, "- Compressed %d× in this session, the last time at %s: from about %d to %d tokens\n",
			s.Compactions, last.At.UTC().Format("2006-01-02 15:04 MST"), last.Before, last.After)
	}
	c.reply(ctx, in, b.String())
}

// promptSize says what stands before the messages.
func promptSize(s *sessions.Session) string {
	if s.Prompt == nil {
		return ""
	}
	return fmt.Sprintf(", behind %d KB of instructions and %d KB of descriptions of tools", kilobytes(len(s.Prompt.System)), kilobytes(len(s.Prompt.Tools)))
}

// kilobytes rounds up.
func kilobytes(n int) int { return (n + 999) / 1000 }

// lastCompaction returns the compaction that the history begins with, nil if it begins otherwise.
func (c *conversation) lastCompaction(ctx context.Context, s *sessions.Session) (*sessions.Compaction, error) {
	if s.Compactions == 0 || s.Base == 0 {
		return nil, nil
	}
	for r, err := range c.g.store.History(ctx, c.key, s.Base-1) {
		if err != nil {
			return nil, err
		}
		for _, e := range r.Entries {
			if done, ok := e.(sessions.Compaction); ok {
				return &done, nil
			}
		}
		break
	}
	return nil, nil
}
