package gateway

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
)

// reach finds the chat that somebody means by a word, if he may have something sent there: by the same rules as for a
// message of his own in it. What he may not use and what does not exist are told apart for nobody.
//
//	here, or nothing         where he writes
//	home                     where the owner is told what needs care
//	a name                   one of gateway.places
//	[platform:]chat[/thread] by id
//
// Only chats of the same platform can be meant, because it is there that we know who he is.
func (g *Gateway) reach(ctx context.Context, from platforms.Origin, word string) (to platforms.Origin, problem string, err error) {
	word = strings.TrimSpace(word)
	if word == "" || word == "here" {
		return from, "", nil
	}
	at, ok := g.meant(from, word)
	if !ok {
		return to, fmt.Sprintf("`%s` is no chat that I know. The list of chats says which there are.", word), nil
	}
	to = platforms.Origin{Address: at, Kind: platforms.Group, Sender: from.Sender}
	own := from.Kind == platforms.Direct && at.Chat == from.Address.Chat ||
		at.Platform == platforms.Telegram && at.Chat == from.Sender.ID // whose private chat has his id
	switch {
	case own:
		to.Kind = platforms.Direct
	case at.Thread != "" && at.Platform == platforms.Telegram:
		to.Kind = platforms.Topic
	case at.Thread != "":
		to.Kind = platforms.Thread
	}
	allowed := g.admit(to).Admitted
	if allowed && !own && !g.named(at) { // everybody's private chats are chats, too
		if allowed, err = g.public(ctx, at); err != nil {
			return to, "", err
		}
	}
	if !allowed {
		return to, fmt.Sprintf("`%s` is no chat that you may use.", word), nil
	}
	return to, "", nil
}

// meant returns the address that a word names.
func (g *Gateway) meant(from platforms.Origin, word string) (platforms.Address, bool) {
	p := from.Address.Platform
	at, ok := g.now().Places[strings.ToLower(word)]
	switch {
	case ok:
	case word == "home":
		at, ok = g.homes.on(p)
	case word == "dm" && from.Kind == platforms.Direct:
		at, ok = from.Address, true
	case word == "dm" && p == platforms.Telegram:
		at, ok = platforms.Address{Platform: p, Chat: from.Sender.ID}, true
	default:
		id := strings.TrimPrefix(word, string(p)+":")
		chat, thread, _ := strings.Cut(id, "/")
		at, ok = platforms.Address{Platform: p, Chat: chat, Thread: thread}, chat != "" && !strings.ContainsAny(id, ": \t\n")
	}
	at.Account = from.Address.Account
	return at, ok && at.Platform == p
}

// named tells whether the config names a chat, or its thread, as one in which the bot may be used.
func (g *Gateway) named(at platforms.Address) bool {
	chats := g.now().Access.Chats[at.Platform]
	return slices.Contains(chats, at.Chat) || at.Thread != "" && slices.Contains(chats, at.Thread)
}

// public tells whether a chat is known as one of several people.
func (g *Gateway) public(ctx context.Context, at platforms.Address) (bool, error) {
	for known, err := range g.groups(ctx, at) {
		if err != nil || known.Chat == at.Chat {
			return err == nil, err
		}
	}
	return false, nil
}

// groups yields the chats of several people on a platform in which somebody has talked to us, some more than once.
func (g *Gateway) groups(ctx context.Context, like platforms.Address) func(func(platforms.Address, error) bool) {
	return func(yield func(platforms.Address, error) bool) {
		for key, err := range g.store.Keys(ctx) {
			if err != nil {
				yield(platforms.Address{}, err)
				return
			}
			k, ok := takeApart(key)
			if !ok || k.platform != string(like.Platform) || k.account != like.Account {
				continue
			}
			switch platforms.ChatKind(k.kind) {
			case platforms.Group, platforms.Channel, platforms.Topic, platforms.Thread:
				if !yield(platforms.Address{Platform: like.Platform, Account: like.Account, Chat: k.chat}, nil) {
					return
				}
			}
		}
	}
}

// reachable lists the chats that somebody may have something sent to, without their threads, each with its name if it has one.
func (g *Gateway) reachable(ctx context.Context, from platforms.Origin) (lines []string, err error) {
	lines = append(lines, "here: "+placeOf(from.Address))
	shown := map[string]bool{whole(from.Address).Chat: true}
	say := func(name, word string) error {
		to, problem, err := g.reach(ctx, from, word)
		if err != nil || problem != "" || name == "" && shown[to.Address.Chat] {
			return err
		}
		shown[to.Address.Chat] = true
		if name != "" {
			name += ": "
		}
		lines = append(lines, name+placeOf(to.Address))
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(g.now().Places)) {
		if err := say(name, name); err != nil {
			return nil, err
		}
	}
	if err := say("home", "home"); err != nil {
		return nil, err
	}
	for _, chat := range g.now().Access.Chats[from.Address.Platform] {
		if chat != Anyone {
			if err := say("", chat); err != nil {
				return nil, err
			}
		}
	}
	seen := map[string]bool{}
	for at, err := range g.groups(ctx, from.Address) {
		if err != nil {
			return nil, err
		}
		if !seen[at.Chat] {
			seen[at.Chat] = true
			o := platforms.Origin{Address: at, Kind: platforms.Group, Sender: from.Sender}
			if g.admit(o).Admitted && !shown[at.Chat] {
				lines = append(lines, placeOf(at))
			}
		}
	}
	return lines, nil
}
