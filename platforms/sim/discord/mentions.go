package discord

import (
	"regexp"
	"slices"

	"github.com/talaria-agent/talaria/platforms/sim"
)

var mentionPattern = regexp.MustCompile(`<@(!?|&)(\d+|[A-Za-z]\w*)>|@everyone|@here`)

// mentionRule says which mentions in a text notify: the API's allowed_mentions.
type mentionRule struct {
	everything  bool // no allowed_mentions given: all of them
	parse       []string
	users       []string
	roles       []string
	repliedUser bool
}

// notify works out whom a message notifies. The caller holds the lock.
func (s *Server) notify(m *message, rule mentionRule) {
	allows := func(kind, id string, ids []string) bool {
		return rule.everything || slices.Contains(rule.parse, kind) || slices.Contains(ids, id)
	}
	add := func(to *[]string, id string) {
		if !slices.Contains(*to, id) {
			*to = append(*to, id)
		}
	}
	for _, found := range mentionPattern.FindAllStringSubmatch(m.content, -1) {
		switch mark, id := found[1], found[2]; {
		case id == "":
			m.everyone = m.everyone || allows("everyone", "", nil)
		case mark == "&":
			if allows("roles", id, rule.roles) {
				add(&m.roles, id)
			}
		case allows("users", id, rule.users):
			if _, known := s.users[id]; known || id == s.opts.BotUser {
				add(&m.mentions, id)
			}
		}
	}
	if m.replyTo == "" || !rule.repliedUser {
		return
	}
	if r := m.place.find(m.replyTo); r != nil {
		id := r.author
		if id == sim.Bot {
			id = s.opts.BotUser
		}
		add(&m.mentions, id)
	}
}

// mentionsBot tells whether the bot is among those whom a message notifies.
func (s *Server) mentionsBot(m *message) bool {
	return slices.Contains(m.mentions, s.opts.BotUser) || slices.Contains(m.roles, BotRole)
}
