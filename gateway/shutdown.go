package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
)

// shutdown ends what runs, all of it together within Config.Grace: intake, then turns, which reach a safe point or are
// parked, then answers, then whatever is left. What does not end in time is left behind: it is durable, and the next start
// goes on with it. intake is closed when the adapters have ended.
func (g *Gateway) shutdown(intake <-chan struct{}, park context.CancelCauseFunc, stopDelivery context.CancelFunc) {
	grace := g.now().Grace
	over := time.Now().Add(grace)
	sent := over.Add(-grace / 20)                    // by then calls are cut, so that there is time to write down what is known of them
	parked := over.Add(-min(grace/4, 2*time.Second)) // and by then answers alone are waited for

	waitAtMostFor(intake, grace/4)
	park(loop.ErrParked)
	g.live.wait(time.Until(parked))
	var rest sync.WaitGroup
	rest.Go(g.parts.Background.Close)
	flush, done := context.WithDeadline(context.WithoutCancel(g.ctx), sent)
	g.outbox.flush(flush)
	done()
	waitAtMost(&g.bubbles, time.Until(sent)) // so that none goes on saying that it works
	stopDelivery()
	ended, done := context.WithDeadline(context.WithoutCancel(g.ctx), over)
	g.outbox.ended(ended)
	done()

	rest.Go(func() { <-intake })
	rest.Go(g.bubbles.Wait)
	rest.Go(g.side.Wait)
	rest.Go(g.now().Runner.Wait)
	if !waitAtMost(&rest, time.Until(over)) {
		g.log.Error("not everything has ended in time; what it was doing counts as unknown", "grace", grace)
	}
}
