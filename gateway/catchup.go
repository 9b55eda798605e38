package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

const (
	lookEvery  = 5 * time.Second        // how often is looked whether a platform is still heard
	noteEvery  = time.Minute            // how often that is written down
	joinFor    = 100 * time.Millisecond // how long a new place waits to be written down, for others that come with it
	overlap    = time.Minute            // what is read once more, because clocks differ and a sign of life is no receipt
	farthest   = 6 * 24 * time.Hour
	catchUpFor = 30 * time.Minute // how long one place may fail to be read
)

// listen watches the platforms that can be read back: it notes until when each was heard, and after an absence reads
// what was written meanwhile.
func (g *Gateway) listen(ctx context.Context) {
	for _, a := range g.parts.Adapters {
		if h, ok := a.(platforms.Historian); ok && g.now().CatchUp > 0 {
			g.side.Go(func() { g.listenTo(ctx, a.Name(), h) })
		}
	}
}

func (g *Gateway) listenTo(ctx context.Context, name platforms.Name, h platforms.Historian) {
	note := func(every time.Duration) {
		if err := g.places.listened(context.WithoutCancel(ctx), name, h.LastAlive(), every); err != nil {
			g.log.Error("until when a platform was heard could not be written down", "platform", name, "error", err)
		}
	}
	defer note(0)
	var again time.Time // when what could not be accepted is read once more
	for seen, failed := 0, 0; g.places.pause(ctx, name); {
		if n := h.Connections(); n != seen && !time.Now().Before(again) {
			since := g.places.begin(name)
			note(noteEvery)
			if since.IsZero() || g.catchUp(ctx, name, h, since) {
				seen, failed = n, 0
				g.places.done(name)
			} else {
				failed++
				again = time.Now().Add(backoff(failed))
			}
		}
		note(noteEvery)
	}
}

// catchUp accepts what was written where people talked to us lately, oldest first. It reports false if it has to be done
// again.
func (g *Gateway) catchUp(ctx context.Context, name platforms.Name, h platforms.Historian, since time.Time) bool {
	away := time.Since(since)
	from := time.Now().Add(-min(away+overlap, farthest))
	g.log.Info("reading what was written while the platform was not heard", "platform", name, "since", since)
	chats, threads := g.places.live(name)
	var all []*platforms.Message
	var unread []platforms.Address
	var reason error
	for queue := slices.Concat(chats, threads); len(queue) > 0; queue = queue[1:] {
		found, err := g.readBack(ctx, h, g.moves.now(queue[0]), from)
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			g.log.Warn("what was written at a place could not be read", "at", queue[0], "error", err)
			unread, reason = append(unread, queue[0]), err
		}
		for _, m := range found {
			if at := m.Address; m.Mentioned && at != queue[0] && !slices.Contains(threads, at) { // it opened a thread
				threads, queue = append(threads, at), append(queue, at)
			}
		}
		all = append(all, found...)
	}
	slices.SortFunc(unread, func(a, b platforms.Address) int { return strings.Compare(a.String(), b.String()) })
	g.unread(unread, away, reason)
	slices.SortStableFunc(all, func(a, b *platforms.Message) int { return a.At.Compare(b.At) })
	return g.acceptLate(ctx, all, away)
}

// readBack reads one place, as often as it takes.
func (g *Gateway) readBack(ctx context.Context, h platforms.Historian, at platforms.Address, since time.Time) ([]*platforms.Message, error) {
	deadline := time.Now().Add(catchUpFor)
	for n := 1; ; n++ {
		found, err := h.History(ctx, at, since)
		class := platforms.ClassOf(err)
		if (class != platforms.RateLimited && class != platforms.Transient) || time.Now().After(deadline) {
			return found, err
		}
		if !sleepUntil(ctx, time.Now().Add(max(platforms.WaitOf(err), backoff(n)))) {
			return nil, err
		}
	}
}

// acceptLate accepts messages that are not older than the window. Where there are older ones the person is told.
func (g *Gateway) acceptLate(ctx context.Context, all []*platforms.Message, away time.Duration) bool {
	now := g.now()
	window := now.CatchUp
	if now.MaxAge > 0 {
		window = min(window, now.MaxAge)
	}
	skipped := map[sessions.Key]*platforms.Message{} // the newest one
	talked := map[sessions.Key]bool{}
	for _, m := range all {
		key := g.key(m.Origin)
		if m.Sender.Bot || !g.admit(m.Origin).Admitted {
			continue
		}
		addressed, err := g.addressed(ctx, key, m)
		if err != nil {
			return false
		}
		// In a thread that this very reading opened, the log may not have begun.
		if !addressed && !(talked[key] && m.Kind == platforms.Thread && !m.MentionsOther) {
			continue
		}
		talked[key] = true
		if time.Since(m.At) > window {
			skipped[key] = m
			continue
		}
		g.places.visit(m.Address)
		if err := g.accept(ctx, key, m.NativeID(), bounded(m)); err != nil {
			return false
		}
	}
	for key, m := range skipped {
		in := bounded(m)
		in.Refused = fmt.Sprintf("I was away for %s and did not answer what was written here more than %s ago. Please send again what still matters.",
			short(away), short(window))
		if err := g.accept(ctx, key, m.NativeID(), in); err != nil {
			return false
		}
	}
	return true
}
