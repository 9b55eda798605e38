package main

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/files"
	"github.com/talaria-agent/talaria/tools/hooks"
	"github.com/talaria-agent/talaria/tools/terminal"
)

// checker collects what is wrong with a config, each problem beginning with the key that it is about.
type checker struct{ problems []string }

func (c *checker) add(key, format string, args ...any) {
	c.problems = append(c.problems, key+": "+fmt.Sprintf(format, args...))
}

func (c *checker) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		c.add(key, "%q is not one of %s", value, strings.Join(allowed, ", "))
	}
}

func (c *checker) busy(key string, value gateway.Busy) {
	var modes []string
	for _, m := range gateway.BusyModes() {
		modes = append(modes, m.Mode)
	}
	c.oneOf(key, string(value), modes...)
}

func (c *checker) between(key string, value, low, high int) {
	if value < low || value > high {
		c.add(key, "%d is not between %d and %d", value, low, high)
	}
}

func (c *checker) url(key, value string, schemes ...string) {
	if value == "" {
		return
	}
	if u, err := url.Parse(value); err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
		c.add(key, "%q is not an address that begins with %s://", withoutPassword(value), strings.Join(schemes, ":// or "))
	}
}

// validate returns every problem of a config, in the order of the keys.
func validate(cfg *Config) []string {
	c := &checker{}
	if strings.TrimSpace(cfg.DataDir) == "" {
		c.add("data_dir", "it must not be empty")
	} else if info, err := os.Stat(cfg.DataDir); err == nil && !info.IsDir() {
		c.add("data_dir", "%s is a file, not a folder", cfg.DataDir)
	}
	modes := slices.Sorted(maps.Keys(apiModes))
	c.oneOf("model.api", cfg.Model.API, modes...)
	c.url("model.base_url", cfg.Model.BaseURL, "http", "https")
	c.url("telemetry.endpoint", cfg.Telemetry.Endpoint, "http", "https")
	c.between("model.window", cfg.Model.Window, 4_000, 100_000_000)
	if cfg.Model.MaxOutput < 0 || cfg.Model.MaxOutput > cfg.Model.Window/2 {
		c.add("model.max_output", "%d is not between 0 and half of model.window (%d)", cfg.Model.MaxOutput, cfg.Model.Window/2)
	}
	c.oneOf("model.reasoning", cfg.Model.Reasoning, "", provider.EffortLow, provider.EffortMedium, provider.EffortHigh)
	for key, e := range cfg.endpoints() {
		if e.Window != 0 {
			c.between(key+".window", e.Window, 4_000, 100_000_000)
		}
		if e.MaxOutput < 0 {
			c.add(key+".max_output", "%d is below 0", e.MaxOutput)
		}
		c.oneOf(key+".api", e.mode(), modes...)
		c.url(key+".base_url", e.BaseURL, "http", "https")
		if e.Name == "" {
			c.add(key+".name", "a model needs a name")
		}
	}
	for i, p := range cfg.Profiles {
		c.oneOf(fmt.Sprintf("profiles[%d].reasoning", i), string(p.Reasoning), "", string(loop.ReasoningEffort), string(loop.ReasoningBudget), string(loop.ReasoningAdaptive))
		if _, err := path.Match(p.Match, ""); err != nil || p.Match == "" {
			c.add(fmt.Sprintf("profiles[%d].match", i), "%q is not a pattern like \"my-model*\"", p.Match)
		}
	}
	slices.Sort(c.problems)
	validatePlatforms(c, &cfg.Platforms)
	validateAccess(c, &cfg.Access)
	c.between("gateway.workers", cfg.Gateway.Workers, 1, 10_000)
	c.busy("gateway.busy", cfg.Gateway.Busy)
	c.between("gateway.max_queued", cfg.Gateway.MaxQueued, 1, 100_000)
	c.between("gateway.max_queued_per_user", cfg.Gateway.MaxQueuedPerUser, 1, cfg.Gateway.MaxQueued)
	if cfg.Gateway.MaxAge < 0 {
		c.add("gateway.max_age", "%s is less than 0s", cfg.Gateway.MaxAge)
	}
	validateHomes(c, cfg.Gateway.Home)
	seen := map[string]bool{}
	for i, at := range cfg.Gateway.At {
		key := fmt.Sprintf("gateway.at[%d]", i)
		c.place(key+".place", at.Place, seen)
		if at.Busy != "" {
			c.busy(key+".busy", at.Busy)
		}
	}
	validateErrands(c, cfg)
	if cfg.Gateway.CatchUp < 0 || cfg.Gateway.CatchUp.Hours() > 144 {
		c.add("gateway.catch_up", "%s is not between 0s and 144h", cfg.Gateway.CatchUp)
	}
	if age := cfg.Retention.Age; age != 0 && age.Hours() < 192 {
		c.add("retention.age", "%s is less than 192h, for which messages must be remembered; 0s is for ever", age)
	}
	if mb := cfg.Retention.MaxMB; mb != 0 {
		c.between("retention.max_mb", mb, 16, 100_000_000)
	}
	if g := cfg.Gateway.ShutdownGrace; g < time.Second || g > 10*time.Minute {
		c.add("gateway.shutdown_grace", "%s is not between 1s and 10m", g)
	}
	if p := cfg.Gateway.CrashPause; p < 0 || p > time.Hour {
		c.add("gateway.crash_pause", "%s is not between 0s and 1h", p)
	}
	if cfg.Gateway.Debounce < 0 || cfg.Gateway.Debounce.Minutes() > 1 {
		c.add("gateway.debounce", "%s is not between 0s and 1m", cfg.Gateway.Debounce)
	}
	if cfg.Gateway.CompressAt < 0.1 || cfg.Gateway.CompressAt > 0.95 {
		c.add("gateway.compress_at", "%v is not between 0.1 and 0.95", cfg.Gateway.CompressAt)
	}
	c.between("loop.max_turns", cfg.Loop.MaxTurns, 1, 10_000)
	c.between("loop.max_tokens", cfg.Loop.MaxTokens, 1_000, 1_000_000_000)
	c.between("loop.max_tool_calls", cfg.Loop.MaxToolCalls, 1, 10_000)
	c.between("loop.timeout_seconds", cfg.Loop.TimeoutSeconds, 1, 86_400)
	c.between("loop.repeat_threshold", cfg.Loop.RepeatThreshold, 2, 100)
	c.between("loop.retry_per_tool", cfg.Loop.RetryPerTool, 0, 100)
	c.between("loop.circuit_break_threshold", cfg.Loop.CircuitBreakThreshold, 1, 1_000)
	c.between("context.tool_result_head", cfg.Context.ToolResultHead, 1, 10_000)
	c.between("context.tool_result_tail", cfg.Context.ToolResultTail, 0, 10_000)
	c.between("context.max_messages", cfg.Context.MaxMessages, 20, 1_000_000)
	validateThresholds(c, cfg)
	for _, t := range cfg.Tools.Toolsets {
		c.oneOf("tools.toolsets", t, toolsetNames(false)...)
	}
	validateMCP(c, cfg.MCP)
	for i, h := range cfg.Hooks {
		validateHook(c, fmt.Sprintf("hooks[%d]", i), h)
	}
	if _, err := files.NewSecrets(cfg.Tools.SecretFiles); err != nil {
		c.add("tools.secret_files", "%v", err)
	}
	c.between("tools.checkpoints", cfg.Tools.Checkpoints, 0, 1000)
	c.between("memory.limit", cfg.Memory.Limit, 100, 100_000)
	c.between("memory.user_limit", cfg.Memory.UserLimit, 100, 100_000)
	c.between("delegation.max_iterations", cfg.Delegation.MaxIterations, 1, 10_000)
	c.between("recording.max_mb", cfg.Recording.MaxMB, 0, 100_000)
	c.between("delegation.max_parallel", cfg.Delegation.MaxParallel, 1, 100)
	c.oneOf("tools.approval", cfg.Tools.Approval, "ask", "smart", "off")
	c.oneOf("tools.sandbox", cfg.Tools.Sandbox, terminal.Auto, terminal.Bubblewrap, terminal.Landlock, terminal.Off)
	c.oneOf("tools.terminal.backend", cfg.Tools.Terminal.Backend, backendLocal, terminal.Docker, terminal.Podman)
	if cfg.Tools.Terminal.Backend != backendLocal && cfg.Tools.Terminal.Image == "" {
		c.add("tools.terminal.image", "%s needs an image, for example \"debian:stable\"", cfg.Tools.Terminal.Backend)
	}
	validateWorkspace(c, cfg)
	validateWeb(c, &cfg.Web)
	validateOps(c, &cfg.Ops)
	validateSkills(c, &cfg.Skills)
	if slices.Contains(cfg.Tools.Deny, "") {
		c.add("tools.deny", "an empty pattern forbids nothing; take it out")
	}
	c.oneOf("progress.mode", string(cfg.Progress.Mode), "off", "new", "all", "verbose")
	if s := cfg.Progress.EditInterval.Seconds(); s < 0.5 || s > 60 {
		c.add("progress.edit_interval", "%s is not between 500ms and 1m", cfg.Progress.EditInterval)
	}
	validateDelivery(c, &cfg.Delivery)
	validateShadow(c, &cfg.Shadow)
	if cfg.HTTP.Listen != "" {
		if _, _, err := net.SplitHostPort(cfg.HTTP.Listen); err != nil {
			c.add("http.listen", "%q is not an address like 127.0.0.1:8080", cfg.HTTP.Listen)
		}
	}
	c.oneOf("log.level", cfg.Log.Level, "debug", "info", "warn", "error")
	c.oneOf("log.format", cfg.Log.Format, "text", "json")
	return c.problems
}

// validateThresholds checks that the history is pruned first, summarised then, and compressed before a turn last.
func validateThresholds(c *checker, cfg *Config) {
	preflight, summarize := cfg.Context.PreflightAt, cfg.Context.SummarizeAt
	if preflight < 0.1 || preflight > 0.95 {
		c.add("context.preflight_at", "%v is not between 0.1 and 0.95", preflight)
	}
	if summarize < preflight {
		c.add("context.summarize_at", "%v is below context.preflight_at (%v): old results are pruned before anything is summarised", summarize, preflight)
	}
	if cfg.Gateway.CompressAt < summarize {
		c.add("gateway.compress_at", "%v is below context.summarize_at (%v): a turn summarises before the whole history is compressed",
			cfg.Gateway.CompressAt, summarize)
	}
}

func validateHook(c *checker, key string, h HookConfig) {
	c.oneOf(key+".when", string(h.When), string(hooks.Before), string(hooks.After))
	if len(h.Command) == 0 {
		c.add(key+".command", "a hook needs a program")
	} else if _, err := exec.LookPath(h.Command[0]); err != nil {
		c.add(key+".command", "there is no program %q", h.Command[0])
	}
	if h.Timeout < 0 || h.Timeout > time.Minute {
		c.add(key+".timeout", "%s is not between 0s and 1m", h.Timeout)
	}
	for _, pattern := range h.Tools {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			c.add(key+".tools", "%q is not a pattern like \"mcp_*\"", pattern)
		}
	}
}

func validatePlatforms(c *checker, p *PlatformsConfig) {
	c.url("platforms.telegram.api_url", p.Telegram.APIURL, "http", "https")
	c.url("platforms.slack.api_url", p.Slack.APIURL, "http", "https")
	c.url("platforms.discord.api_url", p.Discord.APIURL, "http", "https")
	c.url("platforms.discord.gateway_url", p.Discord.GatewayURL, "ws", "wss")
	if p.Slack.BotToken != "" && p.Slack.AppToken == "" {
		c.add("platforms.slack.app_token", "Slack needs both tokens: the bot token (xoxb-...) and the app token (xapp-...) for Socket Mode")
	}
	if p.Slack.AppToken != "" && p.Slack.BotToken == "" {
		c.add("platforms.slack.bot_token", "Slack needs both tokens: the bot token (xoxb-...) and the app token (xapp-...) for Socket Mode")
	}
}

// warn returns what is allowed but worth a word at the start.
func warn(cfg *Config) []string {
	var w []string
	w = append(w, warnAccess(cfg)...)
	w = append(w, warnShadow(cfg)...)
	if slices.Contains(cfg.Tools.Toolsets, "terminal") && cfg.Tools.Sandbox == terminal.Off && cfg.Tools.Terminal.Backend == backendLocal {
		if cfg.Tools.Approval == "off" {
			w = append(w, "the terminal tool is on WITHOUT a sandbox and WITHOUT asking: the model can run any command as this user")
		} else {
			w = append(w, "the terminal tool is on without a sandbox; commands that are not known to be harmless are asked for in the chat first")
		}
	}
	if cfg.Model.APIKey == "" && cfg.Model.BaseURL == defaultConfig().Model.BaseURL {
		w = append(w, "no key for the model: set model.api_key, or OPENAI_API_KEY")
	}
	if p, err := cfg.profile(cfg.Model.Name); err == nil && cfg.Model.Reasoning != "" && p.Reasoning == "" {
		w = append(w, "model.reasoning is set, but nothing is known of this model taking it, so it is not sent; a [[profiles]] entry can say how it is told")
	}
	if cfg.Tools.Workspace != "" {
		w = append(w, "tools.workspace is set: all conversations share one folder and see each other's files")
	}
	slices.Sort(w)
	return w
}

// allKeys returns every key of the config with its tables, as they are written in TOML.
func allKeys(t reflect.Type, prefix string) []string {
	var keys []string
	for f := range t.Fields() {
		name := f.Tag.Get("toml")
		if name == "-" {
			continue
		}
		if prefix != "" {
			name = prefix + "." + name
		}
		keys = append(keys, name)
		of := f.Type
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct {
			keys = append(keys, allKeys(of, name)...)
		}
	}
	return keys
}

// nearestKey returns the valid key that a wrong one was probably meant to be, empty if none is near.
func nearestKey(wrong string) string {
	best, distance := "", len(wrong)/2+1
	for _, key := range allKeys(reflect.TypeFor[Config](), "") {
		d := tools.Distance(wrong, key)
		if i := strings.LastIndexByte(key, '.'); i >= 0 && key[i+1:] == wrong[strings.LastIndexByte(wrong, '.')+1:] {
			d = min(d, 1) // the right key in the wrong table
		}
		if d < distance {
			best, distance = key, d
		}
	}
	return best
}
