package slack

import (
	"context"
	"errors"
	"fmt"
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

// Check verifies both tokens and compares the bot token's scopes with what the adapter needs. Which events the app is
// subscribed to, Slack does not tell a bot.
func (a *Adapter) Check(ctx context.Context, _ time.Duration) (platforms.Checked, error) {
	defer a.http.CloseIdleConnections()
	who, err := a.whoami(ctx)
	if err != nil {
		return platforms.Checked{}, err
	}
	op := operation{method: "apps.connections.open", priority: platforms.PriorityLookup, repeat: true}
	err = a.call(ctx, op, func(ctx context.Context) error {
		_, _, err := a.api.StartSocketModeContext(ctx)
		return err
	})
	if err != nil {
		return platforms.Checked{}, err
	}
	c := platforms.Checked{
		Who:  fmt.Sprintf("@%s (%s) in the workspace %s (%s)", who.User, who.UserID, who.Team, who.TeamID),
		Link: fmt.Sprintf("https://slack.com/app_redirect?channel=%s&team=%s", who.UserID, who.TeamID),
	}
	for _, g := range missing(who.Header.Get("X-OAuth-Scopes")) {
		c.Problems = append(c.Problems, platforms.Problem{
			What: fmt.Sprintf("the scope %s is missing, so %s", g.scope, g.lost),
			Cure: "add it under OAuth & Permissions, Bot Token Scopes, and install the app again",
		})
	}
	return c, nil
}
