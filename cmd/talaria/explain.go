package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/chattools"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// explainRequest describes a message.
type explainRequest struct {
	Platform  platforms.Name     `json:"platform"`
	Account   string             `json:"account,omitempty"`
	User      string             `json:"user"`
	Chat      string             `json:"chat,omitempty"`
	Thread    string             `json:"thread,omitempty"`
	Kind      platforms.ChatKind `json:"kind,omitempty"`
	Text      string             `json:"text,omitempty"`
	Mentioned bool               `json:"mentioned,omitempty"`
}

// explain says what would become of a message, without sending or storing anything.
func explain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("explain", stderr)
	path := f.String("config", "", "config file (default: config.toml, if there is one)")
	var in explainRequest
	f.StringVar((*string)(&in.Platform), "platform", "", "telegram, slack or discord")
	f.StringVar(&in.User, "user", "", "stable id of who writes")
	f.StringVar(&in.Chat, "chat", "", "id of the chat; empty = a direct message")
	f.StringVar(&in.Thread, "thread", "", "id of the topic or thread")
	f.StringVar((*string)(&in.Kind), "kind", "", "dm, group, channel, topic or thread; empty = what the ids look like")
	f.StringVar(&in.Account, "account", "", "id of the bot's account, if there were several")
	f.StringVar(&in.Text, "text", "", "what is written")
	f.BoolVar(&in.Mentioned, "mention", false, "it mentions the bot, or replies to it")
	if _, err := parse(f, args); err != nil {
		return err
	}
	if _, known := idShapes[in.Platform]; !known || in.User == "" {
		return exit{2, errors.New("name a platform and a user: talaria explain --platform telegram --user 123 --chat -100123")}
	}
	cfg, _, err := loadConfig(findConfig(*path), os.Getenv)
	if err != nil {
		return err
	}
	if _, err := os.Stat(cfg.database()); errors.Is(err, fs.ErrNotExist) {
		return instance{config: always(&cfg), store: memory.New()}.explain(ctx, in, stdout)
	}
	return operate(ctx, cfg, "explain", in, stdout)
}

// message is the message that is asked about.
func (in explainRequest) message(account string) *platforms.Message {
	m := &platforms.Message{Text: in.Text, Mentioned: in.Mentioned}
	m.Address = platforms.Address{Platform: in.Platform, Account: account, Chat: cmp.Or(in.Chat, in.User), Thread: in.Thread}
	m.Sender.ID, m.Kind = in.User, cmp.Or(in.Kind, in.looksLike())
	return m
}

// looksLike tells from the ids what kind of place it is, as far as they say.
func (in explainRequest) looksLike() platforms.ChatKind {
	switch {
	case in.Chat == "", in.Platform == platforms.Telegram && !strings.HasPrefix(in.Chat, "-"),
		in.Platform == platforms.Slack && strings.HasPrefix(in.Chat, "D"):
		return platforms.Direct
	case in.Platform == platforms.Telegram && in.Thread != "":
		return platforms.Topic
	case in.Platform == platforms.Telegram:
		return platforms.Group
	case in.Platform == platforms.Slack || in.Thread != "":
		return platforms.Thread
	}
	return platforms.Channel
}

// account returns the bot's account as the stored conversations of the platform have it.
func (i instance) account(ctx context.Context, p platforms.Name) (string, error) {
	for key, err := range i.store.Keys(ctx) {
		if err != nil {
			return "", err
		}
		if parts := strings.Split(string(key), "/"); parts[0] == string(p) && len(parts) > 1 && parts[1] != "" {
			return parts[1], nil
		}
	}
	if bot, _, ok := strings.Cut(i.config().Platforms.Telegram.Token, ":"); ok && p == platforms.Telegram {
		return bot, nil
	}
	return "ACCOUNT", nil
}

// explain is the operation.
func (i instance) explain(ctx context.Context, in explainRequest, out io.Writer) error {
	if in.Account == "" {
		account, err := i.account(ctx, in.Platform)
		if err != nil {
			return err
		}
		in.Account = account
	}
	m := in.message(in.Account)
	e, err := gateway.Explain(ctx, i.config().access(), i.store, m)
	if err != nil {
		return err
	}
	line := func(name, format string, a ...any) { fmt.Fprintf(out, "%-9s %s\n", name, fmt.Sprintf(format, a...)) }
	line("access", "%s: %s", yes(e.Access.Admitted, "admitted", "refused"), e.Access.Rule)
	if !e.Access.Admitted {
		return nil
	}
	line("mention", "%s: %s", yes(e.Addressed.Admitted, "for the bot", "not for the bot"), e.Addressed.Rule)
	line("session", "%s (%s)", e.Key, m.Kind)
	line("admin", "%s", yes(e.Admin, "yes", "no"))
	if e.Command != "" {
		line("command", "%s: the gateway answers it, no model is asked", e.Command)
	}
	for _, place := range m.Address.Places() {
		if slices.Contains(i.config().Shadow.Places, place) {
			line("shadow", "%s: nothing is sent, it is written to %s", place, i.config().shadowFile())
		}
	}
	return i.explainTurn(line)
}

// explainTurn says what a turn would work with.
func (i instance) explainTurn(line func(name, format string, a ...any)) error {
	c := i.config()
	profile, err := c.profile(c.Model.Name)
	if err != nil {
		return err
	}
	line("model", "%s, window %d, profile %s, %d fallbacks", cmp.Or(c.Model.Name, "not named"), c.Model.Window, cmp.Or(profile.Match, "none"), len(c.Fallbacks))
	limits, err := c.limits()
	if err != nil {
		return err
	}
	line("limits", "%d model calls, %d tool calls, %d tokens, %s", limits.MaxTurns, limits.MaxToolCalls, limits.MaxTokens, limits.Timeout)
	line("busy", "%s", c.Gateway.Busy)
	line("approval", "%s", c.Tools.Approval)
	notes := agenttools.NewNotes(c.notes(), c.Memory.Limit, c.Memory.UserLimit)
	registry, missing, err := wireTools(c, i.store, notes, nil, newRedactor(), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	own, err := chattools.New(nil, c.chatTools()...)
	if err != nil {
		return err
	}
	names := registry.Names()
	for _, t := range own {
		names = append(names, t.Spec().Name)
	}
	line("tools", "%s", strings.Join(names, ", "))
	for _, m := range c.MCP {
		line("", "and what the MCP server %s offers", m.Name)
	}
	for _, m := range missing {
		line("", "not there: %s: %s", cmp.Or(m.Name, "toolset "+m.Toolset), m.Reason)
	}
	return nil
}

func yes(is bool, then, otherwise string) string {
	if is {
		return then
	}
	return otherwise
}
