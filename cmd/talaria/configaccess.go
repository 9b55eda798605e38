package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/platforms"
)

// anonymousAdmin is the id under which Telegram shows every anonymous group admin.
const anonymousAdmin = "1087968824"

// idShape says what a stable id of a platform looks like, and how to say so.
type idShape struct {
	users, chats *regexp.Regexp
	example      string
}

var idShapes = map[platforms.Name]idShape{
	platforms.Telegram: {regexp.MustCompile(`^\d+$`), regexp.MustCompile(`^-?\d+$`), "a number like 123456789 (groups: -1001234567890)"},
	platforms.Slack:    {regexp.MustCompile(`^[UW][A-Z0-9]+$`), regexp.MustCompile(`^[CGD][A-Z0-9]+$`), "like U0123ABCD (channels: C0123ABCD)"},
	platforms.Discord:  {regexp.MustCompile(`^\d{5,20}$`), regexp.MustCompile(`^\d{5,20}$`), "a number like 123456789012345678"},
}

// validateAccess finds entries that could never match anybody, or would match too many.
func validateAccess(c *checker, a *AccessConfig) {
	before := len(c.problems)
	own := map[platforms.Name]AccessList{
		platforms.Telegram: a.Telegram, platforms.Slack: a.Slack, platforms.Discord: a.Discord,
	}
	for name, list := range own {
		key := "access." + string(name)
		c.ids(key+".users", name, list.Users, idShapes[name].users, true)
		c.ids(key+".chats", name, list.Chats, idShapes[name].chats, true)
		c.ids(key+".admins", name, list.Admins, idShapes[name].users, false)
	}
	c.entries("access.users", a.Users, func(s idShape) *regexp.Regexp { return s.users }, true)
	c.entries("access.chats", a.Chats, func(s idShape) *regexp.Regexp { return s.chats }, true)
	c.entries("access.admins", a.Admins, func(s idShape) *regexp.Regexp { return s.users }, false)
	slices.Sort(c.problems[before:])
}

// entries checks entries that name their platform: "telegram:123".
func (c *checker) entries(key string, list []string, shape func(idShape) *regexp.Regexp, open bool) {
	for _, entry := range list {
		p, id, ok := strings.Cut(entry, ":")
		name := platforms.Name(p)
		s, known := idShapes[name]
		if !ok || !known {
			c.add(key, "%q must name the platform and the id, like \"telegram:123\" (everybody there: \"telegram:*\")", entry)
			continue
		}
		c.ids(key, name, []string{id}, shape(s), open)
	}
}

// place checks the name of a platform, a chat, or a topic or thread of one, and that it has not been seen.
func (c *checker) place(key, place string, seen map[string]bool) {
	p, chat, one := strings.Cut(place, ":")
	chat, _, _ = strings.Cut(chat, "/")
	shape, known := idShapes[platforms.Name(p)]
	switch {
	case !known || one && !shape.chats.MatchString(chat):
		c.add(key, "%q is neither a platform like \"telegram\" nor a chat like \"telegram:-1001234567890\"", place)
	case seen[place]:
		c.add(key, "%q stands there twice", place)
	}
	seen[place] = true
}

// ids checks the ids of one platform. With open, "*" stands for everybody.
func (c *checker) ids(key string, name platforms.Name, list []string, shape *regexp.Regexp, open bool) {
	for _, id := range list {
		switch {
		case strings.TrimSpace(id) == "":
			c.add(key, "it has a blank entry")
		case id == gateway.Anyone && open:
		case id == gateway.Anyone:
			c.add(key, "%q would make everybody an admin", id)
		case id == anonymousAdmin && name == platforms.Telegram:
			c.add(key, "%s is shared by all anonymous admins of Telegram", id)
		case !shape.MatchString(id):
			c.add(key, "%q is no id of %s, which is %s; names do not count, because they can change hands", id, name, idShapes[name].example)
		}
	}
}

// environmentUsers reads TALARIA_ALLOWED_USERS and says what is wrong with it.
func environmentUsers(getenv func(string) string) (users, problems []string) {
	const name = "TALARIA_ALLOWED_USERS"
	for id := range strings.SplitSeq(getenv(name), ",") {
		if id = strings.TrimSpace(id); id != "" {
			users = append(users, id)
		}
	}
	c := &checker{}
	c.entries(name, users, func(s idShape) *regexp.Regexp { return s.users }, true)
	return users, c.problems
}

// warnAccess returns what is allowed, or allows nothing, but is worth a word at the start.
func warnAccess(cfg *Config) []string {
	var w []string
	a := cfg.access()
	tokens := map[platforms.Name]string{
		platforms.Telegram: cfg.Platforms.Telegram.Token, platforms.Slack: cfg.Platforms.Slack.BotToken,
		platforms.Discord: cfg.Platforms.Discord.Token,
	}
	for name, token := range tokens {
		listed := len(a.Users[name]) + len(a.Admins[name])
		switch {
		case token == "" && listed > 0:
			w = append(w, fmt.Sprintf("people of %s are listed, but it has no token", name))
		case token != "" && listed == 0:
			w = append(w, fmt.Sprintf("nobody may use the bot on %s yet: write to it, and add the id that it tells you to access.%s.users", name, name))
		}
		if slices.Contains(a.Users[name], gateway.Anyone) {
			w = append(w, fmt.Sprintf("access is open: anybody on %s may use this bot", name))
		}
		if slices.Contains(a.Chats[name], gateway.Anyone) {
			w = append(w, fmt.Sprintf("all groups and channels of %s are open to the listed users", name))
		}
	}
	return w
}
