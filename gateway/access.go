package gateway

import (
	"fmt"

	"github.com/talaria-agent/talaria/platforms"
)

// Anyone in a list opens it to everybody.
const Anyone = "*"

// Access says who may talk to the bot, by stable ids. The zero value admits nobody.
type Access struct {
	Users  map[platforms.Name][]string
	Chats  map[platforms.Name][]string // groups and channels; empty = direct messages only
	Admins map[platforms.Name][]string
}

// Decision is what Access says about an update, with the rule that decided.
type Decision struct {
	Admitted bool
	Rule     string
}

// Decide tells whether an update's sender may cause anything at that place. Somebody without a stable identity (a bot,
// an anonymous admin, a channel) never may.
func (a Access) Decide(o platforms.Origin) Decision {
	p := o.Address.Platform
	if o.Sender.Bot || o.Sender.ID == "" {
		return Decision{Rule: "sender is not a person"}
	}
	if !a.user(p, o.Sender.ID) {
		return Decision{Rule: fmt.Sprintf("%s is not in access.%s.users", o.Sender.ID, p)}
	}
	if o.Kind == platforms.Direct {
		return Decision{Admitted: true, Rule: fmt.Sprintf("access.%s.users", p)}
	}
	if !contains(a.Chats[p], o.Address.Chat) && (o.Address.Thread == "" || !contains(a.Chats[p], o.Address.Thread)) {
		return Decision{Rule: fmt.Sprintf("%s is not in access.%s.chats", o.Address.Chat, p)}
	}
	return Decision{Admitted: true, Rule: fmt.Sprintf("access.%s.users and access.%s.chats", p, p)}
}

// Admin tells whether a person may do what only admins may. An open list of admins does not exist.
func (a Access) Admin(p platforms.Name, id string) bool {
	for _, admin := range a.Admins[p] {
		if admin == id && id != "" && id != Anyone {
			return true
		}
	}
	return false
}

// user tells whether a person is listed; admins are users too.
func (a Access) user(p platforms.Name, id string) bool {
	return contains(a.Users[p], id) || a.Admin(p, id)
}

func contains(list []string, id string) bool {
	for _, entry := range list {
		if entry == id || entry == Anyone {
			return true
		}
	}
	return false
}
