package provider

import (
	"context"
	"errors"
	"strings"

	"github.com/talaria-agent/talaria/loop"
)

// Call implements loop.Model. All errors but the context's cause are *loop.ModelError.
func (m *Model) Call(ctx context.Context, req loop.Request, onText func(delta string)) (loop.Reply, error) {
	reply, err := m.call(ctx, req, onText)
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil:
		return loop.Reply{}, context.Cause(ctx)
	}
	return loop.Reply{}, m.redact(err)
}

// call makes the call, and once more without reasoning from earlier replies if the provider refuses the request with
// it: after a change of key or account it can no longer read it, and the conversation would be stuck for good.
func (m *Model) call(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	declared, err := m.declared.Load().read(req.Tools)
	if err != nil {
		return loop.Reply{}, BadRequest("%w", err)
	}
	m.declared.Store(declared)
	conversation, err := prepare(req, declared.tools, m.id)
	if err != nil {
		return loop.Reply{}, BadRequest("%w", err)
	}
	reply, err := m.try(ctx, conversation, onText)
	if err != nil && conversation.reasons() && loop.ModelClass(err) == loop.ModelBadRequest && ctx.Err() == nil {
		return m.try(ctx, conversation.withoutReasoning(), onText)
	}
	return reply, err
}

func (m *Model) try(ctx context.Context, c Conversation, onText func(string)) (loop.Reply, error) {
	x := newExchange(ctx, m.client, m.mode, m.config.Silence)
	defer x.close()
	b := newBuilder(x, c, m.id, onText)
	err := m.mode.Send(x, c, b)
	switch {
	case b.size > maxReply:
		return loop.Reply{}, BadRequest("the reply is longer than %d MiB", maxReply>>20)
	case b.finish != "": // whatever happened to the connection, the reply is whole
		return b.reply(), nil
	case err != nil:
		return loop.Reply{}, x.failure(err)
	}
	return loop.Reply{}, Network(ErrCut)
}

// redact takes the API key out of an error's text, should a server have repeated it.
func (m *Model) redact(err error) error {
	var failed *loop.ModelError
	if !errors.As(err, &failed) {
		failed = Network(err)
	}
	text := failed.Err.Error()
	if key := m.config.APIKey; key != "" && strings.Contains(text, key) {
		clean := *failed
		clean.Err = errors.New(strings.ReplaceAll(text, key, "[key]"))
		return &clean
	}
	return failed
}
