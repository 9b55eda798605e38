package main

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/mcp"
)

// MCPConfig names a server that offers tools: a program or an address.
type MCPConfig struct {
	Name      string        `toml:"name"`
	Command   []string      `toml:"command"`
	Env       []string      `toml:"env"`
	URL       string        `toml:"url"`
	Token     string        `toml:"token"`
	TokenFile string        `toml:"token_file"`
	Headers   []string      `toml:"headers"`
	Tools     []string      `toml:"tools"`
	Timeout   time.Duration `toml:"timeout"`
}

func (m MCPConfig) server() mcp.Server {
	return mcp.Server{
		Name: m.Name, Command: m.Command, Env: m.Env, URL: m.URL, Token: m.Token, Headers: m.Headers, Tools: m.Tools, Timeout: m.Timeout,
	}
}

// takeFrom gives entries of env that are a name alone the value which that has in the environment. It returns those that
// have none.
func (m *MCPConfig) takeFrom(getenv func(string) string) (unset []string) {
	for i, entry := range m.Env {
		if entry == "" || strings.Contains(entry, "=") {
			continue
		}
		value := getenv(entry)
		if value == "" {
			unset = append(unset, entry)
		}
		m.Env[i] = entry + "=" + value
	}
	return unset
}

// takeEnvironment does that for all servers, and returns what is wrong.
func (c *Config) takeEnvironment(getenv func(string) string) (problems []string) {
	for i := range c.MCP {
		for _, name := range c.MCP[i].takeFrom(getenv) {
			problems = append(problems, fmt.Sprintf("mcp[%d].env: %s is not set in the environment", i, name))
		}
	}
	return problems
}

// secretVariable is what variables are called that hold secrets.
var secretVariable = regexp.MustCompile(`(?i)(TOKEN|KEY|PASS|PASSWORD|SECRET|CREDENTIALS?|AUTH)$`)

// secrets returns what of env and headers gives access.
func (m *MCPConfig) secrets() (all []string) {
	for _, entry := range m.Env {
		name, value, _ := strings.Cut(entry, "=")
		if secretVariable.MatchString(name) {
			all = append(all, value)
		}
		all = append(all, passwordsIn(value)...)
	}
	for _, entry := range m.Headers {
		_, value, _ := strings.Cut(entry, ":")
		value = strings.TrimSpace(value)
		all = append(all, value)
		if _, credentials, ok := strings.Cut(value, " "); ok { // behind "Bearer"
			all = append(all, credentials)
		}
	}
	return all
}

func validateMCP(c *checker, all []MCPConfig) {
	seen := map[string]bool{}
	for i, m := range all {
		key := fmt.Sprintf("mcp[%d]", i)
		c.url(key+".url", m.URL, "http", "https")
		if err := m.server().Check(); err != nil {
			c.add(key, "%v", err)
		} else if len(m.Command) > 0 {
			if _, err := exec.LookPath(m.Command[0]); err != nil {
				c.add(key+".command", "there is no program %q", m.Command[0])
			}
		}
		if seen[m.Name] {
			c.add(key+".name", "there are two servers called %q", m.Name)
		}
		seen[m.Name] = true
	}
}

// mcp makes nothing, because what servers offer is known only once they are connected: see wireMCP.
func (k *kit) mcp() ([]tools.Tool, error) {
	if len(k.cfg.MCP) == 0 {
		k.lacks(mcp.Toolset, "nothing is set in [[mcp]]")
	}
	return nil, nil
}

// wireMCP makes the client of all servers, nil if there are none.
func wireMCP(cfg *Config, redact redactor, log *slog.Logger) (*mcp.Client, error) {
	if len(cfg.MCP) == 0 {
		return nil, nil
	}
	o := cfg.mcpOptions(redact, log, cfg.MCP...)
	o.Folder = filepath.Join(cfg.state(), "mcp")
	return mcp.New(o)
}

func (c *Config) mcpOptions(redact redactor, log *slog.Logger, some ...MCPConfig) mcp.Options {
	o := mcp.Options{Version: version(), Redact: redact.text, Suspicious: loop.Suspicious, Log: log}
	for _, m := range some {
		o.Servers = append(o.Servers, m.server())
	}
	return o
}

// mcpClosing is how much of the time for shutting down is left to the connections to MCP servers.
func mcpClosing(cfg *Config) time.Duration {
	if len(cfg.MCP) == 0 {
		return 0
	}
	return min(mcp.Closing, cfg.Gateway.ShutdownGrace/8)
}

// Run runs the gateway, and the connections to MCP servers as long as it runs.
func (w *wired) Run(ctx context.Context) error {
	if w.servers == nil {
		return w.Gateway.Run(ctx)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var servers sync.WaitGroup
	servers.Go(func() { w.servers.Run(serving) })
	defer servers.Wait()
	defer stop()
	return w.Gateway.Run(ctx)
}

// mcp connects to each server, and says what it offers.
func (r *checkup) mcp(ctx context.Context, cfg *Config, redact redactor) {
	type answer struct {
		status tools.ServerStatus
		err    error
	}
	answers := make([]answer, len(cfg.MCP))
	ctx, cancel := context.WithTimeout(ctx, mcpCheckFor)
	defer cancel()
	var asking sync.WaitGroup
	for i, m := range cfg.MCP {
		asking.Go(func() {
			answers[i].status, answers[i].err = mcp.Check(ctx, cfg.mcpOptions(redact, nil, m))
		})
	}
	asking.Wait()
	for i, a := range answers {
		name := cfg.MCP[i].Name
		if a.err != nil {
			r.problem("mcp", platforms.Problem{What: fmt.Sprintf("%s does not work (%v)", name, a.err), Cure: "look whether its command or url, and what it needs to log in, are right in [[mcp]]", Minor: true})
			continue
		}
		r.line("mcp", "%s: %d tools: %s", name, len(a.status.Tools), strings.Join(a.status.Tools, ", "))
		for _, m := range a.status.Refused {
			r.problem("mcp", platforms.Problem{What: fmt.Sprintf("%s is not used: %s", m.Name, m.Reason), Minor: true})
		}
	}
}

// mcpCheckFor is how long a check waits for the servers. A program may have to be fetched first.
const mcpCheckFor = time.Minute
