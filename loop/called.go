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
	c := Called{Model: w.Name(), Took: time.Since(began), Usage: reply.Usage, Cost: costOf(reply.Usage, w.profile).usd}
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSlow):
		c.Class = CallCancelled
	case err != nil:
		c.Class = ModelClass(err)
	case reply.Finish == FinishFiltered:
		c.Class = ModelFiltered
	}
	w.observe(c)
	return reply, err
}
