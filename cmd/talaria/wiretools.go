package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/files"
	"github.com/talaria-agent/talaria/tools/terminal"
)

// wireTools makes the tools of the configured toolsets. The terminal is left out where it does not work, which the log
// says.
func wireTools(cfg *Config, past agenttools.Past, notes *agenttools.Notes, log *slog.Logger) (*tools.Registry, error) {
	var all []tools.Tool
	for _, set := range []struct {
		name string
		make func() ([]tools.Tool, error)
	}{
		{"files", files.New},
		{"terminal", func() ([]tools.Tool, error) { return wireTerminal(cfg, log) }},
		{"memory", func() ([]tools.Tool, error) { return agenttools.NewMemory(notes) }},
		{"todo", agenttools.NewTodo},
		{"session_search", func() ([]tools.Tool, error) { return agenttools.NewSearch(past) }},
		{"clarify", agenttools.NewClarify},
		{"delegation", func() ([]tools.Tool, error) {
			return agenttools.NewDelegation(agenttools.Delegation(cfg.Delegation))
		}},
	} {
		if !slices.Contains(cfg.Tools.Toolsets, set.name) {
			continue
		}
		made, err := set.make()
		if err != nil {
			return nil, fmt.Errorf("toolset %s: %w", set.name, err)
		}
		all = append(all, made...)
	}
	return tools.NewRegistry(all...)
}

// wireTerminal makes the terminal in its sandbox, or nothing where none works.
func wireTerminal(cfg *Config, log *slog.Logger) ([]tools.Tool, error) {
	own, err := cfg.own()
	if err != nil {
		return nil, err
	}
	sandbox, err := findSandbox(cfg)
	if err != nil {
		log.Warn("the terminal tool is not available", "reason", oneLine(err), "more", `"talaria check" says what to do`)
		return nil, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // a user without one
	}
	return terminal.New(terminal.Options{
		Sandbox: sandbox, Network: cfg.Tools.Network, Deny: cfg.Tools.Deny, Own: own, Home: home, PID: os.Getpid(),
	})
}

// findSandbox tries what the config wants.
func findSandbox(cfg *Config) (terminal.Sandbox, error) {
	own, err := cfg.own()
	if err != nil {
		return terminal.Sandbox{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return terminal.FindSandbox(ctx, cfg.Tools.Sandbox, own)
}

// own returns the files and folders that are the gateway's and no command's.
func (c *Config) own() ([]string, error) {
	p := &c.Platforms
	paths := []string{
		c.DataDir, c.File, c.Model.APIKeyFile, p.Telegram.TokenFile, p.Slack.BotTokenFile, p.Slack.AppTokenFile, p.Discord.TokenFile,
	}
	for _, e := range c.endpoints() {
		paths = append(paths, e.APIKeyFile)
	}
	var all []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", path, err)
		}
		all = append(all, absolute)
	}
	return all, nil
}

// describeSandbox says what keeps commands in their place, for a person, and whether they can run.
func describeSandbox(cfg *Config) (line string, ok bool) {
	if !slices.Contains(cfg.Tools.Toolsets, "terminal") {
		return "the terminal tool is off", true
	}
	sandbox, err := findSandbox(cfg)
	switch {
	case errors.Is(err, terminal.ErrNoShell):
		return "there is no shell here, so there is no terminal tool", true
	case errors.Is(err, terminal.ErrNoSandbox):
		return "NONE WORKS, so the terminal tool is not available: " + oneLine(err) +
			`. Install bubblewrap, or use a kernel with Landlock (5.19 or newer), or set tools.sandbox = "off" to run commands without`, false
	case err != nil:
		return "NOT working: " + oneLine(err), false
	case sandbox.Name() == terminal.Off:
		return "off: commands can reach whatever this user can", true
	}
	return sandbox.Name() + ": tried with a command that could not read or write outside of its folder, and not use the network", true
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// wirePolicy makes the policy that says which calls need a person's permission.
func wirePolicy(cfg ToolsConfig) tools.Policy {
	policy := tools.AskByRisk{tools.Executes}
	if cfg.Approval == "off" {
		return tools.Unasked{Policy: policy}
	}
	return policy
}
