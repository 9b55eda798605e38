package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/slack-go/slack"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	retryFirst = 500 * time.Millisecond
	retryMost  = time.Minute
	livedFor   = 10 * time.Second // a connection that lasted this long was a good one: the next comes at once
	crowdWait  = 30 * time.Second // after "too many websockets": somebody else holds them
)

// Run connects and delivers until the context ends or only the operator can help. See platforms.Adapter.
func (a *Adapter) Run(ctx context.Context, sink platforms.Sink) error {
	ctx, stop := context.WithCancel(ctx)
	in := newIntake(a, sink)
	defer func() {
		stop()
		in.wait()
		a.http.CloseIdleConnections()
	}()
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval, retry.MaxInterval = retryFirst, retryMost
	who, err := a.identify(ctx, retry)
	if who == nil {
		return err
	}
	d := decoder{team: who.TeamID, bot: who.UserID, text: reader{bot: who.UserID, name: who.User}}
	a.who.Store(&d)
	for retry.Reset(); ctx.Err() == nil; {
		a.link.Connecting()
		end := a.connect(ctx, d, in)
		if ctx.Err() != nil {
			return nil
		}
		if platforms.ClassOf(end.err) == platforms.Fatal {
			return end.err
		}
		wait := retry.NextBackOff()
		switch {
		case end.reason == "too_many_websockets":
			wait = max(wait, crowdWait)
		case end.lived > livedFor:
			retry.Reset()
			wait = 0
		}
		wait = max(wait, platforms.WaitOf(end.err))
		if !end.refreshed() {
			a.link.Lost(end.cause(), wait)
		}
		sleep(ctx, wait)
	}
	return nil
}

// identify asks who the bot is until Slack says so; a nil answer and error mean that the context ended.
func (a *Adapter) identify(ctx context.Context, retry *backoff.ExponentialBackOff) (*slack.AuthTestResponse, error) {
	for {
		a.link.Connecting()
		who, err := a.whoami(ctx)
		if err == nil {
			return who, nil
		}
		if ctx.Err() != nil {
			return nil, nil
		}
		if platforms.ClassOf(err) == platforms.Fatal {
			return nil, err
		}
		wait := max(retry.NextBackOff(), platforms.WaitOf(err))
		a.link.Lost(err, wait)
		sleep(ctx, wait)
	}
}

func (a *Adapter) whoami(ctx context.Context) (who *slack.AuthTestResponse, err error) {
	op := operation{method: "auth.test", priority: platforms.PriorityLookup, repeat: true}
	err = a.call(ctx, op, func(ctx context.Context) error {
		who, err = a.api.AuthTestContext(ctx)
		if err == nil && (who.TeamID == "" || who.UserID == "") {
			return errors.New("the answer names no team and user")
		}
		return err
	})
	return who, err
}

// Check verifies both tokens and names the scopes that are missing.
func (a *Adapter) Check(ctx context.Context) (string, error) {
	defer a.http.CloseIdleConnections()
	who, err := a.whoami(ctx)
	if err != nil {
		return "", err
	}
	op := operation{method: "apps.connections.open", priority: platforms.PriorityLookup, repeat: true}
	err = a.call(ctx, op, func(ctx context.Context) error {
		_, _, err := a.api.StartSocketModeContext(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	line := fmt.Sprintf("@%s (%s) in the workspace %s (%s)", who.User, who.UserID, who.Team, who.TeamID)
	if missing := missingScopes(who.Header.Get("X-OAuth-Scopes")); len(missing) > 0 {
		line += "; missing scopes: " + strings.Join(missing, ", ") + " (add them under OAuth & Permissions and reinstall the app)"
	}
	return line, nil
}

// missingScopes compares the scopes of a token, as Slack lists them, with those that the adapter's calls and events
// need. Without a list nothing is missing.
func missingScopes(granted string) []string {
	if granted == "" {
		return nil
	}
	has := map[string]bool{}
	for _, scope := range strings.Split(granted, ",") {
		has[strings.TrimSpace(scope)] = true
	}
	var missing []string
	for _, scope := range []string{
		"app_mentions:read", "chat:write", "channels:history", "channels:read", "groups:history", "groups:read",
		"im:history", "im:read", "mpim:history", "mpim:read", "reactions:write", "users:read", "files:read",
	} {
		if !has[scope] {
			missing = append(missing, scope)
		}
	}
	return missing
}
