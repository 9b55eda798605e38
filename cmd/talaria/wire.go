package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/metrics"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/discord"
	"github.com/talaria-agent/talaria/platforms/slack"
	"github.com/talaria-agent/talaria/platforms/telegram"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools/terminal"
)

// labGrace is how long the lab takes to shut down. It keeps nothing, so it need not be patient.
const labGrace = time.Second

// wireAdapters makes the adapters of all platforms that have a token.
func wireAdapters(cfg PlatformsConfig, log *slog.Logger) ([]platforms.Adapter, error) {
	var all []platforms.Adapter
	if t := cfg.Telegram; t.Token != "" {
		a, err := telegram.New(telegram.Config{Token: t.Token, APIURL: t.APIURL, Log: log})
		if err != nil {
			return nil, fmt.Errorf("platforms.telegram: %w", err)
		}
		all = append(all, a)
	}
	if s := cfg.Slack; s.BotToken != "" {
		a, err := slack.New(slack.Config{BotToken: s.BotToken, AppToken: s.AppToken, APIURL: s.APIURL, Log: log})
		if err != nil {
			return nil, fmt.Errorf("platforms.slack: %w", err)
		}
		all = append(all, a)
	}
	if d := cfg.Discord; d.Token != "" {
		a, err := discord.New(discord.Config{Token: d.Token, APIURL: d.APIURL, GatewayURL: d.GatewayURL, Log: log})
		if err != nil {
			return nil, fmt.Errorf("platforms.discord: %w", err)
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, errors.New(`no platform has a token, so there is nothing to connect to.
Set at least one, in config.toml (see config.toml.example) or in the environment:
  TELEGRAM_BOT_TOKEN
  SLACK_BOT_TOKEN and SLACK_APP_TOKEN
  DISCORD_BOT_TOKEN
To try everything without an account: talaria lab`)
	}
	return all, nil
}

// wireGateway joins everything, and first hides this process's environment, which may hold tokens, from the programs that
// tools run. newWork, if not nil, fills the work folder of a new conversation; figures, if not nil, counts what happens; observe
// are told what happens, too.
func wireGateway(cfg Config, store sessions.Store, adapters []platforms.Adapter, newWork func(string) error, figures *metrics.Metrics, log *slog.Logger, observe ...func(gateway.Event)) (*gateway.Gateway, error) {
	if err := terminal.Conceal(); err != nil {
		return nil, fmt.Errorf("hide the environment from other processes: %w", err)
	}
	var called func(loop.Called)
	if figures != nil {
		called = figures.Called
	}
	models, err := wireModels(&cfg, called)
	if err != nil {
		return nil, err
	}
	notes := agenttools.NewNotes(cfg.notes(), cfg.Memory.Limit, cfg.Memory.UserLimit)
	k := &kit{cfg: &cfg, past: store, notes: notes, reader: models.web, log: log, keeper: cfg.keepProcesses(log)}
	registry, err := k.registry()
	if err != nil {
		return nil, err
	}
	work, err := filepath.Abs(cfg.work())
	if err != nil {
		return nil, err
	}
	workspace := cfg.Tools.Workspace
	if workspace != "" {
		if workspace, err = filepath.Abs(workspace); err != nil {
			return nil, err
		}
	}
	limits, err := cfg.limits()
	if err != nil {
		return nil, err
	}
	compressor := loop.NewCompressor(models.compression, cfg.Model.Window, cfg.Model.MaxOutput)
	compressor.PreflightAt, compressor.SummarizeAt = cfg.Context.PreflightAt, cfg.Context.SummarizeAt
	compressor.MaxMessages, compressor.Redact, compressor.Log = cfg.Context.MaxMessages, newRedactor(cfg.secrets()...).text, log
	runner := &loop.Runner{Model: models.main, Limits: limits, Policy: wirePolicy(cfg.Tools), Hooks: wireHooks(cfg.Hooks), Compressor: compressor, Log: log}
	parts := gateway.Parts{
		Store: store, Adapters: adapters, Tools: registry, Missing: k.missing, Compressor: runner, Log: log, Eraser: wireEraser(&cfg, notes), Runner: runner,
	}
	if k.processes != nil {
		parts.Background = k.processes
		parts.Eraser.Kept = append(parts.Eraser.Kept, func(key sessions.Key) error { k.processes.Forget(string(key)); return nil })
	}
	if cfg.Tools.Approval == "smart" {
		parts.Judge = models.approval
	}
	if slices.Contains(cfg.Tools.Toolsets, "memory") {
		parts.Notes = notes
	}
	if cfg.Recording.MaxMB > 0 {
		parts.Recorder = cfg.recordings()
	}
	if figures != nil {
		observe = append(observe, figures.Observe)
	}
	if len(observe) > 0 {
		parts.Observe = func(e gateway.Event) {
			for _, tell := range observe {
				tell(e)
			}
		}
	}
	if store, err := wireCheckpoints(&cfg, log); err != nil {
		return nil, err
	} else if store != nil { // behind the operator's hooks, which may refuse the call
		parts.Checkpoints, parts.Runner.Hooks = store, append(parts.Runner.Hooks, store)
	}
	g, err := gateway.New(gateway.Config{
		Retention: gateway.Retention{Age: cfg.Retention.Age, Size: int64(cfg.Retention.MaxMB) << 20},
		Access:    cfg.access(), Homes: cfg.homes(), Workers: cfg.Gateway.Workers, Busy: cfg.Gateway.Busy, Debounce: cfg.Gateway.Debounce, CatchUp: cfg.Gateway.CatchUp,
		BusyAt: cfg.busyAt(), MaxQueued: cfg.Gateway.MaxQueued, MaxQueuedPerUser: cfg.Gateway.MaxQueuedPerUser, MaxAge: cfg.Gateway.MaxAge,
		Window: cfg.Model.Window, MaxOutput: cfg.Model.MaxOutput, CompressAt: cfg.Gateway.CompressAt,
		Progress: cfg.Progress.Mode, EditEvery: cfg.Progress.EditInterval, WorkRoot: work, Workspace: workspace, NewWork: newWork,
		Delivery: cfg.deliveries(), Grace: cfg.Gateway.ShutdownGrace - traceFlush(&cfg), CrashPause: cfg.Gateway.CrashPause,
	}, parts)
	if err == nil && figures != nil {
		known := func(tool string) bool { _, ok := registry.Lookup(tool); return ok }
		figures.Watch(g, adapters, func() (int64, error) { return fileSize(cfg.database()) }, known)
	}
	return g, err
}

// limits returns what bounds a turn.
func (c *Config) limits() (loop.Limits, error) {
	limits := loop.DefaultLimits()
	limits.MaxTurns, limits.MaxTokens, limits.MaxToolCalls = c.Loop.MaxTurns, c.Loop.MaxTokens, c.Loop.MaxToolCalls
	limits.Timeout = time.Duration(c.Loop.TimeoutSeconds) * time.Second
	limits.RepeatThreshold = c.Loop.RepeatThreshold
	limits.RetryPerTool, limits.CircuitBreak = c.Loop.RetryPerTool, c.Loop.CircuitBreakThreshold
	if limits.RetryPerTool == 0 {
		limits.RetryPerTool = -1
	}
	profile, err := c.profile(c.Model.Name)
	if err != nil {
		return loop.Limits{}, err
	}
	limits = profile.Apply(limits)
	limits.ResultHead, limits.ResultTail = c.Context.ToolResultHead, c.Context.ToolResultTail
	limits.MaxOutput = c.Model.MaxOutput
	return limits, nil
}

func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
