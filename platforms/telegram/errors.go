package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/talaria-agent/talaria/platforms"
)

// What the Bot API says in the descriptions of its errors (sources of tdlib/telegram-bot-api and tdlib/td); there are
// no finer codes.
const (
	notModified     = "message is not modified"
	deleteNotFound  = "message to delete not found"
	webhookConflict = "webhook is active"
)

// classify turns a failed call into the contract's error. Written tells whether the request may have reached Telegram.
func classify(c call, err error, written bool) *platforms.Error {
	e := &platforms.Error{Op: c.op(), Err: err, Class: platforms.Transient}
	var refused *tgbotapi.Error
	var status *httpError
	switch {
	case errors.As(err, &refused):
		e.Class = classOf(c, refused)
		if cure := cureFor(c, refused); cure != "" {
			e.Err = fmt.Errorf("%s: %w", cure, err)
		}
		if e.Class == platforms.RateLimited {
			e.Wait = max(time.Duration(refused.RetryAfter)*time.Second, time.Second)
		}
		if refused.MigrateToChatID != 0 {
			e.Class, e.To = platforms.Gone, strconv.FormatInt(refused.MigrateToChatID, 10)
		}
	case errors.As(err, &status):
		e.Class = classOfStatus(c, status.status)
		if e.Class == platforms.RateLimited {
			e.Wait = max(status.wait, 5*time.Second)
		}
	case written && c.once:
		e.Class = platforms.OutcomeUnknown
	}
	return e
}

// cureFor says what the operator can do about a refusal that keeps the bot from working; empty if it is none.
func cureFor(c call, refused *tgbotapi.Error) string {
	switch {
	case classOf(c, refused) == platforms.Fatal:
		return "the bot token is refused; copy the right one from @BotFather (/token) into platforms.telegram.token"
	case refused.Code != http.StatusConflict:
		return ""
	case strings.Contains(refused.Message, webhookConflict):
		return "telegram delivers this bot's messages to a webhook, so none arrive here; delete the webhook (method deleteWebhook)"
	}
	return "another program receives this bot's messages; stop it, or use another token here"
}

// classOf reads an error of the Bot API. An internal error of the server means that Telegram refused what it was
// asked; only a server that restarts, or a proxy that lost it, may have done the work.
func classOf(c call, refused *tgbotapi.Error) platforms.Class {
	says := func(phrases ...string) bool {
		text := strings.ToLower(refused.Message)
		for _, p := range phrases {
			if strings.Contains(text, strings.ToLower(p)) {
				return true
			}
		}
		return false
	}
	switch code := refused.Code; {
	case code == http.StatusTooManyRequests:
		return platforms.RateLimited
	case code == http.StatusUnauthorized, code == http.StatusNotFound && c.method == "getMe":
		return platforms.Fatal
	case code == http.StatusForbidden:
		return platforms.Forbidden
	case code == http.StatusRequestEntityTooLarge, says("is too long", "MESSAGE_TOO_LONG", "file is too big"):
		return platforms.TooLong
	case code == http.StatusConflict:
		return platforms.Transient
	case code == http.StatusNotFound: // the server does not know the method
		return platforms.Invalid
	case code >= 500 && c.once && (code != http.StatusInternalServerError || says("restart")):
		return platforms.OutcomeUnknown
	case code >= 500:
		return platforms.Transient
	case says("can't parse entities"):
		return platforms.BadFormat
	case says("not found", "MESSAGE_ID_INVALID", "message can't be edited", "TOPIC_DELETED", "CHAT_ID_INVALID"):
		return platforms.Gone
	case says("not enough rights", "have no rights", "CHAT_WRITE_FORBIDDEN", "administrator rights", "TOPIC_CLOSED",
		"can't be deleted", "CHAT_RESTRICTED"):
		return platforms.Forbidden
	default:
		return platforms.Invalid
	}
}

// classOfStatus reads a bare HTTP status.
func classOfStatus(c call, status int) platforms.Class {
	switch {
	case status == http.StatusTooManyRequests:
		return platforms.RateLimited
	case status == http.StatusRequestEntityTooLarge:
		return platforms.TooLong
	case status == http.StatusServiceUnavailable: // nobody took the request
		return platforms.Transient
	case status >= 500 && c.once:
		return platforms.OutcomeUnknown
	case status >= 500:
		return platforms.Transient
	default:
		return platforms.Invalid
	}
}

// codeOf returns the code of a refusal, 0 if it is none.
func codeOf(err error) int {
	var refused *tgbotapi.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}

// says tells whether an error carries a phrase of the Bot API.
func says(err error, phrase string) bool {
	var refused *tgbotapi.Error
	return errors.As(err, &refused) && strings.Contains(refused.Message, phrase)
}
