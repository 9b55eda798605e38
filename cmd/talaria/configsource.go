package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${VAR} in all strings that may hold it and returns what could not be replaced. A variable that is not set
// is a problem: an empty token would switch a platform off without a word.
func expand(cfg *Config, getenv func(string) string) (problems []string) {
	var missing []string
	replace := func(s *string) {
		*s = variable.ReplaceAllStringFunc(*s, func(m string) string {
			name := variable.FindStringSubmatch(m)[1]
			v := getenv(name)
			if v == "" && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
			if v == "" {
				return m
			}
			return v
		})
	}
	for _, s := range cfg.strings() {
		replace(s)
	}
	for _, list := range cfg.lists() {
		for i := range *list {
			replace(&(*list)[i])
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		where := "in the environment"
		if cfg.EnvFile != "" {
			where += ", nor in " + cfg.EnvFile
		}
		problems = append(problems, fmt.Sprintf("${%s} is not set %s", strings.Join(missing, "}, ${"), where))
	}
	return problems
}

// strings returns the string values in which ${VAR} is expanded.
func (c *Config) strings() []*string {
	p := &c.Platforms
	all := []*string{
		&c.DataDir, &c.Model.BaseURL, &c.Model.APIKey, &c.Model.APIKeyFile, &c.Model.Name,
		&p.Telegram.Token, &p.Telegram.TokenFile, &p.Telegram.APIURL,
		&p.Slack.BotToken, &p.Slack.BotTokenFile, &p.Slack.AppToken, &p.Slack.AppTokenFile, &p.Slack.APIURL,
		&p.Discord.Token, &p.Discord.TokenFile, &p.Discord.APIURL, &p.Discord.GatewayURL,
		&c.Tools.Workspace, &c.Shadow.File, &c.Ops.Prometheus, &c.Ops.PrometheusToken, &c.Ops.PrometheusTokenFile,
		&c.Web.URL, &c.Web.APIKey, &c.Web.APIKeyFile, &c.HTTP.Listen, &c.Telemetry.Endpoint,
	}
	for _, e := range c.endpoints() {
		all = append(all, &e.BaseURL, &e.APIKey, &e.APIKeyFile, &e.Name)
	}
	for i := range c.MCP {
		all = append(all, &c.MCP[i].URL, &c.MCP[i].Token, &c.MCP[i].TokenFile)
	}
	return all
}

// lists returns the lists in which ${VAR} is expanded.
func (c *Config) lists() []*[]string {
	a := &c.Access
	all := []*[]string{
		&a.Users, &a.Chats, &a.Admins,
		&a.Telegram.Users, &a.Telegram.Chats, &a.Telegram.Admins,
		&a.Slack.Users, &a.Slack.Chats, &a.Slack.Admins,
		&a.Discord.Users, &a.Discord.Chats, &a.Discord.Admins,
		&c.Ops.Logs, &c.Ops.Units, &c.Ops.Documents, &c.Skills.Dirs,
	}
	for i := range c.MCP {
		all = append(all, &c.MCP[i].Command, &c.MCP[i].Env, &c.MCP[i].Headers)
	}
	return all
}

// readSecrets reads the secrets that stand in files of their own, and returns what is wrong with them.
func readSecrets(cfg *Config) (problems []string) {
	for _, s := range cfg.secretFields() {
		if s.file == "" {
			continue
		}
		if *s.value != "" {
			problems = append(problems, fmt.Sprintf("%s: it and %s_file are both set; keep one", s.key, s.key))
			continue
		}
		text, err := os.ReadFile(s.file)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s_file: %v", s.key, err))
			continue
		}
		if *s.value = strings.TrimSpace(string(text)); *s.value == "" {
			problems = append(problems, fmt.Sprintf("%s_file: %s is empty", s.key, s.file))
		}
	}
	return problems
}

// withEnvFile adds what env_file sets to the environment, where that does not set it already. The file has a NAME=value a
// line, as Docker and systemd read it; a path that is not absolute begins at the config's folder.
func withEnvFile(cfg *Config, getenv func(string) string) (func(string) string, error) {
	if cfg.EnvFile == "" {
		return getenv, nil
	}
	if !filepath.IsAbs(cfg.EnvFile) {
		cfg.EnvFile = filepath.Join(filepath.Dir(cfg.File), cfg.EnvFile)
	}
	text, err := os.ReadFile(cfg.EnvFile)
	if err != nil {
		return getenv, err
	}
	set := map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !variable.MatchString("${"+name+"}") {
			return getenv, fmt.Errorf("%s:%d is not NAME=value", cfg.EnvFile, i+1) // without the line, which may be a secret
		}
		set[name] = value
	}
	return func(name string) string { return cmp.Or(getenv(name), set[name]) }, nil
}

// fromEnvironment fills what the config leaves open from well-known variables.
func fromEnvironment(cfg *Config, getenv func(string) string) {
	fill := func(s *string, names ...string) {
		for _, name := range names {
			if *s == "" {
				*s = getenv(name)
			}
		}
	}
	p := &cfg.Platforms
	fill(&p.Telegram.Token, "TELEGRAM_BOT_TOKEN")
	fill(&p.Slack.BotToken, "SLACK_BOT_TOKEN")
	fill(&p.Slack.AppToken, "SLACK_APP_TOKEN")
	fill(&p.Discord.Token, "DISCORD_BOT_TOKEN")
	if cfg.Model.API == messagesAPI {
		fill(&cfg.Model.APIKey, "ANTHROPIC_API_KEY")
	} else {
		fill(&cfg.Model.APIKey, "OPENAI_API_KEY")
	}
	fill(&cfg.Model.Name, "TALARIA_MODEL")
	fill(&cfg.HTTP.Listen, "TALARIA_HTTP_LISTEN")
	if url := getenv("OPENAI_BASE_URL"); url != "" && cfg.Model.BaseURL == defaultConfig().Model.BaseURL {
		cfg.Model.BaseURL = url
	}
}
