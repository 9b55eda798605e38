package discord

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	laneCount = 16
	// backlog is how many updates may wait for the sink. When more do, the connection is given up until half of them are
	// stored; Discord keeps what comes in the meantime for a few minutes. Nothing ever blocks discordgo's reader: it
	// holds the session's lock.
	backlog   = 1024
	drainTime = 5 * time.Second
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
	ctx     context.Context // of the sink: until the lanes are drained
	cancel  context.CancelFunc
	workers sync.WaitGroup
	acks    sync.WaitGroup

	mu      sync.Mutex
	lanes   [laneCount]lane
	waiting int           // over all lanes, those being delivered included
	room    chan struct{} // closed when waiting falls to half of backlog; nil = nobody waits for it
	closed  bool
}

// lane is a queue with one worker.
type lane struct {
	queue []arrival
	wake  chan struct{} // holds one token while there may be work
}

func (a *Adapter) openLanes(ctx context.Context, sink platforms.Sink) *lanes {
	l := &lanes{a: a, sink: sink}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for i := range l.lanes {
		l.lanes[i].wake = make(chan struct{}, 1)
		l.workers.Go(func() { l.work(&l.lanes[i]) })
	}
	return l
}

// close delivers what has been received, for a few seconds at most, and waits for the workers.
func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	for i := range l.lanes {
		l.lanes[i].signal()
	}
	l.mu.Unlock()
	late := time.AfterFunc(drainTime, l.cancel)
	defer late.Stop()
	l.workers.Wait()
	l.acks.Wait()
	l.cancel()
}

// push puts an event in its channel's lane.
func (l *lanes) push(next arrival) {
	h := fnv.New32a()
	h.Write([]byte(next.channel))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	lane := &l.lanes[h.Sum32()%laneCount]
	lane.queue = append(lane.queue, next)
	l.waiting++
	lane.signal()
}

// await runs a function that waits for an acknowledgement, until it returns or the lanes are closed.
func (l *lanes) await(f func(ctx context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.acks.Go(func() { f(l.ctx) })
	}
}

func (l *lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// full tells whether no more should be read.
func (l *lanes) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting >= backlog
}

// awaitRoom waits until half of a full backlog is stored; false if the context ended first.
func (l *lanes) awaitRoom(ctx context.Context) bool {
	l.mu.Lock()
	if l.waiting < backlog {
		l.mu.Unlock()
		return true
	}
	l.room = make(chan struct{})
	room := l.room
	l.mu.Unlock()
	l.a.log.Warn("updates pile up; reading goes on once half of them are stored", "waiting", backlog)
	select {
	case <-room:
		return true
	case <-ctx.Done():
		return false
	}
}

// work delivers a lane's updates until the lanes are closed and this one is empty.
func (l *lanes) work(lane *lane) {
	for range lane.wake {
		for {
			next, ok := l.take(lane)
			if !ok {
				break
			}
			l.deliver(next)
			l.delivered()
		}
		if l.isClosed() {
			return
		}
	}
}

func (l *lanes) take(lane *lane) (next arrival, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(lane.queue) == 0 {
		lane.queue = nil
		return next, false
	}
	next, lane.queue = lane.queue[0], lane.queue[1:]
	return next, true
}

func (l *lanes) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

func (l *lanes) delivered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	if l.room != nil && l.waiting <= backlog/2 {
		close(l.room)
		l.room = nil
	}
}

// deliver hands one event to the sink, as often as it takes.
func (l *lanes) deliver(next arrival) {
	pause := newPause()
	pause.InitialInterval, pause.MaxInterval = 200*time.Millisecond, 15*time.Second
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
			l.a.log.Warn("update not stored yet, trying again", "event", next.kind, "error", err)
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
