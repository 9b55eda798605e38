package platforms

import (
	"errors"
	"fmt"
	"time"
)

// Class says what a failed call means for the caller. Adapters classify once, at their edge.
type Class string

const (
	RateLimited    Class = "rate limited"    // wait Error.Wait and try again; nothing was done
	Gone           Class = "gone"            // the message, chat or thread no longer exists
	Forbidden      Class = "forbidden"       // blocked, kicked, archived, no permission: permanent for this address
	TooLong        Class = "too long"        // the text exceeds the platform's limit; nothing was done
	BadFormat      Class = "bad format"      // the formatting was refused; nothing was done; resend as plain text
	Invalid        Class = "invalid"         // the request was refused for another reason; repeating it is useless
	OutcomeUnknown Class = "outcome unknown" // the call may or may not have taken effect
	Transient      Class = "transient"       // the platform is in trouble; nothing was done; try again later
	Fatal          Class = "fatal"           // only the operator can cure it: bad token, revoked, missing intents
)

// Error is a failed call to a platform. Its text holds no secret.
type Error struct {
	Class Class
	Op    string        // what was being done: "telegram sendMessage"
	Wait  time.Duration // RateLimited: how long the platform wants us to wait
	To    string        // Gone: the chat's new id, if the platform named one (a Telegram migration)
	Err   error         // the cause, without secrets
}

func (e *Error) Error() string {
	s := e.Op + ": " + string(e.Class)
	if e.Wait > 0 {
		s += fmt.Sprintf(" (wait %s)", e.Wait)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of an error, Transient for one that carries none and "" for nil.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Transient
}

// MovedTo returns the new id of a chat that has migrated, empty if that is not what went wrong.
func MovedTo(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Class == Gone {
		return e.To
	}
	return ""
}

// WaitOf returns how long the platform wants us to wait before the next call, 0 if it did not say.
func WaitOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.Wait
	}
	return 0
}
