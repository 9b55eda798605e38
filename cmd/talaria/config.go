package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/tools/files"
	"github.com/talaria-agent/talaria/tools/hooks"
	"github.com/talaria-agent/talaria/tools/terminal"
)

// Config is the whole configuration. Its fields are the keys of config.toml; config.toml.example documents each with
// its default.
type Config struct {
	DataDir    string           `toml:"data_dir"`
	EnvFile    string           `toml:"env_file"`
	Model      ModelConfig      `toml:"model"`
	Fallbacks  []EndpointConfig `toml:"fallbacks"`
	Auxiliary  AuxiliaryConfig  `toml:"auxiliary"`
	Profiles   []ProfileConfig  `toml:"profiles"`
	Platforms  PlatformsConfig  `toml:"platforms"`
	Access     AccessConfig     `toml:"access"`
	Gateway    GatewayConfig    `toml:"gateway"`
	Loop       LoopConfig       `toml:"loop"`
	Context    ContextConfig    `toml:"context"`
	Tools      ToolsConfig      `toml:"tools"`
	Web        WebConfig        `toml:"web"`
	Ops        OpsConfig        `toml:"ops"`
	MCP        []MCPConfig      `toml:"mcp"`
	Hooks      []HookConfig     `toml:"hooks"`
	Skills     SkillsConfig     `toml:"skills"`
	Memory     MemoryConfig     `toml:"memory"`
	Delegation DelegationConfig `toml:"delegation"`
	Progress   ProgressConfig   `toml:"progress"`
	Delivery   DeliveryConfig   `toml:"delivery"`
	Shadow     ShadowConfig     `toml:"shadow"`
	Recording  RecordingConfig  `toml:"recording"`
	Retention  RetentionConfig  `toml:"retention"`
	Jobs       JobsConfig       `toml:"jobs"`
	Background BackgroundConfig `toml:"background"`
	HTTP       HTTPConfig       `toml:"http"`
	Telemetry  TelemetryConfig  `toml:"telemetry"`
	Log        LogConfig        `toml:"log"`

	File string `toml:"-"` // that it was read from; empty = the environment alone
}

// ModelConfig says which model answers.
type ModelConfig struct {
	API        string `toml:"api"`
	BaseURL    string `toml:"base_url"`
	APIKey     string `toml:"api_key"`
	APIKeyFile string `toml:"api_key_file"`
	Name       string `toml:"name"`
	Window     int    `toml:"window"`
	MaxOutput  int    `toml:"max_output"`
	Reasoning  string `toml:"reasoning"`
}

// PlatformsConfig has the bot accounts. A platform without a token is off.
type PlatformsConfig struct {
	Telegram struct {
		Token     string `toml:"token"`
		TokenFile string `toml:"token_file"`
		APIURL    string `toml:"api_url"`
	} `toml:"telegram"`
	Slack struct {
		BotToken     string `toml:"bot_token"`
		BotTokenFile string `toml:"bot_token_file"`
		AppToken     string `toml:"app_token"`
		AppTokenFile string `toml:"app_token_file"`
		APIURL       string `toml:"api_url"`
	} `toml:"slack"`
	Discord struct {
		Token      string `toml:"token"`
		TokenFile  string `toml:"token_file"`
		APIURL     string `toml:"api_url"`
		GatewayURL string `toml:"gateway_url"`
	} `toml:"discord"`
}

// AccessConfig says who may talk to the bot. At the top the ids carry their platform ("telegram:123"), in a platform's
// own table they do not.
type AccessConfig struct {
	Users    []string   `toml:"users"`
	Chats    []string   `toml:"chats"`
	Admins   []string   `toml:"admins"`
	Telegram AccessList `toml:"telegram"`
	Slack    AccessList `toml:"slack"`
	Discord  AccessList `toml:"discord"`
}

// AccessList is the access of one platform.
type AccessList struct {
	Users  []string `toml:"users"`
	Chats  []string `toml:"chats"`
	Admins []string `toml:"admins"`
}

// GatewayConfig says how conversations are run.
type GatewayConfig struct {
	Workers    int           `toml:"workers"`
	Busy       gateway.Busy  `toml:"busy"`
	Debounce   time.Duration `toml:"debounce"`
	CatchUp    time.Duration `toml:"catch_up"`
	CompressAt float64       `toml:"compress_at"`
	MaxAge     time.Duration `toml:"max_age"`

	MaxQueued        int `toml:"max_queued"`
	MaxQueuedPerUser int `toml:"max_queued_per_user"`

	Home []string `toml:"home"`

	ShutdownGrace time.Duration `toml:"shutdown_grace"`
	CrashPause    time.Duration `toml:"crash_pause"`

	At     []GatewayAtPlace `toml:"at"`
	Places []NamedPlace     `toml:"places"`
}

// GatewayAtPlace is what is different on one platform ("telegram"), in one chat ("telegram:123") or in one topic or thread
// of it ("telegram:123/7").
type GatewayAtPlace struct {
	Place string       `toml:"place"`
	Busy  gateway.Busy `toml:"busy"`
}

// LoopConfig bounds a turn.
type LoopConfig struct {
	MaxTurns        int `toml:"max_turns"`
	MaxTokens       int `toml:"max_tokens"`
	MaxToolCalls    int `toml:"max_tool_calls"`
	TimeoutSeconds  int `toml:"timeout_seconds"`
	RepeatThreshold int `toml:"repeat_threshold"`

	RetryPerTool          int `toml:"retry_per_tool"`
	CircuitBreakThreshold int `toml:"circuit_break_threshold"`
}

// ContextConfig says how much of a tool result the model sees, in lines, and when the history is made smaller.
type ContextConfig struct {
	ToolResultHead int     `toml:"tool_result_head"`
	ToolResultTail int     `toml:"tool_result_tail"`
	PreflightAt    float64 `toml:"preflight_at"`
	SummarizeAt    float64 `toml:"summarize_at"`
	MaxMessages    int     `toml:"max_messages"`
}

// ToolsConfig says what the model can do.
type ToolsConfig struct {
	Toolsets    []string `toml:"toolsets"`
	Approval    string   `toml:"approval"`
	Deny        []string `toml:"deny"`
	Sandbox     string   `toml:"sandbox"`
	Network     bool     `toml:"network"`
	Workspace   string   `toml:"workspace"`
	Checkpoints int      `toml:"checkpoints"`
	SecretFiles []string `toml:"secret_files"`

	Terminal TerminalConfig `toml:"terminal"`
}

// TerminalConfig says where commands run.
type TerminalConfig struct {
	Backend string `toml:"backend"`
	Image   string `toml:"image"`
}

// HookConfig names a program of the operator's that looks at tool calls.
type HookConfig struct {
	When    hooks.When    `toml:"when"`
	Tools   []string      `toml:"tools"`
	Command []string      `toml:"command"`
	Timeout time.Duration `toml:"timeout"`
}

// MemoryConfig bounds the notes about a person, in characters.
type MemoryConfig struct {
	Limit     int `toml:"limit"`
	UserLimit int `toml:"user_limit"`
}

// DelegationConfig bounds sub-agents.
type DelegationConfig struct {
	MaxIterations int `toml:"max_iterations"`
	MaxParallel   int `toml:"max_parallel"`
}

// ProgressConfig says what the progress message shows.
type ProgressConfig struct {
	Mode         gateway.Progress `toml:"mode"`
	EditInterval time.Duration    `toml:"edit_interval"`
}

// RetentionConfig says what is removed by itself; zero is never.
type RetentionConfig struct {
	Age   time.Duration `toml:"age"`
	MaxMB int           `toml:"max_mb"`
}

// RecordingConfig is about the recordings of turns.
type RecordingConfig struct {
	MaxMB int `toml:"max_mb"`
}

// HTTPConfig is about the health endpoint.
type HTTPConfig struct {
	Listen string `toml:"listen"`
}

// LogConfig is about the log, which goes to standard error.
type LogConfig struct {
	Level  string `toml:"level"`
	Format string `toml:"format"`
}

// defaultConfig returns the configuration before anything is read.
func defaultConfig() Config {
	limits := loop.DefaultLimits()
	return Config{
		DataDir: "./data",
		Model:   ModelConfig{API: "chat", BaseURL: "https://api.openai.com/v1"},
		Gateway: GatewayConfig{
			Workers: 8, Busy: gateway.Interrupt, CatchUp: 24 * time.Hour, CompressAt: 0.85, MaxQueued: 2000, MaxQueuedPerUser: 100,
			ShutdownGrace: 9 * time.Second, CrashPause: 5 * time.Minute,
		},
		Loop: LoopConfig{
			MaxTurns: limits.MaxTurns, MaxTokens: limits.MaxTokens, MaxToolCalls: limits.MaxToolCalls,
			TimeoutSeconds: int(limits.Timeout / time.Second), RepeatThreshold: limits.RepeatThreshold,
			RetryPerTool: limits.RetryPerTool, CircuitBreakThreshold: limits.CircuitBreak,
		},
		Context: ContextConfig{
			ToolResultHead: limits.ResultHead, ToolResultTail: limits.ResultTail,
			PreflightAt: 0.5, SummarizeAt: 0.7, MaxMessages: 400,
		},
		Tools:      ToolsConfig{Toolsets: toolsetNames(true), Approval: "ask", Checkpoints: 20, SecretFiles: files.DefaultSecrets(), Sandbox: terminal.Auto, Terminal: TerminalConfig{Backend: backendLocal}},
		Web:        WebConfig{Ports: []int{80, 443}},
		Memory:     MemoryConfig{Limit: agenttools.DefaultMemoryLimit, UserLimit: agenttools.DefaultUserLimit},
		Delegation: DelegationConfig{MaxIterations: 50, MaxParallel: 4},
		Progress:   ProgressConfig{Mode: gateway.ProgressAll, EditInterval: 1500 * time.Millisecond},
		Delivery:   DeliveryConfig{Final: gateway.FinalNew, Stream: gateway.StreamOff},
		Shadow:     ShadowConfig{MaxMB: 64},
		Recording:  RecordingConfig{MaxMB: 64},
		Jobs:       JobsConfig{MaxPerUser: 20, Grace: time.Hour},
		Background: BackgroundConfig{MaxPerUser: 3},
		Log:        LogConfig{Level: "info", Format: "text"},
	}
}

// loadConfig reads a config file, fills gaps from env_file and the environment, and checks everything. An empty path
// means: the environment alone. The error has a line for each problem, all that can be known at once. The warnings are for
// the log.
func loadConfig(path string, getenv func(string) string) (cfg Config, warnings []string, err error) {
	cfg = defaultConfig()
	cfg.File = path
	var text string
	var problems []string
	if path != "" {
		read, err := os.ReadFile(path)
		if err != nil {
			return cfg, nil, fmt.Errorf("read config: %w", err)
		}
		text = string(read)
		if problems, err = decodeConfig(path, text, &cfg); err != nil {
			return cfg, nil, err
		}
	}
	found := func(more ...string) {
		for _, p := range more {
			problems = append(problems, locate(path, text, p))
		}
	}
	getenv, err = withEnvFile(&cfg, getenv)
	if err != nil {
		found("env_file: " + err.Error())
	}
	found(expand(&cfg, getenv)...)
	found(readSecrets(&cfg)...)
	found(cfg.takeEnvironment(getenv)...)
	fromEnvironment(&cfg, getenv)
	if err := cfg.Telemetry.fromEnvironment(getenv); err != nil {
		found(err.Error())
	}
	users, wrong := environmentUsers(getenv)
	found(wrong...)
	guessed, err := cfg.fitModel()
	if err != nil {
		return cfg, nil, err
	}
	if found(validate(&cfg)...); len(problems) > 0 {
		return cfg, nil, errors.New(strings.Join(problems, "\n"))
	}
	cfg.Access.Users = append(cfg.Access.Users, users...)
	warnings = warn(&cfg)
	if guessed {
		warnings = append(warnings, fmt.Sprintf("model.window is not set and nothing is confirmed of this model; assuming %d tokens", cfg.Model.Window))
	}
	return cfg, warnings, nil
}

// access returns the access rules. The config has been validated.
func (c *Config) access() gateway.Access {
	a := gateway.Access{
		Users:  map[platforms.Name][]string{},
		Chats:  map[platforms.Name][]string{},
		Admins: map[platforms.Name][]string{},
	}
	fill := func(into map[platforms.Name][]string, all, telegram, slack, discord []string) {
		into[platforms.Telegram] = append(into[platforms.Telegram], telegram...)
		into[platforms.Slack] = append(into[platforms.Slack], slack...)
		into[platforms.Discord] = append(into[platforms.Discord], discord...)
		for _, entry := range all {
			p, id, _ := strings.Cut(entry, ":")
			into[platforms.Name(p)] = append(into[platforms.Name(p)], id)
		}
	}
	c0 := c.Access
	fill(a.Users, c0.Users, c0.Telegram.Users, c0.Slack.Users, c0.Discord.Users)
	fill(a.Chats, c0.Chats, c0.Telegram.Chats, c0.Slack.Chats, c0.Discord.Chats)
	fill(a.Admins, c0.Admins, c0.Telegram.Admins, c0.Slack.Admins, c0.Discord.Admins)
	return a
}

// busyAt returns where another busy mode is. The config has been validated.
func (c *Config) busyAt() map[string]gateway.Busy {
	all := map[string]gateway.Busy{}
	for _, at := range c.Gateway.At {
		all[at.Place] = at.Busy
	}
	return all
}

// The folders inside the data folder.
func (c *Config) state() string       { return filepath.Join(c.DataDir, "state") }
func (c *Config) database() string    { return filepath.Join(c.state(), "talaria.db") }
func (c *Config) checkpoints() string { return filepath.Join(c.DataDir, "state", "checkpoints") }
func (c *Config) work() string        { return filepath.Join(c.DataDir, "work") }
func (c *Config) notes() string       { return filepath.Join(c.DataDir, "memory") }

// findConfig returns the config file to read: the one that was named, or config.toml if there is one here.
func findConfig(named string) string {
	if named != "" {
		return named
	}
	if _, err := os.Stat("config.toml"); err == nil {
		return "config.toml"
	}
	return ""
}
