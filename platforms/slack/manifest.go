package slack

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// grant is a scope of the bot's token, what needs it, and what is lost without it. Everything that says what the app may do
// and hears comes from this table: the manifest, the check of a token, the documentation.
type grant struct {
	scope   string
	events  []string // that Slack sends with it
	methods []string // that need it, or one of several such
	lost    string   // what does not work without it
}

func grants() []grant {
	read := []string{"conversations.history", "conversations.replies"}
	return []grant{
		{"app_mentions:read", []string{"app_mention"}, nil, "mentions in channels are not heard"},
		{"channels:history", []string{"message.channels"}, read, "public channels are not heard, nor read after an absence"},
		{"channels:read", nil, []string{"conversations.info"}, "public channels have no names"},
		{"chat:write", nil, []string{"chat.postMessage", "chat.update", "chat.delete", "assistant.threads.setStatus"}, "the bot cannot say anything"},
		{"commands", nil, nil, "there is no " + slashCommandName},
		{"files:read", nil, nil, "files that people send are not seen"},
		{"groups:history", []string{"message.groups"}, read, "private channels are not heard, nor read after an absence"},
		{"groups:read", nil, []string{"conversations.info"}, "private channels have no names"},
		{"im:history", []string{"message.im"}, read, "direct messages are not heard, nor read after an absence"},
		{"im:read", nil, []string{"conversations.info"}, "direct messages cannot be looked up"},
		{"mpim:history", []string{"message.mpim"}, read, "group messages are not heard, nor read after an absence"},
		{"mpim:read", nil, []string{"conversations.info"}, "group messages have no names"},
		{"reactions:write", nil, []string{"reactions.add"}, "nothing shows that a message was received"},
		{"users:read", nil, []string{"users.info"}, "people have no names"},
	}
}

// slashCommandName is the one slash command of the app.
const slashCommandName = "/talaria"

// Manifest is an app's description as Slack takes it (docs.slack.dev/reference/app-manifest), as far as Talaria says
// anything. What is false is written, too: left out, Slack takes the messages tab as read-only.
type Manifest struct {
	Metadata struct {
		Major int `json:"major_version" yaml:"major_version"`
		Minor int `json:"minor_version" yaml:"minor_version"`
	} `json:"_metadata" yaml:"_metadata"`
	Display struct {
		Name        string `json:"name" yaml:"name"`
		Description string `json:"description" yaml:"description"`
		Color       string `json:"background_color" yaml:"background_color"`
	} `json:"display_information" yaml:"display_information"`
	Features struct {
		Home struct {
			HomeTab     bool `json:"home_tab_enabled" yaml:"home_tab_enabled"`
			MessagesTab bool `json:"messages_tab_enabled" yaml:"messages_tab_enabled"`
			ReadOnly    bool `json:"messages_tab_read_only_enabled" yaml:"messages_tab_read_only_enabled"`
		} `json:"app_home" yaml:"app_home"`
		Bot struct {
			Name   string `json:"display_name" yaml:"display_name"`
			Online bool   `json:"always_online" yaml:"always_online"`
		} `json:"bot_user" yaml:"bot_user"`
		Commands []ManifestCommand `json:"slash_commands" yaml:"slash_commands"`
	} `json:"features" yaml:"features"`
	OAuth struct {
		Scopes struct {
			Bot []string `json:"bot" yaml:"bot"`
		} `json:"scopes" yaml:"scopes"`
	} `json:"oauth_config" yaml:"oauth_config"`
	Settings struct {
		Events struct {
			Bot []string `json:"bot_events" yaml:"bot_events"`
		} `json:"event_subscriptions" yaml:"event_subscriptions"`
		Interactivity struct {
			Enabled bool `json:"is_enabled" yaml:"is_enabled"`
		} `json:"interactivity" yaml:"interactivity"`
		OrgDeploy     bool `json:"org_deploy_enabled" yaml:"org_deploy_enabled"`
		SocketMode    bool `json:"socket_mode_enabled" yaml:"socket_mode_enabled"`
		TokenRotation bool `json:"token_rotation_enabled" yaml:"token_rotation_enabled"`
	} `json:"settings" yaml:"settings"`
}

// ManifestCommand is a slash command in a manifest. With Socket Mode it has no address.
type ManifestCommand struct {
	Command     string `json:"command" yaml:"command"`
	Description string `json:"description" yaml:"description"`
	Hint        string `json:"usage_hint" yaml:"usage_hint"`
	Escape      bool   `json:"should_escape" yaml:"should_escape"`
}

// NewManifest describes the app that the adapter works as: Socket Mode, interactivity, the scopes and events that it needs,
// its slash command, and a messages tab in which people can write. name is what people see, at most 35 characters.
func NewManifest(name string) Manifest {
	var m Manifest
	m.Metadata.Major, m.Metadata.Minor = 2, 1
	m.Display.Name, m.Display.Color = name, "#1f3a5f"
	m.Display.Description = "An AI agent that works on what you ask of it, with real tools, and answers here."
	m.Features.Home.MessagesTab = true
	m.Features.Bot.Name, m.Features.Bot.Online = name, true
	m.Features.Commands = []ManifestCommand{{
		Command: slashCommandName, Description: "Use a command of the bot: help lists them", Hint: "help | status | stop | new ...", Escape: true,
	}}
	m.OAuth.Scopes.Bot, m.Settings.Events.Bot = scopes(), events()
	m.Settings.Interactivity.Enabled, m.Settings.SocketMode = true, true
	return m
}

// NewAppURL is where Slack makes an app of the manifest, after asking in which workspace.
func (m Manifest) NewAppURL() (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	return "https://api.slack.com/apps?" + url.Values{"new_app": {"1"}, "manifest_json": {string(text)}}.Encode(), nil
}

// scopes returns the scopes that the bot's token needs, in alphabetical order.
func scopes() (all []string) {
	for _, g := range grants() {
		all = append(all, g.scope)
	}
	return all
}

// events returns the events that the app must be subscribed to.
func events() (all []string) {
	for _, g := range grants() {
		all = append(all, g.events...)
	}
	slices.Sort(all)
	return all
}

// missing compares the scopes of a token, as Slack lists them, with the table. Without a list nothing is missing.
func missing(granted string) (all []grant) {
	if granted == "" {
		return nil
	}
	has := map[string]bool{}
	for scope := range strings.SplitSeq(granted, ",") {
		has[strings.TrimSpace(scope)] = true
	}
	for _, g := range grants() {
		if !has[g.scope] {
			all = append(all, g)
		}
	}
	return all
}
