package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// JSON error codes of the API
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#json-json-error-codes).
const (
	codeUnknownChannel     = 10003
	codeUnknownGuild       = 10004
	codeUnknownMessage     = 10008
	codeUnknownInteraction = 10062
	codeOldEdits           = 30046 // too many edits of messages older than an hour
	codeTooLarge           = 40005
	codeAcknowledged       = 40060
	codeMissingAccess      = 50001
	codeCannotMessageUser  = 50007
	codeMissingPermission  = 50013
	codeInvalidForm        = 50035
	codeThreadArchived     = 50083
	codeOverloaded         = 130000
	codeThreadLocked       = 160005
)

// oldEditsWait is how long to leave old messages alone after code 30046, which names no time.
const oldEditsWait = time.Minute

// tokenRefused says what to do about a token that Discord does not take.
const tokenRefused = "the bot token is refused; copy a new one from the developer portal (Bot, Reset Token)"

// problem is an error in the API's shape.
type problem struct {
	Status  int             `json:"-"`
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Errors  json.RawMessage `json:"errors"`
}

func (p *problem) Error() string {
	s := fmt.Sprintf("%d %s", p.Status, http.StatusText(p.Status))
	if p.Message != "" {
		s += ": " + p.Message
	}
	if p.Code != 0 {
		s += fmt.Sprintf(" (code %d)", p.Code)
	}
	return s
}

// classify says what a failed call means. It is the only place that does.
func classify(r request, x *exchange, err error) error {
	e := &platforms.Error{Op: "discord " + r.op, Err: err}
	if x.status < 400 { // no answer, or one that could not be read to its end
		e.Class, e.Err = platforms.Transient, withoutURL(err)
		if !r.repeatable && x.connected.Load() {
			e.Class = platforms.OutcomeUnknown
		}
		return e
	}
	p := &problem{}
	foreign := json.Unmarshal(x.problem, p) != nil // not from Discord, but from something in between
	p.Status, e.Err = x.status, p
	switch {
	case x.status == http.StatusTooManyRequests:
		e.Class, e.Wait = platforms.RateLimited, x.retryAfter
	case x.status == http.StatusUnauthorized && !foreign:
		e.Class = platforms.Fatal
		e.Err = fmt.Errorf("%s: %w", tokenRefused, p)
	case x.status == http.StatusBadGateway || x.status == http.StatusGatewayTimeout:
		e.Class = platforms.OutcomeUnknown // the gateway in front gave up; what is behind it may not have
		if r.repeatable {
			e.Class = platforms.Transient
		}
	case x.status >= 500 || foreign:
		e.Class = platforms.Transient
	default:
		e.Class = classOf(p)
		if p.Code == codeOldEdits {
			e.Wait = oldEditsWait
		}
	}
	return e
}

// classOf maps the API's error codes.
func classOf(p *problem) platforms.Class {
	switch p.Code {
	case codeUnknownChannel, codeUnknownGuild, codeUnknownMessage, codeUnknownInteraction:
		return platforms.Gone
	case codeMissingAccess, codeMissingPermission, codeCannotMessageUser, codeThreadArchived, codeThreadLocked:
		return platforms.Forbidden
	case codeOldEdits:
		return platforms.RateLimited
	case codeTooLarge:
		return platforms.TooLong
	case codeOverloaded:
		return platforms.Transient
	case codeInvalidForm:
		if contentTooLong(p.Errors) {
			return platforms.TooLong
		}
		return platforms.Invalid
	}
	switch p.Status {
	case http.StatusForbidden:
		return platforms.Forbidden
	case http.StatusNotFound:
		return platforms.Gone
	default:
		return platforms.Invalid
	}
}

// contentTooLong tells whether an invalid form is about the length of the text.
func contentTooLong(fields json.RawMessage) bool {
	var f struct {
		Content struct {
			Errors []struct {
				Code string `json:"code"`
			} `json:"_errors"`
		} `json:"content"`
	}
	if json.Unmarshal(fields, &f) != nil {
		return false
	}
	for _, e := range f.Content.Errors {
		if strings.Contains(e.Code, "MAX_LENGTH") || strings.Contains(e.Code, "BAD_LENGTH") {
			return true
		}
	}
	return false
}

// codeOf returns the API's error code, 0 if there is none.
func codeOf(err error) int {
	var p *problem
	if errors.As(err, &p) {
		return p.Code
	}
	return 0
}

// withoutURL takes the address out of an HTTP client's error: it holds the token of an interaction.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
