package discord

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
)

// Permission is one that the bot needs in a server. The numbers are Discord's
// (https://discord.com/developers/docs/topics/permissions).
type Permission struct {
	Bit  uint
	Name string // as Discord's settings call it
	Lost string // what does not work without it
}

// Permissions returns all that the bot needs. Invite asks for them, and Check looks for them. Files and threads of its own
// are asked for ahead, so that nobody has to let the bot in a second time for them.
func Permissions() []Permission {
	return []Permission{
		{6, "Add Reactions", "nothing shows that a message was received"},
		{10, "View Channels", "the bot sees no channel"},
		{11, "Send Messages", "the bot cannot say anything"},
		{15, "Attach Files", "the bot can send no files"},
		{16, "Read Message History", "the bot cannot reply to a message, nor read back after an absence"},
		{35, "Create Public Threads", "the bot can open no thread"},
		{38, "Send Messages in Threads", "the bot cannot answer in threads"},
	}
}

const (
	administrator = 1 << 3
	inviteAddress = "https://discord.com/oauth2/authorize"
)

// PermissionBits is Permissions as the number that Discord writes.
func PermissionBits() (bits uint64) {
	for _, p := range Permissions() {
		bits |= 1 << p.Bit
	}
	return bits
}

// Invite is the address at which somebody who manages a server lets the bot in, with the permissions that it needs and its
// commands.
func Invite(application string) string {
	return inviteAddress + "?" + url.Values{
		"client_id": {application}, "scope": {"bot applications.commands"}, "permissions": {strconv.FormatUint(PermissionBits(), 10)},
	}.Encode()
}

// Intent is what the bot asks the gateway for.
type Intent struct {
	Name       string
	Privileged bool // it has to be switched on in the developer portal (Bot, Privileged Gateway Intents)
}

// Intents returns all that the bot asks for.
func Intents() []Intent {
	return []Intent{{"Guilds", false}, {"Guild Messages", false}, {"Direct Messages", false}, {"Message Content", true}}
}

// guild is a server that the bot is in.
type guild struct {
	Name        string `json:"name"`
	Permissions string `json:"permissions"` // of the bot, without what single channels say
}

// guilds returns the servers that the bot is in, at most 200.
func (a *Adapter) guilds(ctx context.Context) (all []guild, err error) {
	err = a.api.call(ctx, request{
		op: "list the servers", method: http.MethodGet, path: "users/@me/guilds", priority: platforms.PriorityLookup, repeatable: true, into: &all,
	})
	return all, err
}

// lacks returns the permissions that the bot does not have in a server.
func (g guild) lacks() (all []Permission) {
	has, err := strconv.ParseUint(g.Permissions, 10, 64)
	if err != nil || has&administrator != 0 {
		return nil
	}
	for _, p := range Permissions() {
		if has&(1<<p.Bit) == 0 {
			all = append(all, p)
		}
	}
	return all
}

// problems says what is wrong with the servers that the bot is in.
func problems(all []guild, application string) (found []platforms.Problem) {
	if len(all) == 0 {
		return []platforms.Problem{{
			What: "the bot is in no server, so nobody can find it, not even for a direct message", Cure: "let it in: " + Invite(application),
		}}
	}
	for _, g := range all {
		lacking := g.lacks()
		if len(lacking) == 0 {
			continue
		}
		var names []string
		for _, p := range lacking {
			names = append(names, p.Name)
		}
		found = append(found, platforms.Problem{
			What:  fmt.Sprintf("in the server %q it lacks the permission %s, so %s", g.Name, strings.Join(names, ", "), lacking[0].Lost),
			Cure:  "give it to the bot's role, or let the bot in again: " + Invite(application),
			Minor: true,
		})
	}
	return found
}
