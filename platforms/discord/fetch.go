package discord

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
)

// Fetch implements platforms.Fetcher: the address of a file is signed and expires, so the message is asked for a fresh one.
func (a *Adapter) Fetch(ctx context.Context, file platforms.Attachment, into io.Writer, most int64) error {
	const op = "discord read a file"
	ids := strings.Split(file.Ref, "/")
	if len(ids) != 3 {
		return &platforms.Error{Class: platforms.Invalid, Op: op, Err: errors.New("it has no file")}
	}
	var m wireMessage
	err := a.api.call(ctx, request{
		op: op, method: http.MethodGet, path: "channels/" + ids[0] + "/messages/" + ids[1], priority: platforms.PriorityLookup,
		class: "GET channels/" + ids[0] + "/messages", repeatable: true, into: &m,
	})
	if err != nil {
		return err
	}
	address, ok := m.fileAt(ids[2])
	if !ok {
		return &platforms.Error{Class: platforms.Gone, Op: op, Err: errors.New("the file was deleted")}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || !a.servesFiles(r.URL) {
		return &platforms.Error{Class: platforms.Invalid, Op: op, Err: errors.New("the file is kept elsewhere than at Discord")}
	}
	client := &http.Client{Transport: a.api.http, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return platforms.Download(client, r, op, into, most, nil)
}

// fileAt returns the address of one of the message's files, or of what it forwards.
func (m *wireMessage) fileAt(id string) (string, bool) {
	for _, f := range m.Attachments {
		if f.ID == id {
			return f.URL, f.URL != ""
		}
	}
	for _, s := range m.Snapshots {
		if address, ok := s.Message.fileAt(id); ok {
			return address, true
		}
	}
	return "", false
}

// servesFiles tells whether an address is one of Discord's, or of the server that the config names in its place.
func (a *Adapter) servesFiles(u *url.URL) bool {
	if u.Scheme == a.base.Scheme && u.Host == a.base.Host {
		return true
	}
	return u.Scheme == "https" && slices.Contains([]string{"cdn.discordapp.com", "media.discordapp.net"}, u.Host)
}
