package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// check reads the config, says what it found, and asks each platform who the bot is.
func check(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("check", stderr)
	path := f.String("config", "", "config file (default: config.toml, if there is one)")
	if _, err := parse(f, args); err != nil {
		return err
	}
	found := findConfig(*path)
	cfg, warnings, err := loadConfig(found, os.Getenv)
	if err != nil {
		return err
	}
	if found == "" {
		fmt.Fprintln(stdout, "config    no config.toml here; using the environment and the defaults")
	} else {
		fmt.Fprintf(stdout, "config    %s is fine\n", found)
	}
	for _, w := range warnings {
		fmt.Fprintf(stdout, "warning   %s\n", w)
	}
	adapters, err := wireAdapters(cfg.Platforms, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if cfg.Model.Name == "" {
		fmt.Fprintln(stdout, "model     not named: set model.name, or TALARIA_MODEL")
	} else {
		fmt.Fprintf(stdout, "model     %s at %s\n", cfg.Model.Name, withoutPassword(cfg.Model.BaseURL))
		describeAuxiliary(cfg.Auxiliary, stdout)
	}
	sandbox, contained := describeSandbox(&cfg)
	fmt.Fprintf(stdout, "sandbox   %s\n", sandbox)
	damaged := checkDatabase(&cfg, stdout)
	bad := checkTokens(ctx, adapters, newRedactor(cfg.secrets()...), stdout)
	access := cfg.access()
	for _, a := range adapters {
		fmt.Fprintf(stdout, "access    %s: users %d, chats %d, admins %d\n", a.Name(),
			len(access.Users[a.Name()]), len(access.Chats[a.Name()]), len(access.Admins[a.Name()]))
	}
	if bad || damaged || !contained || cfg.Model.Name == "" {
		return exit{code: 1}
	}
	return nil
}

// checkDatabase reads all of the database, if there is one that nobody uses, and reports whether it cannot be used.
func checkDatabase(cfg *Config, stdout io.Writer) (bad bool) {
	if _, err := os.Stat(cfg.database()); err != nil {
		fmt.Fprintln(stdout, "database  none yet")
		return false
	}
	switch err := bolt.Check(cfg.database()); {
	case errors.Is(err, sessions.ErrInUse):
		fmt.Fprintln(stdout, "database  not read, because an instance is using it")
	case err != nil:
		fmt.Fprintf(stdout, "database  NOT usable: %s\n          Restore a backup, or save what can be saved: talaria sessions repair\n", oneLine(err))
		return true
	default:
		fmt.Fprintln(stdout, "database  read whole, nothing is damaged")
	}
	return false
}

// describeAuxiliary says which tasks have models of their own.
func describeAuxiliary(a AuxiliaryConfig, stdout io.Writer) {
	for _, task := range []struct {
		name string
		own  []EndpointConfig
	}{{"summaries", a.Compression}, {"vision", a.Vision}, {"web", a.Web}, {"approval", a.Approval}} {
		if len(task.own) == 0 {
			continue
		}
		fmt.Fprintf(stdout, "%-9s ", task.name)
		for _, e := range task.own {
			fmt.Fprintf(stdout, "%s, ", e.Name)
		}
		fmt.Fprintln(stdout, "then the main model")
	}
}

// checkTokens asks each platform who the bot is and reports whether any refused.
func checkTokens(ctx context.Context, adapters []platforms.Adapter, r redactor, stdout io.Writer) (bad bool) {
	for _, a := range adapters {
		c, ok := a.(platforms.Checker)
		if !ok {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		line, err := c.Check(ctx)
		cancel()
		if err != nil {
			bad = true
			line = "NOT working: " + r.text(err.Error()) + advice(a.Name(), err)
		}
		fmt.Fprintf(stdout, "%-9s %s\n", a.Name(), line)
	}
	return bad
}

// advice says what to look at when a platform does not work; a fatal error says so itself.
func advice(name platforms.Name, err error) string {
	if platforms.ClassOf(err) == platforms.Transient {
		return fmt.Sprintf("\n          Is there a network, and is platforms.%s.api_url right if it is set?", name)
	}
	return ""
}
