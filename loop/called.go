package loop

import (
	"context"
	"errors"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// Called is one call to one model of a chain.
type Called struct {
	Model string
	Class ErrorClass // what went wrong, empty if nothing did
	Took  time.Duration
	Usage sessions.Usage
	Cost  float64 // US dollars, as far as prices are known
}

// watched is a model whose calls are told to the observer of its chain.
type watched struct {
	Model
	profile Profile
	observe func(Called)
}

// Call implements Model.
func (w watched) Call(ctx context.Context, req Request, onText func(string)) (Reply, error) {
	began := time.Now()
	reply, err := w.Model.Call(ctx, req, onText)
	w.observe(Called{
		Model: w.Name(), Class: endOfCall(ctx, reply, err), Took: time.Since(began), Usage: reply.Usage, Cost: costOf(reply.Usage, w.profile).usd,
	})
	return reply, err
}

// endOfCall says what went wrong with a call to a model, empty if nothing did.
func endOfCall(ctx context.Context, reply Reply, err error) ErrorClass {
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSlow):
		return CallCancelled
	case err != nil:
		return ModelClass(err)
	case reply.Finish == FinishFiltered:
		return ModelFiltered
	}
	return ""
}
