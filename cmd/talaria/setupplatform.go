package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/slack"
)

// token is a secret that a platform needs.
type token struct {
	variable string // its name in secrets.env
	title    string
	value    *string
}

func (w *wizard) tokens(name platforms.Name) []token {
	p := &w.accounts
	switch name {
	case platforms.Telegram:
		return []token{{"TELEGRAM_BOT_TOKEN", "The bot's token", &p.Telegram.Token}}
	case platforms.Slack:
		return []token{
			{"SLACK_BOT_TOKEN", "Bot User OAuth Token (xoxb-...)", &p.Slack.BotToken},
			{"SLACK_APP_TOKEN", "App-Level Token (xapp-...)", &p.Slack.AppToken},
		}
	default:
		return []token{{"DISCORD_BOT_TOKEN", "The bot's token", &p.Discord.Token}}
	}
}

// only returns the accounts with the tokens of one platform.
func (w *wizard) only(name platforms.Name) PlatformsConfig {
	var p PlatformsConfig
	switch name {
	case platforms.Telegram:
		p.Telegram = w.accounts.Telegram
	case platforms.Slack:
		p.Slack = w.accounts.Slack
	default:
		p.Discord = w.accounts.Discord
	}
	return p
}

// steps says how to get the tokens of a platform.
func steps(name platforms.Name) (string, error) {
	switch name {
	case platforms.Telegram:
		return "1. Open https://t.me/BotFather and send it /newbot; choose a name.\n2. Copy the token that it shows.", nil
	case platforms.Slack:
		link, err := slack.NewManifest(botName).NewAppURL()
		return "1. Open this link, choose the workspace, and press Next and Create (what the app may do is filled in):\n   " + link +
			"\n2. Basic Information, App-Level Tokens, Generate: add the scope connections:write. Copy the token (xapp-...).\n" +
			"3. Install App, Install to Workspace. Copy the Bot User OAuth Token (xoxb-...).", err
	default:
		return "1. Open https://discord.com/developers/applications, New Application.\n" +
			"2. Bot, Privileged Gateway Intents: switch on Message Content Intent, Save.\n3. Bot, Reset Token: copy the token.", nil
	}
}

// connect gets the tokens of a platform, tries them, and learns who sits there.
func (w *wizard) connect(ctx context.Context, name platforms.Name) error {
	title := strings.ToUpper(string(name[:1])) + string(name[1:])
	fmt.Fprintf(w.out, "\n%s\n", title)
	for shown := false; ; {
		asked, err := w.askTokens(name, &shown)
		if err != nil {
			return err
		}
		adapter, err := w.try(ctx, name)
		if err == nil {
			return w.learn(ctx, adapter, title)
		}
		if ctx.Err() != nil || w.asks == nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(w.out, "  That does not work: %v\n", err)
		if !asked && platforms.ClassOf(err) == platforms.Transient {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, t := range w.tokens(name) { // ask for them again
			*t.value = ""
		}
	}
}

// askTokens asks for what is not known yet, and says before how to get it.
func (w *wizard) askTokens(name platforms.Name, shown *bool) (asked bool, err error) {
	for _, t := range w.tokens(name) {
		if *t.value != "" {
			continue
		}
		if w.asks == nil {
			return false, fmt.Errorf("%s: %s is missing", name, t.variable)
		}
		if !*shown {
			how, err := steps(name)
			if err != nil {
				return false, err
			}
			fmt.Fprintln(w.out, how)
			*shown = true
		}
		if *t.value, err = w.asks.secret(t.title, "It is not shown."); err != nil {
			return false, err
		}
		*t.value = strings.TrimSpace(*t.value)
		asked = true
	}
	return asked, nil
}

// try asks the platform about the bot and says what it says. The error holds no secret.
func (w *wizard) try(ctx context.Context, name platforms.Name) (platforms.Adapter, error) {
	redact := newRedactor(w.secrets()...)
	adapters, err := wireAdapters(w.only(name), slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, errors.New(redact.text(err.Error()))
	}
	within, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	found, err := adapters[0].(platforms.Checker).Check(within, 0)
	if err != nil {
		return nil, &platforms.Error{Class: platforms.ClassOf(err), Op: "check", Err: errors.New(redact.text(err.Error()))}
	}
	fmt.Fprintf(w.out, "  It works: %s\n", found.Who)
	for _, p := range found.Problems {
		fmt.Fprintf(w.out, "  ! %s.\n    %s.\n", p.What, p.Cure)
	}
	if name == platforms.Discord {
		fmt.Fprintf(w.out, "  Let the bot into your server, if it is not there yet:\n  %s\n", found.Link)
	} else if found.Link != "" {
		fmt.Fprintf(w.out, "  You find it at %s\n", found.Link)
	}
	return adapters[0], nil
}

// secrets returns what must not be shown.
func (w *wizard) secrets() []string {
	cfg := Config{Platforms: w.accounts, Model: w.model}
	return cfg.secrets()
}

// learn finds out who the person is, unless that is known: by a message with a number that is shown here alone, so that
// nobody else who happens to write is taken for him. What else is waiting for the bot is read with it and not answered.
func (w *wizard) learn(ctx context.Context, adapter platforms.Adapter, title string) error {
	for _, id := range w.people {
		if strings.HasPrefix(id, string(adapter.Name())+":") {
			return nil
		}
	}
	if w.wait <= 0 {
		return nil
	}
	n, err := rand.Int(rand.Reader, big.NewInt(900_000))
	if err != nil {
		return err
	}
	code := fmt.Sprint(100_000 + n.Int64())
	if w.asks != nil {
		find, err := w.asks.yes("Find out your own id on "+title+"?", "You send the bot a number; then you may use it, and are its admin.")
		if err != nil || !find {
			return err
		}
	}
	m, err := hear(ctx, adapter, code, w.wait, func() {
		fmt.Fprintf(w.out, "  Send the bot this number as a direct message now: %s\n  Waiting %s ...\n", code, w.wait)
	})
	switch {
	case ctx.Err() != nil:
		return errNothingWritten
	case err != nil:
		fmt.Fprintf(w.out, "  %s. Going on without.\n", newRedactor(w.secrets()...).text(err.Error()))
		return nil
	}
	place := string(adapter.Name()) + ":"
	w.people, w.homes = append(w.people, place+m.Sender.ID), append(w.homes, place+m.Address.Chat)
	fmt.Fprintf(w.out, "  You are %s%s.\n", place, m.Sender.ID)
	greet, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	if _, err := adapter.Send(greet, m.Address, platforms.Outgoing{Text: "That was you. I will be here as soon as I am started.", Class: platforms.PriorityFinal}); err != nil {
		fmt.Fprintf(w.out, "  ! The bot could not answer you: %s\n", newRedactor(w.secrets()...).text(err.Error()))
	}
	return nil
}

// hear receives until somebody sends a direct message with the code. It calls ready once a message would be heard.
func hear(ctx context.Context, adapter platforms.Adapter, code string, wait time.Duration, ready func()) (*platforms.Message, error) {
	within, stop := context.WithTimeout(ctx, wait)
	defer stop()
	connected := make(chan struct{})
	go func() {
		defer close(connected)
		if awaitConnection(within, adapter) {
			ready()
		}
	}()
	defer func() { <-connected }()
	defer stop()
	found := make(chan *platforms.Message, 1)
	err := adapter.Run(within, func(_ context.Context, u platforms.Update) (platforms.Receipt, error) {
		if m, ok := u.(*platforms.Message); ok && m.Kind == platforms.Direct && !m.Sender.Bot && strings.Contains(m.Text, code) {
			select {
			case found <- m:
			default:
			}
			time.AfterFunc(acknowledgeFor, stop) // so that the platform hears that it arrived
		}
		return platforms.Receipt{}, nil
	})
	select {
	case m := <-found:
		return m, nil
	default:
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("nobody sent it within %s", wait)
}

// awaitConnection waits until a platform that does not keep messages for us is heard; false if the context ended first.
func awaitConnection(ctx context.Context, adapter platforms.Adapter) bool {
	h, ok := adapter.(platforms.Historian)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for ok && h.LastAlive().IsZero() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// acknowledgeFor is how long the adapter goes on after it has received what was waited for.
const acknowledgeFor = 300 * time.Millisecond
