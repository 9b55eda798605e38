package discord

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/talaria-agent/talaria/platforms"
)

const keepPlaces = 20_000

// place is what has to be known about a channel to address it.
type place struct {
	kind   platforms.ChatKind
	parent string // of a thread
	name   string
}

// places remembers channels and the bot's own roles, from events and look-ups. It is a bounded cache: what is missing is
// looked up. Safe for use from any goroutine.
type places struct {
	mu    sync.Mutex
	known map[string]place
	roles map[string][]string // the bot's, by guild
}

func newPlaces() *places {
	return &places{known: map[string]place{}, roles: map[string][]string{}}
}

func (p *places) get(channel string) (place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.known[channel]
	return found, ok
}

func (p *places) put(channels ...wireChannel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range channels {
		if c.ID == "" {
			continue
		}
		if len(p.known) >= keepPlaces {
			for id := range p.known { // any one: it is looked up when it is needed again
				delete(p.known, id)
				break
			}
		}
		p.known[c.ID] = c.place()
	}
}

func (p *places) drop(channel string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, channel)
}

// setRoles notes the bot's roles in a guild.
func (p *places) setRoles(guild string, roles []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roles[guild] = roles
}

// hasRole tells whether the bot has one of the roles.
func (p *places) hasRole(guild string, roles []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(p.roles[guild], r) })
}

// Channel types (https://discord.com/developers/docs/resources/channel#channel-object-channel-types).
const (
	channelDM                 = 1
	channelGroupDM            = 3
	channelAnnouncementThread = 10
	channelPublicThread       = 11
	channelPrivateThread      = 12
)

func (c wireChannel) place() place {
	switch c.Type {
	case channelDM:
		return place{kind: platforms.Direct, name: c.Name}
	case channelAnnouncementThread, channelPublicThread, channelPrivateThread:
		return place{kind: platforms.Thread, parent: c.Parent, name: c.Name}
	default:
		return place{kind: platforms.Channel, name: c.Name}
	}
}

// where returns the address of a channel. A message without a guild is a DM; a channel that nobody has mentioned yet is
// looked up, and one that cannot be seen counts as an ordinary one.
func (a *Adapter) where(ctx context.Context, channel, guild string) (platforms.Address, place, error) {
	at := platforms.Address{Platform: platforms.Discord, Account: a.me.Load().application, Chat: channel}
	p, known := a.places.get(channel)
	switch {
	case known:
	case guild == "":
		p = place{kind: platforms.Direct}
	default:
		var c wireChannel
		err := a.api.call(ctx, request{
			op: "look a channel up", method: http.MethodGet, path: "channels/" + url.PathEscape(channel), priority: platforms.PriorityLookup,
			repeatable: true, into: &c,
		})
		switch platforms.ClassOf(err) {
		case "":
			c.ID = channel
			a.places.put(c)
			p = c.place()
		case platforms.Gone, platforms.Forbidden, platforms.Invalid:
			p = place{kind: platforms.Channel}
		default:
			return at, p, err
		}
	}
	if p.kind == platforms.Thread && p.parent != "" {
		at.Chat, at.Thread = p.parent, channel
	}
	return at, p, nil
}
