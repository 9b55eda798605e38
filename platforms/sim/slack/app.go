package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// app is what the app's settings allow. The zero value with all scopes is an app with everything switched on.
type app struct {
	scopes   []string
	events   []string // subscribed to; nil = all
	noPress  bool     // interactivity is off
	command  string
	readOnly bool // nobody can write in the messages tab
}

// needed says with which scopes a method may be called, any one of them (each method's page on docs.slack.dev). What reads a
// conversation needs the scope for its kind.
func needed(method, kind string) []string {
	read := map[string]string{"im": "im:", "mpim": "mpim:", "group": "groups:"}[kind]
	if read == "" {
		read = "channels:"
	}
	switch method {
	case "assistant.threads.setStatus":
		return []string{"chat:write", "assistant:write"} // either, since March 2026
	case "chat.delete", "chat.postEphemeral", "chat.postMessage", "chat.update":
		return []string{"chat:write"}
	case "conversations.history", "conversations.replies":
		return []string{read + "history"}
	case "conversations.info":
		return []string{read + "read"}
	case "conversations.open":
		return []string{"im:write", "mpim:write"}
	case "reactions.add":
		return []string{"reactions:write"}
	case "users.info":
		return []string{"users:read"}
	}
	return nil
}

// heard says which scope and subscription an event needs, and its name in a manifest.
func heard(eventType, kind string) (subscription, scope string) {
	switch eventType {
	case "app_mention":
		return eventType, "app_mentions:read"
	case "message":
		switch kind {
		case "im", "mpim":
			return "message." + kind, kind + ":history"
		case "group":
			return "message.groups", "groups:history"
		}
		return "message.channels", "channels:history"
	}
	return "", ""
}

// lacks returns the scope that a call lacks, empty if it may be made. The lock is held.
func (s *Server) lacks(c *call) string {
	kind := ""
	if room := s.chats[c.chat()]; room != nil {
		kind = room.kind()
	}
	scopes := needed(c.method, kind)
	if len(scopes) == 0 || slices.ContainsFunc(scopes, func(scope string) bool { return slices.Contains(s.app.scopes, scope) }) {
		return ""
	}
	return scopes[0]
}

// hears tells whether the app is sent an event. The lock is held.
func (s *Server) hears(event object, kind string) bool {
	name, _ := event["type"].(string)
	subscription, scope := heard(name, kind)
	if subscription == "" {
		return true
	}
	return slices.Contains(s.app.scopes, scope) && (s.app.events == nil || slices.Contains(s.app.events, subscription))
}

// manifest is as much of an app manifest as says anything here (docs.slack.dev/reference/app-manifest).
type manifest struct {
	Display struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Color       string `json:"background_color"`
	} `json:"display_information"`
	Features struct {
		Home struct {
			MessagesTab bool  `json:"messages_tab_enabled"`
			ReadOnly    *bool `json:"messages_tab_read_only_enabled"`
		} `json:"app_home"`
		Bot *struct {
			Name string `json:"display_name"`
		} `json:"bot_user"`
		Commands []struct {
			Command     string `json:"command"`
			URL         string `json:"url"`
			Description string `json:"description"`
			Hint        string `json:"usage_hint"`
		} `json:"slash_commands"`
	} `json:"features"`
	OAuth struct {
		Scopes struct {
			Bot []string `json:"bot"`
		} `json:"scopes"`
	} `json:"oauth_config"`
	Settings struct {
		Events struct {
			Bot []string `json:"bot_events"`
			URL string   `json:"request_url"`
		} `json:"event_subscriptions"`
		Interactivity struct {
			Enabled bool   `json:"is_enabled"`
			URL     string `json:"request_url"`
		} `json:"interactivity"`
		SocketMode bool `json:"socket_mode_enabled"`
	} `json:"settings"`
}

// Install makes the app what a manifest says, as Slack does with one that is pasted, or says what Slack would refuse in it.
// From then on the app may do and hears that alone.
func (s *Server) Install(text []byte) error {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("invalid_manifest: %w", err)
	}
	if problems := m.problems(); len(problems) > 0 {
		return errors.New("invalid_manifest: " + strings.Join(problems, "; "))
	}
	s.hub.enable(m.Settings.SocketMode)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg.Scopes = strings.Join(m.OAuth.Scopes.Bot, ",")
	s.app = app{
		scopes: m.OAuth.Scopes.Bot, events: append([]string{}, m.Settings.Events.Bot...),
		noPress:  !m.Settings.Interactivity.Enabled,
		readOnly: !m.Features.Home.MessagesTab || m.Features.Home.ReadOnly == nil || *m.Features.Home.ReadOnly,
	}
	if len(m.Features.Commands) > 0 {
		s.app.command = m.Features.Commands[0].Command
	}
	return nil
}

var (
	color       = regexp.MustCompile(`^#(?:[0-9a-fA-F]{3}){1,2}$`)
	commandName = regexp.MustCompile(`^/[a-z0-9_-]{1,31}$`)
)

// problems says what Slack refuses in a manifest.
func (m *manifest) problems() (all []string) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	within := func(pointer, text string, most int) {
		check(text != "" && utf8.RuneCountInString(text) <= most, "%s must have 1 to %d characters", pointer, most)
	}
	within("/display_information/name", m.Display.Name, 35)
	check(utf8.RuneCountInString(m.Display.Description) <= 140, "/display_information/description must have at most 140 characters")
	check(m.Display.Color == "" || color.MatchString(m.Display.Color), "/display_information/background_color is no colour")
	check(m.Features.Bot != nil, "/features/bot_user: a bot token needs a bot user")
	if m.Features.Bot != nil {
		within("/features/bot_user/display_name", m.Features.Bot.Name, 80)
	}
	socket := m.Settings.SocketMode
	scopes, events := m.OAuth.Scopes.Bot, m.Settings.Events.Bot
	check(len(events) == 0 || socket || m.Settings.Events.URL != "", "/settings/event_subscriptions: Event Subscription requires either Request URL or Socket Mode Enabled")
	check(!m.Settings.Interactivity.Enabled || socket || m.Settings.Interactivity.URL != "", "/settings/interactivity: Interactivity requires Socket Mode enabled")
	for i, c := range m.Features.Commands {
		check(commandName.MatchString(c.Command), "/features/slash_commands/%d/command: %q is no command", i, c.Command)
		within(fmt.Sprintf("/features/slash_commands/%d/description", i), c.Description, 2000)
		check(utf8.RuneCountInString(c.Hint) <= 1000, "/features/slash_commands/%d/usage_hint must have at most 1000 characters", i)
		check(socket || c.URL != "", "/features/slash_commands/%d/url: it is required without Socket Mode", i)
		check(slices.Contains(scopes, "commands"), "/features/slash_commands: they require the scope commands")
	}
	for _, event := range events {
		name, kind, _ := strings.Cut(event, ".")
		kind = map[string]string{"channels": "channel", "groups": "group"}[kind] + map[string]string{"im": "im", "mpim": "mpim"}[kind]
		subscription, scope := heard(name, kind)
		check(subscription == event, "/settings/event_subscriptions/bot_events: there is no event %q", event)
		check(scope == "" || slices.Contains(scopes, scope), "/settings/event_subscriptions/bot_events: %s requires the scope %s", event, scope)
	}
	known := strings.Split(allScopes, ",")
	for i, scope := range scopes {
		check(slices.Contains(known, scope), "/oauth_config/scopes/bot: there is no scope %q", scope)
		check(!slices.Contains(scopes[:i], scope), "/oauth_config/scopes/bot: %s is there twice", scope)
	}
	return all
}
