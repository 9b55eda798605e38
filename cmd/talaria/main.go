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

	"github.com/talaria-agent/talaria/tools/terminal"
)

const usage = `Talaria puts an AI agent into Slack, Telegram and Discord.

Usage:
  talaria lab     try everything here, with simulated platforms and a demonstration model
  talaria run     connect to the real platforms (config.toml, or environment variables)
  talaria check   check the config and the tokens, and say what is wrong
  talaria health  ask a running instance whether it is well
  talaria version

"talaria COMMAND -h" shows the flags of a command.
`

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
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exit{code: 2}
	}
	name, rest := args[0], args[1:]
	switch name {
	case "lab":
		return lab(ctx, rest, stdout, stderr)
	case "run":
		return run(ctx, rest, stderr)
	case "check":
		return check(ctx, rest, stdout, stderr)
	case "health":
		return health(ctx, rest, stdout, stderr)
	case terminal.ConfineCommand: // how the sandbox of the terminal tool begins a command
		return terminal.Confine(rest)
	case "version", "--version", "-v":
		fmt.Fprintln(stdout, "talaria", version())
		return nil
	case "help", "--help", "-h":
		fmt.Fprint(stdout, usage)
		return nil
	default:
		fmt.Fprint(stderr, usage)
		return exit{2, fmt.Errorf("there is no command %q", name)}
	}
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

// flags makes a flag set that reports to stderr.
func flags(name string, stderr io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("talaria "+name, flag.ContinueOnError)
	f.SetOutput(stderr)
	return f
}

// parse reads the flags; anything left over is an error. The flag set has said what is wrong already.
func parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return exit{code: 2}
	}
	if f.NArg() > 0 {
		return exit{2, fmt.Errorf("%s takes no argument %q", f.Name(), f.Arg(0))}
	}
	return nil
}
