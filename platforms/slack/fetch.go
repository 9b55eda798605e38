package slack

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/slack-go/slack"

	"github.com/talaria-agent/talaria/platforms"
)

// Fetch implements platforms.Fetcher: it asks where the file is and reads it from there with the bot's token. A token that
// may not read files gets Slack's login page instead, with status 200.
func (a *Adapter) Fetch(ctx context.Context, file platforms.Attachment, into io.Writer, most int64) error {
	var found *slack.File
	op := operation{method: "files.info", priority: platforms.PriorityLookup, repeat: true}
	err := a.call(ctx, op, func(ctx context.Context) (err error) {
		found, _, _, err = a.api.GetFileInfoContext(ctx, file.Ref, 0, 1)
		return err
	})
	if err != nil {
		return err
	}
	const reading = "slack url_private"
	if found.Mode == "tombstone" || found.URLPrivate == "" {
		return &platforms.Error{Class: platforms.Gone, Op: reading, Err: errors.New("the file was deleted")}
	}
	if !a.trusted(found.URLPrivate) {
		return &platforms.Error{Class: platforms.Invalid, Op: reading, Err: errors.New("the file is kept elsewhere than at Slack")}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, found.URLPrivate, nil)
	if err != nil {
		return &platforms.Error{Class: platforms.Invalid, Op: reading, Err: errors.New("the file has no address")}
	}
	r.Header.Set("Authorization", "Bearer "+a.cfg.BotToken)
	client := *a.http
	client.Timeout = 0 // the caller's context bounds it
	client.CheckRedirect = func(to *http.Request, _ []*http.Request) error {
		if !a.trusted(to.URL.String()) {
			return errors.New("the file's address leads away from Slack")
		}
		return nil
	}
	return platforms.Download(&client, r, reading, into, most, func(answer *http.Response) *platforms.Error {
		page, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
		if page != "text/html" || found.Mimetype == "text/html" {
			return nil
		}
		return &platforms.Error{Class: platforms.Forbidden, Err: errors.New("a login is wanted: the app lacks the scope files:read")}
	})
}

// trusted tells whether an address is Slack's, or the one that the config names in its place: nobody else gets the token.
func (a *Adapter) trusted(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if api, err := url.Parse(a.cfg.APIURL); err == nil && u.Scheme == api.Scheme && u.Host == api.Host {
		return true
	}
	return u.Scheme == "https" && (u.Host == "slack.com" || strings.HasSuffix(u.Host, ".slack.com"))
}
