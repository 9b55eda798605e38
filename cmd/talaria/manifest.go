package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/discord"
	"github.com/talaria-agent/talaria/platforms/slack"
)

// manifestCommand prints what a platform has to be told about the bot.
func manifestCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return choose(ctx, "talaria manifest", "What a platform has to be told about the bot.", []command{
		{"slack", "the app manifest: paste it at https://api.slack.com/apps, Create New App, From a manifest", slackManifest},
		{"discord", "the link that lets the bot into a server, and the intents to switch on", discordInvite},
	}, args, stdout, stderr)
}

// botName is what the bot is called where nothing else is said.
const botName = "Talaria"

func slackManifest(_ context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("manifest slack", stderr)
	name := f.String("name", botName, "name of the app, at most 35 characters")
	asJSON := f.Bool("json", false, "as JSON instead of YAML")
	link := f.Bool("link", false, "as a link that opens Slack with the manifest filled in")
	if _, err := parse(f, args); err != nil {
		return err
	}
	if n := len([]rune(*name)); n < 1 || n > 35 {
		return exit{2, errors.New("--name must have 1 to 35 characters")}
	}
	m := slack.NewManifest(*name)
	switch {
	case *link:
		address, err := m.NewAppURL()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(stdout, address)
		return err
	case *asJSON:
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		return e.Encode(m)
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		return err
	}
	_, err = stdout.Write(text)
	return err
}

// discordInvite prints the invitation. Without the application's id on the command line it asks Discord, with the token of
// the config.
func discordInvite(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("manifest discord", stderr)
	path := f.String("config", "", "config file (default: config.toml, if there is one)")
	application := f.String("application", "", "id of the application, from the developer portal (default: that of the configured token)")
	if _, err := parse(f, args); err != nil {
		return err
	}
	link := discord.Invite(*application)
	if *application == "" {
		cfg, _, err := loadConfig(findConfig(*path), os.Getenv)
		if err != nil {
			return err
		}
		if cfg.Platforms.Discord.Token == "" {
			return exit{2, errors.New("name the application with --application (developer portal, General Information, Application ID), or set platforms.discord.token")}
		}
		adapters, err := wireAdapters(PlatformsConfig{Discord: cfg.Platforms.Discord}, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, checkFor)
		defer cancel()
		found, err := adapters[0].(platforms.Checker).Check(ctx, 0)
		if err != nil {
			return errors.New(newRedactor(cfg.secrets()...).text(err.Error()))
		}
		link = found.Link
	}
	describeInvite(link, stdout)
	return nil
}

// describeInvite prints what has to be done for Discord.
func describeInvite(link string, stdout io.Writer) {
	fmt.Fprintf(stdout, "Let the bot into a server (you must be allowed to manage it):\n  %s\n\nWith these permissions (%d):\n", link, discord.PermissionBits())
	for _, p := range discord.Permissions() {
		fmt.Fprintf(stdout, "  %s\n", p.Name)
	}
	fmt.Fprintln(stdout, "\nIntents that it asks for:")
	for _, i := range discord.Intents() {
		fmt.Fprintf(stdout, "  %s%s\n", i.Name, cmp.Or(map[bool]string{true: ": switch it on at https://discord.com/developers/applications (Bot, Privileged Gateway Intents)"}[i.Privileged], ""))
	}
}

// checkFor bounds what a platform is asked.
const checkFor = 20 * time.Second
