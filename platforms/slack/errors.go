package slack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"github.com/talaria-agent/talaria/platforms"
)

// waitUnsaid is how long to wait when Slack refuses for speed without saying until when.
const waitUnsaid = 30 * time.Second

// patience is how much of a wait that Slack imposed is sat out; a longer one is the caller's to plan with.
const patience = 2 * time.Second

var errNoPermit = errors.New("no permit is free")

// frozen returns how long the classes of a permit stay frozen.
func (a *Adapter) frozen(permit platforms.Permit) time.Duration {
	var wait time.Duration
	for _, class := range permit.Classes {
		if until := a.pacer.Frozen(class); !until.IsZero() {
			wait = max(wait, time.Until(until))
		}
	}
	return wait
}

// call takes a permit and makes one request. Its error is an *platforms.Error.
func (a *Adapter) call(ctx context.Context, op operation, request func(context.Context) error) error {
	permit := platforms.Permit{Priority: op.priority, Classes: op.classes()}
	if wait := a.frozen(permit); wait > patience && op.priority != platforms.PriorityAck {
		return &platforms.Error{
			Class: platforms.RateLimited, Op: "slack " + op.method, Wait: wait, Err: errors.New("the wait that Slack asked for is not over"),
		}
	}
	if op.now {
		if !a.pacer.Try(permit) {
			return &platforms.Error{Class: platforms.RateLimited, Op: "slack " + op.method, Err: errNoPermit}
		}
	} else if err := a.pacer.Take(ctx, permit); err != nil {
		return &platforms.Error{Class: platforms.Transient, Op: "slack " + op.method, Err: err}
	}
	var connected atomic.Bool // once there is a connection, the request may have reached Slack
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	err := request(traced)
	if err == nil {
		return nil
	}
	e := a.classify(op.method, err, connected.Load() && !op.repeat)
	if e.Class == platforms.RateLimited {
		a.pacer.Freeze(op.slowed(), time.Now().Add(e.Wait))
	}
	return e
}

// classify turns an error of the library into one of ours. With unsure set, a failure that leaves open what happened has
// the outcome unknown; without it, it is transient.
func (a *Adapter) classify(method string, err error, unsure bool) *platforms.Error {
	e := &platforms.Error{Class: platforms.Transient, Op: "slack " + method, Err: a.clean(err)}
	open := func() {
		if unsure {
			e.Class = platforms.OutcomeUnknown
		}
	}
	var (
		limited *slack.RateLimitedError
		status  slack.StatusCodeError
		refused slack.SlackErrorResponse
	)
	switch {
	case errors.As(err, &limited):
		e.Class, e.Wait = platforms.RateLimited, limited.RetryAfter
	case errors.As(err, &status):
		switch {
		case status.Code == http.StatusTooManyRequests:
			e.Class, e.Wait = platforms.RateLimited, waitUnsaid
		case status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden:
			e.Class = platforms.Fatal
		case status.Code == http.StatusServiceUnavailable: // said before anything was done
		case status.Code >= http.StatusInternalServerError:
			open()
		default:
			e.Class = platforms.Invalid
		}
	case errors.As(err, &refused):
		e.Class = classOf(refused.Err)
		switch {
		case e.Class == platforms.RateLimited:
			e.Wait = waitUnsaid
		case e.Class == platforms.OutcomeUnknown && !unsure:
			e.Class = platforms.Transient
		}
		if len(refused.ResponseMetadata.Messages) > 0 {
			e.Err = errors.New(refused.Err + ": " + strings.Join(refused.ResponseMetadata.Messages, "; "))
		}
		if refused.Needed != "" {
			e.Err = errors.New(refused.Err + ": the app lacks the scope " + refused.Needed)
		}
		if cure := cureFor(method, refused.Err); cure != "" && e.Class == platforms.Fatal {
			e.Err = fmt.Errorf("%s: %w", cure, e.Err)
		}
	default: // the connection, the deadline, or an answer that is no JSON
		open()
	}
	return e
}

// classOf maps Slack's error codes (listed with each method on docs.slack.dev/reference/methods).
func classOf(code string) platforms.Class {
	switch code {
	case "ratelimited", "rate_limited", "message_limit_exceeded":
		return platforms.RateLimited
	case "msg_too_long", "msg_blocks_too_long":
		return platforms.TooLong
	case "invalid_blocks", "invalid_blocks_format", "markdown_text_conflict":
		return platforms.BadFormat
	case "channel_not_found", "message_not_found", "thread_not_found", "invalid_thread_ts", "user_not_found",
		"cannot_reply_to_message":
		return platforms.Gone
	case "not_in_channel", "is_archived", "is_inactive", "user_not_in_channel", "cant_update_message",
		"cant_delete_message", "edit_window_closed", "channel_is_limited_access", "ekm_access_denied",
		"messages_tab_disabled", "cannot_dm_bot", "user_disabled":
		return platforms.Forbidden
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope",
		"no_permission", "not_allowed_token_type", "org_login_required", "access_denied", "accesslimited",
		"team_access_not_granted", "invalid_app", "link_disabled":
		return platforms.Fatal
	case "internal_error", "fatal_error": // "some aspect of the operation may have succeeded"
		return platforms.OutcomeUnknown
	case "service_unavailable", "request_timeout", "team_added_to_org":
		return platforms.Transient
	}
	if strings.HasPrefix(code, "restricted_action") {
		return platforms.Forbidden
	}
	return platforms.Invalid
}

// cureFor says what the operator can do about a refusal that keeps the bot from working.
func cureFor(method, code string) string {
	app := strings.HasPrefix(method, "apps.connections.")
	switch code {
	case "invalid_auth", "not_authed", "not_allowed_token_type", "token_revoked", "token_expired", "account_inactive":
		if app {
			return "the app-level token is refused; make one with the scope connections:write (Basic Information, App-Level Tokens) and put it into platforms.slack.app_token"
		}
		return "the bot token is refused; install the app (OAuth & Permissions) and put its bot token into platforms.slack.bot_token"
	case "missing_scope":
		return "the app may not do this; add the scope under OAuth & Permissions and install the app again"
	case "link_disabled":
		return socketModeOff
	}
	return "the workspace does not let the app in; ask its admins"
}

// socketModeOff says what to do about an app without Socket Mode.
const socketModeOff = "this app has Socket Mode switched off; switch it on in the app's settings"

// clean makes an error fit for logs: without the address of a request, which may hold a ticket, and without tokens.
func (a *Adapter) clean(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	text := err.Error()
	for _, secret := range []string{a.cfg.BotToken, a.cfg.AppToken} {
		text = strings.ReplaceAll(text, secret, "[token]")
	}
	var operr *net.OpError
	if text == err.Error() || errors.As(err, &operr) && !strings.Contains(text, "[token]") {
		return err
	}
	return errors.New(text)
}

// codeIs tells whether Slack refused a call with one of these codes.
func codeIs(err error, codes ...string) bool {
	var refused slack.SlackErrorResponse
	if !errors.As(err, &refused) {
		return false
	}
	for _, code := range codes {
		if refused.Err == code {
			return true
		}
	}
	return false
}
