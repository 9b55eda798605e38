package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// longPenalty is the wait for a platform from which on the owner is told.
const longPenalty = 10 * time.Minute

// homeKind stands for the kind of chat in the key of what is told at a home: it is nobody's conversation.
const homeKind platforms.ChatKind = "home"

// notice is mail: something that the owner is to know.
type notice struct {
	id      sessions.RowID // the same for the same cause
	to      platforms.Address
	about   platforms.Address
	refused []platforms.Address
	pieces  []string
}

// tellOwner lets the owner know of trouble at an address, once for each cause, if there is a home elsewhere.
func (g *Gateway) tellOwner(trouble platforms.Address, cause, text string) {
	g.tellHome(notice{id: sessions.RowID("owner-" + cause), about: trouble}, text)
}

// tellHome tells the owner in the first home that has not refused it.
func (g *Gateway) tellHome(n notice, text string) {
	to, ok := g.homes.elsewhere(n.about, n.refused, slices.Collect(maps.Keys(g.adapters)))
	if !ok {
		if len(n.refused) > 0 {
			g.log.Error("the owner could be told in none of the homes", "notice", n.id, "text", text)
		}
		return
	}
	n.to, n.pieces = to, g.adapters[to.Platform].Split(text)
	g.live.post(SessionKey(platforms.Origin{Address: to, Kind: homeKind}), n)
}

// refusedAtHome tells the owner in another home what one did not take.
func (g *Gateway) refusedAtHome(row sessions.Row, out output) {
	g.tellHome(notice{id: row.ID + "+", about: out.About, refused: append(out.Refused, out.To)}, strings.Join(out.Pieces, "\n"))
}

// noted writes a notice down as a row, unless the owner has been told of its cause.
func (c *conversation) noted(ctx context.Context, n notice) {
	if _, err := c.g.store.Row(ctx, n.id); err == nil {
		return
	}
	out := output{id: n.id, To: n.to, Pieces: n.pieces, Notice: true, Owner: true, About: n.about, Refused: n.refused}
	if err := c.commit(ctx, sessions.Record{}, out); err != nil {
		c.g.log.Error("what the owner is to know could not be written down; trying again", "notice", n.id, "error", err)
		c.torn = true
		c.g.live.post(c.key, n)
	}
}

// ownersHome refuses what was meant for the owner where he is not told any more.
func (g *Gateway) ownersHome(at platforms.Address) error {
	if home, ok := g.homes.on(at.Platform); !ok || home != at {
		return &platforms.Error{Class: platforms.Forbidden, Op: "tell the owner", Err: errors.New("this is not where the owner is told any more")}
	}
	return nil
}

// penalised tells the owner that a platform makes us wait for long: once a day, since all chats may have to.
func (g *Gateway) penalised(at platforms.Address, wait time.Duration) {
	if wait < longPenalty {
		return
	}
	g.tellOwner(at, fmt.Sprintf("penalty-%s-%s", at.Platform, time.Now().UTC().Format(time.DateOnly)), fmt.Sprintf(
		"%s does not let me write in the chat `%s` for %s. What I have to say there is kept and comes then. "+
			"If it makes me wait in more chats today, the log says so.", title(at.Platform), at.Chat, short(wait)))
}

// unread tells the owner, once a day and platform, where we could not read what was written while we were away.
func (g *Gateway) unread(at []platforms.Address, away time.Duration, reason error) {
	if len(at) == 0 {
		return
	}
	name, more := at[0].Platform, ""
	if n := len(at) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more; the log names them)", n)
	}
	g.tellOwner(at[0], fmt.Sprintf("unread-%s-%s", name, time.Now().UTC().Format(time.DateOnly)), fmt.Sprintf(
		"I did not hear %s for %s, and cannot read what was written meanwhile in the chat `%s`%s: %s. "+
			"What somebody asked me there has to be asked again.", title(name), short(away), at[0].Chat, more, platforms.ClassOf(reason)))
}

// platformOff tells the owner, on another platform, that one has stopped for good.
func (g *Gateway) platformOff(name platforms.Name, err error) {
	g.homes.lose(name)
	g.tellOwner(platforms.Address{Platform: name}, fmt.Sprintf("off-%s-%s", name, time.Now().UTC().Format(time.DateOnly)), fmt.Sprintf(
		"%s is off until the cause is cured and the program restarted: %v", title(name), err))
}

// gaveUp tells the owner that a turn crashed the program too often. Whoever wrote has been told in his chat.
func (g *Gateway) gaveUp(key sessions.Key, t *turn) {
	g.tellOwner(t.address, "crashed-"+t.id, fmt.Sprintf(
		"The program crashed three times while I worked in the conversation `%s`, so I gave that message up and said so there. "+
			"The log has the details.", key))
}

// wasFull tells the owner that the disk was full and is not any more.
func (g *Gateway) wasFull(since time.Time) {
	g.tellOwner(platforms.Address{}, fmt.Sprintf("full-%d", since.Unix()), fmt.Sprintf(
		"My disk was full for %s, and I could take no messages. Now there is room again. Please see to it that it stays so.", short(time.Since(since))))
}

// cmdSetHome makes the chat the one in which the owner is told what needs care on this platform, or ends that.
func (c *conversation) cmdSetHome(ctx context.Context, in *input) {
	o := in.origin()
	name, wish := title(o.Address.Platform), strings.ToLower(argument(in))
	switch {
	case wish != "" && wish != "off":
		c.reply(ctx, in, fmt.Sprintf("Write `%[1]ssethome` where I shall tell you what needs care, or `%[1]ssethome off`.", sign(o.Address.Platform)))
		return
	}
	if err := c.g.homes.change(ctx, o, wish == ""); err != nil {
		c.g.log.Error("where the owner is told could not be written down", "error", err)
		c.torn = true // and the command is handled again
		return
	}
	set := sessions.SettingChanged{Name: "home", Value: cmp.Or(wish, "here"), By: o.Sender.ID, At: time.Now()} // for the audit log
	if wish == "off" {
		c.reply(ctx, in, fmt.Sprintf("On %s I tell nobody any more what needs care.", name), set)
		return
	}
	c.reply(ctx, in, fmt.Sprintf("On %s I tell you here from now on what needs care: a platform that stopped or makes me wait for long, "+
		"a chat that I could not read back, work that I gave up because it crashed me, a disk that was full.", name), set)
}
