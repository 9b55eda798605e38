package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/chattools"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/checkpoint"
	"github.com/talaria-agent/talaria/tools/files"
	"github.com/talaria-agent/talaria/tools/hooks"
	"github.com/talaria-agent/talaria/tools/mcp"
	"github.com/talaria-agent/talaria/tools/skills"
	"github.com/talaria-agent/talaria/tools/terminal"
)

// toolset is a group of tools that the config turns on by its name.
type toolset struct {
	name  string
	usual bool // on, unless the config says otherwise
	make  func(*kit) ([]tools.Tool, error)
	// wanted tells that the config turns it on without naming it; nil = it does not.
	wanted func(*Config) bool
}

// toolsets lists all of them, in the order in which their tools are declared to the model.
func toolsets() []toolset {
	return []toolset{
		{name: "files", usual: true, make: (*kit).files},
		{name: "terminal", usual: true, make: (*kit).terminal},
		{name: "web", usual: true, make: (*kit).web},
		{name: "ops", make: (*kit).ops, wanted: func(c *Config) bool { return c.Ops.some() }},
		{name: mcp.Toolset, make: (*kit).mcp, wanted: func(c *Config) bool { return len(c.MCP) > 0 }},
		{name: "memory", usual: true, make: func(k *kit) ([]tools.Tool, error) { return agenttools.NewMemory(k.notes) }},
		{name: skills.Toolset, usual: true, make: func(k *kit) ([]tools.Tool, error) { return skills.New(k.cfg.skills()) }},
		{name: "todo", usual: true, make: func(*kit) ([]tools.Tool, error) { return agenttools.NewTodo() }},
		{name: "session_search", usual: true, make: func(k *kit) ([]tools.Tool, error) { return k.search.Tools() }},
		{name: "clarify", usual: true, make: func(*kit) ([]tools.Tool, error) { return agenttools.NewClarify() }},
		{name: "delegation", usual: true, make: func(k *kit) ([]tools.Tool, error) {
			return agenttools.NewDelegation(agenttools.Delegation(k.cfg.Delegation))
		}},
		{name: chattools.Jobs, usual: true, make: fromGateway},
		{name: chattools.Messaging, usual: true, make: fromGateway},
	}
}

// fromGateway makes nothing: the gateway makes the tools of these toolsets itself, behind all others (see Config.chatTools).
func fromGateway(*kit) ([]tools.Tool, error) { return nil, nil }

// toolsetNames returns the names of all toolsets, or of those that are on by default.
func toolsetNames(usual bool) (names []string) {
	for _, set := range toolsets() {
		if set.usual || !usual {
			names = append(names, set.name)
		}
	}
	return names
}

// kit is what tools are made of, and what turned out to be missing.
type kit struct {
	cfg    *Config
	search *agenttools.Search
	notes  *agenttools.Notes
	reader tools.Describer // reads long pages
	redact redactor
	// keeper makes what looks after commands in the background; nil = nothing is ever called, as long as nothing runs.
	keeper    func(terminal.Sandbox) (*terminal.Processes, error)
	processes *terminal.Processes // nil = there is no terminal
	log       *slog.Logger
	missing   []tools.Missing
}

// lacks notes that a toolset cannot be had here, and why.
func (k *kit) lacks(set, reason string) {
	k.log.Warn("tools are not available", "toolset", set, "reason", reason, "more", `"talaria check" says what to do`)
	k.missing = append(k.missing, tools.Missing{Toolset: set, Reason: reason})
}

// wireTools makes the tools of the configured toolsets. Those that do not work here are left out and named.
func wireTools(cfg *Config, past agenttools.Past, notes *agenttools.Notes, reader tools.Describer, redact redactor, log *slog.Logger) (*tools.Registry, []tools.Missing, error) {
	k := &kit{cfg: cfg, search: agenttools.NewSearch(past), notes: notes, reader: reader, redact: redact, log: log}
	registry, err := k.registry()
	return registry, k.missing, err
}

// registry makes the tools.
func (k *kit) registry() (*tools.Registry, error) {
	cfg := k.cfg
	var all []tools.Tool
	for _, set := range toolsets() {
		named := slices.Contains(cfg.Tools.Toolsets, set.name)
		if !named && (set.wanted == nil || !set.wanted(cfg)) {
			continue
		}
		made, err := set.make(k)
		if err != nil {
			return nil, fmt.Errorf("toolset %s: %w", set.name, err)
		}
		all = append(all, made...)
	}
	return tools.NewRegistry(all...)
}

// liveTools makes the tools that run for real when a turn is played again: they do nothing but ask people, or start more
// of the loop.
func liveTools() ([]tools.Tool, error) {
	delegation, err := agenttools.NewDelegation(agenttools.Delegation(defaultConfig().Delegation))
	if err != nil {
		return nil, err
	}
	clarify, err := agenttools.NewClarify()
	return append(delegation, clarify...), err
}

// terminal makes the terminal in its sandbox, or nothing where none works.
func (k *kit) terminal() ([]tools.Tool, error) {
	cfg := k.cfg
	own, err := cfg.own()
	if err != nil {
		return nil, err
	}
	sandbox, err := findSandbox(cfg)
	if err != nil {
		k.lacks("terminal", oneLine(err))
		return nil, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // a user without one
	}
	secrets, err := files.NewSecrets(cfg.Tools.SecretFiles)
	if err != nil {
		return nil, err
	}
	keeper := k.keeper
	if keeper == nil {
		keeper = func(s terminal.Sandbox) (*terminal.Processes, error) { return terminal.NewProcesses("", "", s, k.log) }
	}
	if k.processes, err = keeper(sandbox); err != nil {
		return nil, err
	}
	return terminal.New(terminal.Options{
		Sandbox: sandbox, Network: cfg.Tools.Network, Deny: cfg.Tools.Deny, Own: own, Home: home, PID: os.Getpid(),
		Secret: secrets.Match, Processes: k.processes,
	})
}

// keepProcesses looks after commands in the background, and ends those of an earlier process of this instance, which must
// be gone.
func (c *Config) keepProcesses(log *slog.Logger) func(terminal.Sandbox) (*terminal.Processes, error) {
	return func(s terminal.Sandbox) (*terminal.Processes, error) {
		folder, err := filepath.Abs(c.DataDir)
		if err != nil {
			return nil, err
		}
		name := sha256.Sum256([]byte(folder))
		return terminal.NewProcesses(filepath.Join(c.state(), "background"), hex.EncodeToString(name[:8]), s, log)
	}
}

// backendLocal has commands run on this machine, as opposed to in a container.
const backendLocal = "local"

// findSandbox tries what the config wants.
func findSandbox(cfg *Config) (terminal.Sandbox, error) {
	own, err := cfg.own()
	if err != nil {
		return terminal.Sandbox{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if t := cfg.Tools.Terminal; t.Backend != backendLocal {
		return terminal.FindContainer(ctx, t.Backend, t.Image)
	}
	return terminal.FindSandbox(ctx, cfg.Tools.Sandbox, own)
}

// own returns the files and folders that are the gateway's and no command's.
func (c *Config) own() ([]string, error) {
	paths := []string{c.DataDir, c.File, c.EnvFile, c.Shadow.File}
	for _, s := range c.secretFields() {
		paths = append(paths, s.file)
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
	policy := tools.AskByRisk{tools.Executes, tools.Outside}
	if cfg.Approval == "off" {
		return tools.Unasked{Policy: policy}
	}
	return policy
}

// wireHooks makes the operator's hooks.
func wireHooks(all []HookConfig) []tools.Hook {
	var made []tools.Hook
	for _, h := range all {
		made = append(made, hooks.Command(h))
	}
	return made
}

// files makes the tools that work on files.
func (k *kit) files() ([]tools.Tool, error) {
	secrets, err := files.NewSecrets(k.cfg.Tools.SecretFiles)
	if err != nil {
		return nil, err
	}
	return files.New(secrets)
}

// wireCheckpoints makes the store of copies of work folders, nil if none are to be kept.
func wireCheckpoints(cfg *Config, log *slog.Logger) (*checkpoint.Store, error) {
	if cfg.Tools.Checkpoints == 0 {
		return nil, nil
	}
	secrets, err := files.NewSecrets(cfg.Tools.SecretFiles)
	if err != nil {
		return nil, err
	}
	return checkpoint.New(checkpoint.Options{
		Folder: cfg.checkpoints(), Keep: cfg.Tools.Checkpoints, Skip: []string{loop.ResultsFolder, gateway.AttachmentsFolder}, Secret: secrets.Match, Log: log,
	}), nil
}
