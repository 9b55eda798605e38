// Command talaria is a messaging gateway that puts an AI agent into Slack, Telegram and Discord.
//
// Its subcommands are thin: config.go is the only place that knows TOML and the environment, wire.go the only one
// where concrete adapters, stores and models meet. Everything else is in the packages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // jobs know time zones also where the machine does not, as in the Docker image

	"github.com/talaria-agent/talaria/tools/terminal"
)

// exit is an error that ends the program with a code of its own; a nil err says nothing more.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	os.Exit(start(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// start runs one subcommand and returns the exit code.
func start(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	var e exit
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &e):
		if e.err != nil {
			fmt.Fprintln(stderr, "talaria:", newRedactor().text(e.err.Error()))
		}
		return e.code
	default:
		fmt.Fprintln(stderr, "talaria:", newRedactor().text(err.Error()))
		return 1
	}
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return choose(ctx, "talaria", "Talaria puts an AI agent into Slack, Telegram and Discord.", []command{
		{"lab", "try everything here, with simulated platforms and a demonstration model", lab},
		{"run", "connect to the real platforms (config.toml, or environment variables)", run},
		{"setup", "set everything up: asks, tries each token, and writes the config", setup},
		{"check", "check the config, the tokens, the model and the rest, and say what is wrong and what to do", check},
		{"manifest", "print the Slack app manifest, or the link that lets the bot into a Discord server", manifestCommand},
		{"explain", "say what would become of somebody's message, and why", explain},
		{"health", "ask a running instance whether it is well", health},
		{"sessions", "list, export, back up, delete and repair conversations", sessionsCommand},
		{"audit", "say who had what done and who allowed it; audit verify: whether that was changed", auditCommand},
		{"forget", "erase what one person has said, and the notes about him", forgetCommand},
		{"version", "say which version this is", func(_ context.Context, _ []string, stdout, _ io.Writer) error {
			fmt.Fprintln(stdout, "talaria", version())
			return nil
		}},
		// How the sandbox of the terminal tool begins a command.
		{terminal.ConfineCommand, "", func(_ context.Context, args []string, _, _ io.Writer) error { return terminal.Confine(args) }},
	}, args, stdout, stderr)
}

// version returns the version that the binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value[:min(12, len(s.Value))]
		}
	}
	return v + " " + info.GoVersion
}
