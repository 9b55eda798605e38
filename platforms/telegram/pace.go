package telegram

import (
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// The classes of the Pacer. A message or an edit falls under account, its chat and, in a group, the group.
const (
	accountClass = "account"
	chatClass    = "chat:"
	groupClass   = "group:"
	actionClass  = "action:" // "typing" in one chat: not published, so a little more than is ever needed
	methodClass  = "method:" // everything else: never limited by us, but frozen when Telegram says so
)

// NewPacer makes a pacer for Telegram's published limits: about 30 calls a second, one message a second in a chat with
// small bursts, 20 a minute in a group (core.telegram.org/bots/faq). Burst and rate of a class together stay within
// the limit for every window of that length.
func NewPacer() *platforms.Pacer {
	return platforms.NewPacer(func(class string) platforms.Limit {
		switch {
		case class == accountClass:
			return platforms.Limit{Every: time.Second / 25, Burst: 5}
		case strings.HasPrefix(class, chatClass):
			return platforms.Limit{Every: time.Second, Burst: 3}
		case strings.HasPrefix(class, groupClass):
			return platforms.Limit{Every: 3500 * time.Millisecond, Burst: 3}
		case strings.HasPrefix(class, actionClass):
			return platforms.Limit{Every: time.Second, Burst: 3}
		default:
			return platforms.Limit{}
		}
	})
}

// chatPermit is for what writes into a chat.
func chatPermit(chat string, p platforms.Priority) platforms.Permit {
	classes := []string{accountClass, chatClass + chat}
	if isGroup(chat) {
		classes = append(classes, groupClass+chat)
	}
	return platforms.Permit{Priority: p, Classes: classes}
}

func methodPermit(method string, p platforms.Priority) platforms.Permit {
	return platforms.Permit{Priority: p, Classes: []string{accountClass, methodClass + method}}
}

// patience is how long a call waits for a frozen class. A longer freeze is returned as an error at once, so that no
// goroutine is slept on for it.
const patience = 2 * time.Second

// frozen returns how long the classes of a permit stay frozen.
func frozen(pacer *platforms.Pacer, permit platforms.Permit) time.Duration {
	var wait time.Duration
	for _, class := range permit.Classes {
		if until := pacer.Frozen(class); !until.IsZero() {
			wait = max(wait, time.Until(until))
		}
	}
	return wait
}

// freeze stops what a rate limit was about. Telegram does not say what that is; it is taken to be the chat or the
// method, so that one flooded chat does not delay the others.
func freeze(pacer *platforms.Pacer, permit platforms.Permit, wait time.Duration) {
	until := time.Now().Add(wait)
	for _, class := range permit.Classes {
		if class != accountClass {
			pacer.Freeze(class, until)
		}
	}
}
