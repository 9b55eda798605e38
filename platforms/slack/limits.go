package slack

import (
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// Limit classes of the Pacer.
const (
	accountClass = "account" // everything; not limited, it exists to be frozen
	methodClass  = "method " // + Web API method: Slack's tiers hold per method and workspace
	chatClass    = "chat "   // + conversation: posting only
)

// limitOf gives the rates of a class, a little below what Slack documents (docs.slack.dev/apis/web-api/rate-limits):
// tiers count calls in a minute, so burst + minute/every stays within the tier.
func limitOf(class string) platforms.Limit {
	if strings.HasPrefix(class, chatClass) {
		return platforms.Limit{Every: time.Second, Burst: 3} // about one message a second, short bursts tolerated
	}
	switch strings.TrimPrefix(class, methodClass) {
	case "apps.connections.open": // tier 1, but a reconnect must not wait for a minute
		return platforms.Limit{Every: 20 * time.Second, Burst: 5}
	case "chat.postMessage": // several hundred a minute in a workspace
		return platforms.Limit{Every: 250 * time.Millisecond, Burst: 50}
	case "chat.update", "chat.delete", "conversations.info", "reactions.add": // tier 3: 50 a minute
		return platforms.Limit{Every: 1500 * time.Millisecond, Burst: 10}
	case "conversations.history", "conversations.replies": // tier 3 for an app that is not sold
		return platforms.Limit{Every: 1500 * time.Millisecond, Burst: 10}
	case "chat.postEphemeral", "files.info", "users.info": // tier 4: 100 a minute
		return platforms.Limit{Every: 750 * time.Millisecond, Burst: 20}
	case "assistant.threads.setStatus": // 600 a minute
		return platforms.Limit{Every: 125 * time.Millisecond, Burst: 100}
	}
	return platforms.Limit{}
}

// operation is one call to the Web API.
type operation struct {
	method   string
	chat     string // conversation that is posted to; other calls leave it empty, they do not count as posting
	priority platforms.Priority
	now      bool // better not done than late: it goes only if a permit is free
	repeat   bool // doing it twice is as good as once, so a lost answer is merely a failure
}

func (o operation) classes() []string {
	classes := []string{accountClass, methodClass + o.method}
	if o.chat != "" {
		classes = append(classes, chatClass+o.chat)
	}
	return classes
}

// slowed returns the class that a refusal for speed freezes: for a post the conversation, so that others go on.
func (o operation) slowed() string {
	if o.chat != "" {
		return chatClass + o.chat
	}
	return methodClass + o.method
}
