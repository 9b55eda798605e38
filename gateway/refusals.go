package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// refusalPause is the shortest time between two notices about messages that were not taken.
const refusalPause = 30 * time.Second

// refusals are messages that will not be worked on and whose senders have not been told yet. They stay in the inbox until
// then, so that none is lost in silence; and one notice tells of many, so that whoever floods us is not flooded back.
type refusals struct {
	told time.Time // when the last notice was written
	open []turnedAway
}

// turnedAway is one reason with all that it holds for.
type turnedAway struct {
	first *input
	items []sessions.ItemID
	why   string // for the person
	n     int
}

// due is when the next notice may be written.
func (r *refusals) due() time.Time { return r.told.Add(refusalPause) }

func (r *refusals) add(in *input, why string) {
	for i := range r.open {
		if known := &r.open[i]; known.why == why && known.first.person() == in.person() {
			known.items, known.n = append(known.items, in.items()...), known.n+1
			return
		}
	}
	r.open = append(r.open, turnedAway{first: in, items: in.items(), why: why, n: 1})
}

// refuse does not take a message, and says so now or a little later.
func (c *conversation) refuse(ctx context.Context, in *input, why string) {
	c.refusals.add(in, why)
	c.tellRefusals(ctx)
}

// tellRefusals writes what there is to say about messages that were not taken, if it is time.
func (c *conversation) tellRefusals(ctx context.Context) {
	if len(c.refusals.open) == 0 || time.Now().Before(c.refusals.due()) {
		return
	}
	var items []sessions.ItemID
	var outs []output
	for _, r := range c.refusals.open {
		items = append(items, r.items...)
		if r.n > 1 {
			r.why = fmt.Sprintf("%s This goes for %d messages.", r.why, r.n)
		}
		if out, ok := c.g.answer(r.first, r.why); ok {
			outs = append(outs, out)
		}
	}
	c.refusals.open, c.refusals.told = nil, time.Now()
	c.settle(ctx, Refused, items, outs...)
}
