package discord

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	laneCount  = 16
	laneLength = 256 // updates that wait in one lane; a full lane stops the reading from the gateway
	drainTime  = 5 * time.Second
)

// arrival is an event on its way to the sink. update decodes it, which may need a look-up; an update of nil is of no
// concern.
type arrival struct {
	channel string
	kind    string
	update  func(ctx context.Context) (platforms.Update, error)
	done    func(platforms.Receipt) // nil = nobody waits
}

// lanes hand updates to the sink, those of one channel in order, different channels side by side. They outlive
// connections: what was received from one that broke is still delivered.
type lanes struct {
	a       *Adapter
	sink    platforms.Sink
	running context.Context // until Run is told to end: no more is taken in
	ctx     context.Context // of the sink: until the lanes are drained
	cancel  context.CancelFunc
	lanes   [laneCount]chan arrival
	workers sync.WaitGroup
	acks    sync.WaitGroup
}

func (a *Adapter) openLanes(ctx context.Context, sink platforms.Sink) *lanes {
	l := &lanes{a: a, sink: sink, running: ctx}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for i := range l.lanes {
		l.lanes[i] = make(chan arrival, laneLength)
		l.workers.Go(func() {
			for next := range l.lanes[i] {
				l.deliver(next)
			}
		})
	}
	return l
}

// close delivers what has been received, for a few seconds at most, and waits for the workers. No reader may be running.
func (l *lanes) close() {
	for i := range l.lanes {
		close(l.lanes[i])
	}
	late := time.AfterFunc(drainTime, l.cancel)
	defer late.Stop()
	l.workers.Wait()
	l.acks.Wait()
	l.cancel()
}

// push puts an event in its channel's lane. It waits while the lane is full, so that nothing is dropped; the connection
// then goes deaf, is torn down, and its session is resumed once there is room.
func (l *lanes) push(next arrival) {
	h := fnv.New32a()
	h.Write([]byte(next.channel))
	lane := l.lanes[h.Sum32()%laneCount]
	select {
	case lane <- next:
	default:
		l.a.log.Warn("discord: updates pile up; reading stops until some are stored")
		select {
		case lane <- next:
		case <-l.running.Done():
		}
	}
}

// deliver hands one event to the sink, as often as it takes.
func (l *lanes) deliver(next arrival) {
	pause := newPause()
	pause.InitialInterval = 200 * time.Millisecond
	for tries := 0; ; tries++ {
		receipt, err := l.try(next)
		if err == nil {
			if next.done != nil {
				next.done(receipt)
			}
			return
		}
		if l.ctx.Err() != nil {
			return
		}
		if tries == 0 {
			l.a.log.Warn("discord: update not stored yet, trying again", "event", next.kind, "error", err)
		}
		if !sleep(l.ctx, pause.NextBackOff()) {
			return
		}
	}
}

func (l *lanes) try(next arrival) (platforms.Receipt, error) {
	u, err := next.update(l.ctx)
	if err != nil || u == nil {
		return platforms.Receipt{}, err
	}
	return l.sink(l.ctx, u)
}
