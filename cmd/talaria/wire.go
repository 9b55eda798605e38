package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
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
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/mcp"
	"github.com/talaria-agent/talaria/tools/skills"
	"github.com/talaria-agent/talaria/tools/terminal"
	"github.com/talaria-agent/talaria/tools/vision"
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

// wired is the gateway with what its settings are made of, so that they can be made anew.
type wired struct {
	*gateway.Gateway
	servers *mcp.Client // nil = there are none
	hooks   []tools.Hook
	called  func(loop.Called) // nil = nobody counts
	reader  *exchangeable
	redact  redactor
	work    string
	log     *slog.Logger
}

// exchangeable describes through whatever it was given last.
type exchangeable struct {
	now atomic.Pointer[tools.Describer]
}

// Describe implements tools.Describer.
func (e *exchangeable) Describe(ctx context.Context, question string, parts ...tools.Part) (string, error) {
	return (*e.now.Load()).Describe(ctx, question, parts...)
}

// wireGateway joins everything, and first hides this process's environment, which may hold tokens, from the programs that
// tools run. newWork, if not nil, fills the work folder of a new conversation; figures, if not nil, counts what happens; observe
// are told what happens, too.
func wireGateway(cfg Config, store sessions.Store, adapters []platforms.Adapter, newWork func(string) error, figures *metrics.Metrics, redact redactor, log *slog.Logger, observe ...func(gateway.Event)) (*wired, error) {
	if err := terminal.Conceal(); err != nil {
		return nil, fmt.Errorf("hide the environment from other processes: %w", err)
	}
	w := &wired{hooks: wireHooks(cfg.Hooks), reader: &exchangeable{}, redact: redact, log: log}
	if figures != nil {
		w.called = figures.Called
	}
	notes := agenttools.NewNotes(cfg.notes(), cfg.Memory.Limit, cfg.Memory.UserLimit)
	k := &kit{cfg: &cfg, search: agenttools.NewSearch(store), notes: notes, reader: w.reader, redact: redact, log: log, keeper: cfg.keepProcesses(log)}
	registry, err := k.registry()
	if err != nil {
		return nil, err
	}
	if w.work, err = filepath.Abs(cfg.work()); err != nil {
		return nil, err
	}
	copies, err := wireCheckpoints(&cfg, log)
	if err != nil {
		return nil, err
	}
	if copies != nil { // behind the operator's hooks, which may refuse the call
		w.hooks = append(w.hooks, copies)
	}
	settings, live, err := w.settings(&cfg)
	if err != nil {
		return nil, err
	}
	parts := gateway.Parts{
		Store: store, Adapters: adapters, Tools: registry, Missing: k.missing, Log: log, Eraser: wireEraser(&cfg, notes),
		Runner: live.Runner, Compressor: live.Compressor, Judge: live.Judge, Price: live.Price, Search: k.search, Version: version(), Eyes: live.Eyes, Fit: vision.Fit,
	}
	if w.servers, err = wireMCP(&cfg, redact, log); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	if w.servers != nil {
		parts.Source = w.servers
	}
	if k.processes != nil {
		parts.Background = k.processes
		parts.Eraser.Kept = append(parts.Eraser.Kept, func(key sessions.Key) error { k.processes.Forget(string(key)); return nil })
	}
	if copies != nil {
		parts.Checkpoints = copies
	}
	if slices.Contains(cfg.Tools.Toolsets, "memory") {
		parts.Notes = notes
	}
	if slices.Contains(cfg.Tools.Toolsets, skills.Toolset) {
		parts.Skills = cfg.skills()
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
	settings.NewWork = newWork
	if cfg.Tools.Workspace != "" {
		if settings.Workspace, err = filepath.Abs(cfg.Tools.Workspace); err != nil {
			return nil, err
		}
	}
	if w.Gateway, err = gateway.New(settings, parts); err != nil {
		return nil, err
	}
	if figures != nil {
		known := func(tool string) bool { _, ok := w.Tools().Lookup(tool); return ok }
		figures.Watch(w.Gateway, adapters, func() (int64, error) { return fileSize(cfg.database()) }, known)
	}
	return w, nil
}

// settings makes what can change while the gateway works.
func (w *wired) settings(cfg *Config) (gateway.Config, gateway.Live, error) {
	models, err := wireModels(cfg, w.called)
	if err != nil {
		return gateway.Config{}, gateway.Live{}, err
	}
	limits, err := cfg.limits()
	if err != nil {
		return gateway.Config{}, gateway.Live{}, err
	}
	compressor := loop.NewCompressor(models.compression, cfg.Model.Window, cfg.Model.MaxOutput)
	compressor.PreflightAt, compressor.SummarizeAt = cfg.Context.PreflightAt, cfg.Context.SummarizeAt
	compressor.MaxMessages, compressor.Redact, compressor.Log = cfg.Context.MaxMessages, w.redact.text, w.log
	runner := &loop.Runner{Model: models.main, Limits: limits, Policy: wirePolicy(cfg.Tools), Hooks: w.hooks, Compressor: compressor, Log: w.log}
	live := gateway.Live{Runner: runner, Compressor: runner, Price: cfg.price, Eyes: models.vision}
	if cfg.Tools.Approval == "smart" {
		live.Judge = models.approval
	}
	w.reader.now.Store(&models.web)
	return gateway.Config{
		Retention: gateway.Retention{Age: cfg.Retention.Age, Size: int64(cfg.Retention.MaxMB) << 20},
		Access:    cfg.access(), Homes: cfg.homes(), Workers: cfg.Gateway.Workers, Busy: cfg.Gateway.Busy, Debounce: cfg.Gateway.Debounce, CatchUp: cfg.Gateway.CatchUp,
		BusyAt: cfg.busyAt(), MaxQueued: cfg.Gateway.MaxQueued, MaxQueuedPerUser: cfg.Gateway.MaxQueuedPerUser, MaxAge: cfg.Gateway.MaxAge,
		Window: cfg.Model.Window, MaxOutput: cfg.Model.MaxOutput, CompressAt: cfg.Gateway.CompressAt,
		Progress: cfg.Progress.Mode, EditEvery: cfg.Progress.EditInterval, WorkRoot: w.work, Delivery: cfg.deliveries(),
		Grace: cfg.Gateway.ShutdownGrace - traceFlush(cfg) - mcpClosing(cfg), CrashPause: cfg.Gateway.CrashPause,
		Jobs: cfg.Jobs.errands(), Background: cfg.Background.errands(), Places: cfg.namedPlaces(), ChatTools: cfg.chatTools(),
	}, live, nil
}

// change makes the settings of a config those of the running gateway. What only a start can change must be as it was.
func (w *wired) change(cfg *Config) error {
	w.redact.learn(cfg.secrets()...)
	settings, live, err := w.settings(cfg)
	if err == nil {
		w.Change(settings, live)
	}
	return err
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
