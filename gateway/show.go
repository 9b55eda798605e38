package gateway

import (
	"context"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// This file posts and changes what no outbox row holds: messages that show how a turn goes on, and questions.

// post posts a message that shows progress, or asks. If nobody knows whether that worked it is looked for, once, so that it
// does not say "working" for ever. The outcome stays unknown if it was not found.
func (g *Gateway) post(ctx context.Context, at platforms.Address, out platforms.Outgoing) (messageID string, err error) {
	adapter, began := g.adapters[at.Platform], time.Now()
	id, lost := adapter.Send(ctx, at, out)
	if platforms.ClassOf(lost) != platforms.OutcomeUnknown {
		return id, lost
	}
	if time.Since(began) < adapter.Limits().IdempotentFor/2 {
		return adapter.Send(ctx, at, out)
	}
	finder, ok := adapter.(platforms.Finder)
	if !ok || !sleepUntil(ctx, time.Now().Add(lookPause)) {
		return "", lost
	}
	if id, err = finder.Find(ctx, at, out, began); err != nil || id == "" {
		return "", lost
	}
	return id, nil
}

// replace changes one of our messages and takes its buttons away, as well as it can.
func (g *Gateway) replace(at platforms.Address, messageID, text string) {
	editor, ok := g.adapters[at.Platform].(platforms.Editor)
	if !ok || messageID == "" {
		return
	}
	g.beside(func(ctx context.Context) {
		if err := editor.Edit(ctx, at, messageID, platforms.Outgoing{Text: text, Class: platforms.PriorityApproval}); err != nil {
			g.log.Warn("a message could not be changed", "message", messageID, "error", err)
		}
	})
}

// remove deletes one of our messages, as well as it can.
func (g *Gateway) remove(at platforms.Address, messageID string) {
	deleter, ok := g.adapters[at.Platform].(platforms.Deleter)
	if !ok {
		return
	}
	g.beside(func(ctx context.Context) {
		if err := deleter.Delete(ctx, at, messageID); err != nil {
			g.log.Warn("a message could not be deleted", "message", messageID, "error", err)
		}
	})
}

// lastEdit is the row that closes a message which has shown how something goes on.
func lastEdit(at platforms.Address, message, text string) output {
	return output{To: at, Pieces: []string{text}, Shown: []string{message}, Closing: true}
}
