package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	clockSkew  = 30 * time.Second // by which Discord's clock and ours may differ
	pageLength = 100              // messages of one page, Discord's most
	mostPages  = 20
	discordDay = 1420070400000 // milliseconds: the first second of 2015, from which ids count
)

// Find looks for a message that Send may have posted, by its buttons or, without any, by its text: Discord does not
// show a nonce again. So it may take an equal text that we posted at about the same time for it.
func (a *Adapter) Find(ctx context.Context, at platforms.Address, out platforms.Outgoing, since time.Time) (string, error) {
	const op = "look a message up"
	me := a.me.Load()
	if me == nil {
		return "", &platforms.Error{Class: platforms.Transient, Op: "discord " + op, Err: errors.New("not connected yet")}
	}
	want, err := a.message(op, out)
	if err != nil {
		return "", err
	}
	found := ""
	err = a.each(ctx, op, channelOf(at), snowflake(since.Add(-clockSkew)), func(m *wireMessage) bool {
		same := m.Content == strings.TrimSpace(want.Content)
		if len(out.Buttons) > 0 { // texts may be equal by chance
			same = m.offers(out.Buttons[0][0].Data)
		}
		if m.Author.ID == me.user && same {
			found = m.ID
		}
		return found == ""
	})
	return found, err
}

// offers tells whether a message has a button with this data.
func (m *wireMessage) offers(data string) bool {
	for _, row := range m.Rows {
		for _, b := range row.Buttons {
			if b.ID == data {
				return true
			}
		}
	}
	return false
}

// each shows every message of a channel after an id, oldest first, until the function returns false. An error says that
// they were not all shown.
func (a *Adapter) each(ctx context.Context, op, channel, after string, show func(*wireMessage) bool) error {
	path := "channels/" + channel + "/messages"
	for range mostPages {
		query := url.Values{"after": {after}, "limit": {strconv.Itoa(pageLength)}}
		var page []*wireMessage // newest first
		err := a.api.call(ctx, request{
			op: op, method: http.MethodGet, path: path + "?" + query.Encode(), class: "GET " + path,
			priority: platforms.PriorityLookup, repeatable: true, into: &page,
		})
		if err != nil {
			return err
		}
		for i := len(page) - 1; i >= 0; i-- {
			if !show(page[i]) {
				return nil
			}
		}
		if len(page) < pageLength {
			return nil
		}
		after = page[0].ID
	}
	return &platforms.Error{Class: platforms.Invalid, Op: "discord " + op, Err: errors.New("too many messages to look through")}
}

// snowflake is the highest id that Discord gave before a time.
func snowflake(t time.Time) string {
	return strconv.FormatInt(max(max(t.UnixMilli()-discordDay, 0)<<22-1, 0), 10)
}

// Connections returns how often a session was started; one that is resumed gets what was written meanwhile.
func (a *Adapter) Connections() int { return int(a.fresh.Load()) }

// History returns what people wrote in a channel or a thread.
func (a *Adapter) History(ctx context.Context, at platforms.Address, since time.Time) ([]*platforms.Message, error) {
	const op = "read what was written"
	if a.me.Load() == nil {
		return nil, &platforms.Error{Class: platforms.Transient, Op: "discord " + op, Err: errors.New("not connected yet")}
	}
	var c wireChannel // a message of the list does not say which guild it is in
	err := a.api.call(ctx, request{
		op: op, method: http.MethodGet, path: "channels/" + channelOf(at), priority: platforms.PriorityLookup, repeatable: true, into: &c,
	})
	if err != nil {
		return nil, err
	}
	a.places.put(c)
	var list []*platforms.Message
	var failed error
	err = a.each(ctx, op, channelOf(at), snowflake(since), func(m *wireMessage) bool {
		if !m.written() {
			return true
		}
		m.Guild = c.Guild
		decoded, err := a.decodeMessage(ctx, m)
		if err != nil {
			failed = err
			return false
		}
		list = append(list, decoded)
		return true
	})
	return list, errors.Join(err, failed)
}
