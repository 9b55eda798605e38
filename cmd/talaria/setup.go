package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/talaria-agent/talaria/platforms"
)

// errNothingWritten ends a set-up that somebody broke off.
var errNothingWritten = errors.New("stopped; nothing was written")

// setup asks what is needed to run, tries all of it, and writes a config with the secrets in a file of their own. Without
// a terminal, or with --yes, it asks nothing and takes everything from flags and the environment.
func setup(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	w := &wizard{out: stdout, environment: os.Getenv}
	f := flags("setup", stderr)
	yes := f.Bool("yes", false, "ask nothing; take everything from the flags and the environment")
	w.flags(f.StringVar)
	f.BoolVar(&w.force, "force", false, "put the new config into the place of one that is there; the old one is kept as FILE.old")
	f.DurationVar(&w.wait, "find", 0, "without questions: wait this long for a message from you on each platform, to learn your id (\"2m\")")
	f.Func("user", "somebody who may use the bot, and is an admin: telegram:123456789 (repeat the flag for more)", func(id string) error {
		w.people = append(w.people, id)
		return nil
	})
	if _, err := parse(f, args); err != nil {
		return err
	}
	if !*yes {
		if !term.IsTerminal(os.Stdin.Fd()) || !term.IsTerminal(os.Stdout.Fd()) {
			return exit{2, errors.New("this is no terminal, so nothing can be asked: use talaria setup --yes with flags (talaria setup -h), or environment variables")}
		}
		w.asks = forms{ctx: ctx, in: os.Stdin, out: os.Stdout, plain: os.Getenv("ACCESSIBLE") != "" || os.Getenv("TERM") == "dumb"}
		w.wait = askedWait
	}
	w.fromEnvironment()
	err := w.run(ctx)
	if ctx.Err() != nil && err != nil {
		err = errNothingWritten
	}
	if errors.Is(err, errNothingWritten) {
		return exit{130, err}
	}
	return err
}

// askedWait is how long the wizard waits for a person's message.
const askedWait = 5 * time.Minute

// wizard holds what a set-up has found out.
type wizard struct {
	asks        asker // nil = nobody can be asked
	out         io.Writer
	environment func(string) string

	file   string
	force  bool
	wait   time.Duration // for a message; 0 = none is waited for
	people []string      // "telegram:123": users and admins
	homes  []string      // "telegram:123": where they are told what needs care

	accounts PlatformsConfig
	model    ModelConfig
}

// asker asks a person. Every method returns errNothingWritten if he breaks off.
type asker interface {
	choose(title, about string, options []option) (string, error)
	several(title, about string, options []option, chosen []string) ([]string, error)
	text(title, about, value string) (string, error)
	secret(title, about string) (string, error)
	yes(title, about string) (bool, error)
}

// option is something to choose.
type option struct{ value, label string }

// flags declares what can be said on the command line. A secret is better put into the environment: other users of the
// machine can see the command line.
func (w *wizard) flags(add func(p *string, name, value, usage string)) {
	p := &w.accounts
	add(&w.file, "config", "config.toml", "file to write; the secrets go into secrets.env beside it")
	add(&p.Telegram.Token, "telegram-token", "", "token of the Telegram bot (better: TELEGRAM_BOT_TOKEN in the environment)")
	add(&p.Slack.BotToken, "slack-bot-token", "", "xoxb-... (better: SLACK_BOT_TOKEN)")
	add(&p.Slack.AppToken, "slack-app-token", "", "xapp-... (better: SLACK_APP_TOKEN)")
	add(&p.Discord.Token, "discord-token", "", "token of the Discord bot (better: DISCORD_BOT_TOKEN)")
	add(&w.model.APIKey, "model-key", "", "key for the model (better: OPENAI_API_KEY or ANTHROPIC_API_KEY)")
	add(&w.model.Name, "model", "", "name of the model (or TALARIA_MODEL); without it the first run lists what there is")
	add(&w.model.API, "api", "", "chat (default), responses or messages")
	add(&w.model.BaseURL, "base-url", "", "address of the model's API (or OPENAI_BASE_URL)")
	add(&p.Telegram.APIURL, "telegram-url", "", "of another Bot API server")
	add(&p.Slack.APIURL, "slack-url", "", "in place of https://slack.com/api/")
	add(&p.Discord.APIURL, "discord-url", "", "in place of https://discord.com")
}

// fromEnvironment takes what was not said on the command line from the environment, by the names that run knows.
func (w *wizard) fromEnvironment() {
	cfg := Config{Platforms: w.accounts, Model: w.model}
	if cfg.Model.API == "" {
		cfg.Model.API = "chat"
	}
	if cfg.Model.BaseURL == "" && cfg.Model.API != messagesAPI {
		cfg.Model.BaseURL = defaultConfig().Model.BaseURL
	}
	fromEnvironment(&cfg, w.environment)
	chosen := w.model.API
	w.accounts, w.model = cfg.Platforms, cfg.Model
	if chosen == "" && w.asks != nil {
		w.model.API = ""
	}
}

// run asks and tries one thing after the other, and writes at the end, so that whoever breaks off leaves nothing behind.
func (w *wizard) run(ctx context.Context) error {
	if err := w.mayWrite(); err != nil {
		return err
	}
	fmt.Fprintln(w.out, "Each token is tried before anything is written. Ctrl-C stops, and leaves everything as it is.")
	chosen, err := w.choosePlatforms()
	if err != nil {
		return err
	}
	for _, name := range chosen {
		if err := w.connect(ctx, name); err != nil {
			return err
		}
	}
	if len(w.people) == 0 {
		fmt.Fprintln(w.out, "\nNobody may use the bot yet. Write to it: it tells you your id, which belongs into access.users.")
	}
	if err := w.chooseModel(ctx); err != nil {
		return err
	}
	return w.write(ctx)
}

// mayWrite makes sure that no config is overwritten unasked.
func (w *wizard) mayWrite() error {
	var there []string
	for _, file := range []string{w.file, w.secretsFile()} {
		if _, err := os.Lstat(file); err == nil {
			there = append(there, file)
		}
	}
	if len(there) == 0 || w.force {
		return nil
	}
	names := strings.Join(there, " and ")
	if w.asks == nil {
		return fmt.Errorf("%s: there already, and nothing was changed; --force replaces it and keeps the old one as FILE.old", names)
	}
	replace, err := w.asks.yes(names+": there already. Put new ones in their place at the end?", "The old ones are kept, with .old behind their names.")
	if err == nil && !replace {
		err = errNothingWritten
	}
	return err
}

var everyPlatform = []platforms.Name{platforms.Telegram, platforms.Slack, platforms.Discord}

// choosePlatforms returns the platforms that are to be connected: those with a token, unless a person chooses.
func (w *wizard) choosePlatforms() (chosen []platforms.Name, err error) {
	var options []option
	var given []string
	for _, name := range everyPlatform {
		options = append(options, option{string(name), strings.ToUpper(string(name[:1])) + string(name[1:])})
		if slices.ContainsFunc(w.tokens(name), func(t token) bool { return *t.value != "" }) {
			given = append(given, string(name))
		}
	}
	if w.asks != nil {
		if given, err = w.asks.several("Where shall the bot be?", "Space marks, Enter goes on.", options, given); err != nil {
			return nil, err
		}
	}
	for _, name := range given {
		chosen = append(chosen, platforms.Name(name))
	}
	if len(chosen) == 0 {
		return nil, errors.New("no platform was chosen, so there is nothing to set up: give at least one token (talaria setup -h)")
	}
	return chosen, nil
}
