package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${VAR} in all strings that may hold it. A variable that is not set is an error: an empty token would
// switch a platform off without a word.
func expand(cfg *Config, getenv func(string) string) error {
	var missing []string
	replace := func(s *string) {
		*s = variable.ReplaceAllStringFunc(*s, func(m string) string {
			name := variable.FindStringSubmatch(m)[1]
			v := getenv(name)
			if v == "" && !slices.Contains(missing, name) {
				missing = append(missing, name)
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
		return fmt.Errorf("${%s} is not set in the environment", strings.Join(missing, "}, ${"))
	}
	return nil
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
	return all
}

// lists returns the lists in which ${VAR} is expanded.
func (c *Config) lists() []*[]string {
	a := &c.Access
	return []*[]string{
		&a.Users, &a.Chats, &a.Admins,
		&a.Telegram.Users, &a.Telegram.Chats, &a.Telegram.Admins,
		&a.Slack.Users, &a.Slack.Chats, &a.Slack.Admins,
		&a.Discord.Users, &a.Discord.Chats, &a.Discord.Admins,
		&c.Ops.Logs, &c.Ops.Units, &c.Ops.Documents,
	}
}

// readSecrets reads the secrets that stand in files of their own.
func readSecrets(cfg *Config) error {
	p := &cfg.Platforms
	type secret struct {
		key, file string
		value     *string
	}
	secrets := []secret{
		{"model.api_key", cfg.Model.APIKeyFile, &cfg.Model.APIKey},
		{"web.api_key", cfg.Web.APIKeyFile, &cfg.Web.APIKey},
		{"ops.prometheus_token", cfg.Ops.PrometheusTokenFile, &cfg.Ops.PrometheusToken},
		{"platforms.telegram.token", p.Telegram.TokenFile, &p.Telegram.Token},
		{"platforms.slack.bot_token", p.Slack.BotTokenFile, &p.Slack.BotToken},
		{"platforms.slack.app_token", p.Slack.AppTokenFile, &p.Slack.AppToken},
		{"platforms.discord.token", p.Discord.TokenFile, &p.Discord.Token},
	}
	for key, e := range cfg.endpoints() {
		secrets = append(secrets, secret{key + ".api_key", e.APIKeyFile, &e.APIKey})
	}
	for _, s := range secrets {
		if s.file == "" {
			continue
		}
		if *s.value != "" {
			return fmt.Errorf("%s and %s_file are both set; keep one", s.key, s.key)
		}
		text, err := os.ReadFile(s.file)
		if err != nil {
			return fmt.Errorf("%s_file: %w", s.key, err)
		}
		if *s.value = strings.TrimSpace(string(text)); *s.value == "" {
			return fmt.Errorf("%s_file: %s is empty", s.key, s.file)
		}
	}
	return nil
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
