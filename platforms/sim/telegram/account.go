package telegram

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

func (s *Server) getMe(*http.Request, params) (any, *refusal) {
	return map[string]any{
		"id": s.bot.id, "is_bot": true, "first_name": s.bot.name, "username": s.bot.username,
		"can_join_groups": !s.opts.NoGroups, "can_read_all_group_messages": !s.opts.Privacy, "supports_inline_queries": false,
	}, nil
}

func (s *Server) getWebhookInfo(*http.Request, params) (any, *refusal) {
	return map[string]any{"url": s.opts.Webhook, "has_custom_certificate": false, "pending_update_count": s.pendingCount()}, nil
}

// hears tells whether the bot is told of a message of a group: in privacy mode of commands, of what mentions it, and of
// replies to it. The mutex is held.
func (s *Server) hears(c *chat, m *message) bool {
	if !s.opts.Privacy || c.kind == "dm" {
		return true
	}
	if replied := c.find(m.replyTo); replied != nil && replied.from == s.bot {
		return true
	}
	text := strings.ToLower(m.text)
	return strings.HasPrefix(text, "/") || strings.Contains(text, "@"+strings.ToLower(s.bot.username))
}

// maxCommands and the form of commands are from core.telegram.org/bots/api#botcommand.
const maxCommands = 100

func (s *Server) setMyCommands(_ *http.Request, p params) (any, *refusal) {
	var commands []Command
	if json.Unmarshal([]byte(p["commands"]), &commands) != nil {
		return nil, badRequest("can't parse commands JSON object")
	}
	name := regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	for _, c := range commands {
		if !name.MatchString(strings.TrimPrefix(c.Command, "/")) {
			return nil, badRequest("BOT_COMMAND_INVALID")
		}
		if n := utf8.RuneCountInString(c.Description); n < 1 || n > 256 {
			return nil, badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	if len(commands) > maxCommands {
		return nil, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = commands
	return true, nil
}

// reactions are the emoji that can be reactions (core.telegram.org/bots/api#reactiontypeemoji, Bot API 10.1).
func reactions() []string {
	return strings.Fields("❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤\u200d🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 " +
		"🍾 💋 🖕 😈 😴 😭 🤓 👻 👨\u200d💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷\u200d♂ 🤷 🤷\u200d♀ 😡")
}

// setMessageReaction sets the one reaction that a bot can have on a message; none removes it.
func (s *Server) setMessageReaction(_ *http.Request, p params) (any, *refusal) {
	var wanted []struct{ Type, Emoji string }
	if p["reaction"] != "" && json.Unmarshal([]byte(p["reaction"]), &wanted) != nil {
		return nil, badRequest("can't parse reaction types JSON object")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.writable(p)
	if refused != nil {
		return nil, refused
	}
	m, refused := messageOf(c, p, "react")
	if refused != nil {
		return nil, refused
	}
	if len(wanted) > 1 {
		return nil, badRequest("REACTIONS_TOO_MANY")
	}
	m.reaction = nil
	for _, r := range wanted {
		if r.Type != "emoji" || !slices.Contains(reactions(), r.Emoji) {
			return nil, badRequest("REACTION_INVALID")
		}
		m.reaction = []string{r.Emoji}
	}
	s.record("react", m.show(c, s.bot))
	return true, nil
}
