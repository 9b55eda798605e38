package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// Retention says what is removed by itself: sessions that ended, and conversations in which nothing was said, for longer
// than Age; and the oldest of them, whatever their age, as long as the store takes more than Size. Zero is no limit. What
// runs, waits or has not been delivered stays, and so does a session that ended less than a week ago, as long as its
// conversation goes on: its ids keep repetitions out. Of a conversation in which somebody spoke within the last day the present
// session stays, however big the store is.
type Retention struct {
	Age  time.Duration
	Size int64 // bytes
}

const (
	retainEvery = 24 * time.Hour // how often the age of everything is looked at, which reads all logs
	quietFor    = 24 * time.Hour // a conversation that was quiet for less is not removed for its size
	lowWater    = 0.9            // of Size, so that not every new message removes something
)

// past is something that can be removed: the beginning of a log, or all of it.
type past struct {
	key    sessions.Key
	before sessions.Revision // 0 = all of it
	last   time.Time         // when something was last said in it
}

// retain removes what is too old, or too much. It looks at ages only if it is told to.
func (g *Gateway) retain(ctx context.Context, ages bool) error {
	limits := g.now().Retention
	tooBig, err := g.above(ctx, limits.Size, 1)
	if err != nil || !tooBig && (!ages || limits.Age == 0) {
		return err
	}
	all, err := g.pasts(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, p := range all {
		if p.before > 0 && now.Sub(p.last) < rememberFor { // the store keeps it for the ids of what was handled
			continue
		}
		old := limits.Age > 0 && now.Sub(p.last) > limits.Age
		if !old {
			if tooBig, err = g.above(ctx, limits.Size, lowWater); err != nil || !tooBig {
				return err
			}
			if p.before == 0 && now.Sub(p.last) < quietFor {
				continue
			}
		}
		if err := g.removePast(ctx, p); err != nil && !errors.Is(err, ErrBusy) {
			return fmt.Errorf("remove what is old of %s: %w", p.key, err)
		}
	}
	return nil
}

// above tells whether the store takes more than a share of a size.
func (g *Gateway) above(ctx context.Context, size int64, share float64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	s, err := g.store.Size(ctx)
	return float64(s.Used()) > share*float64(size), err
}

func (g *Gateway) removePast(ctx context.Context, p past) error {
	if p.before == 0 {
		g.log.Info("removing a conversation that was quiet for long", "conversation", p.key, "last", p.last)
		e, err := g.Eraser(ctx)
		if err != nil {
			return err
		}
		return e.Delete(ctx, p.key)
	}
	n, err := g.store.Trim(ctx, p.key, p.before)
	if n > 0 {
		g.log.Info("removed sessions that ended long ago", "conversation", p.key, "last", p.last, "records", n)
	}
	return errors.Join(err, g.removeResults(ctx, p.key, p.last))
}

// removeResults removes the files of long results that were written until then and that nothing in the log names any
// more. A work folder that conversations share keeps them.
func (g *Gateway) removeResults(ctx context.Context, key sessions.Key, until time.Time) error {
	if g.now().Workspace != "" {
		return nil
	}
	root, err := os.OpenRoot(g.workFolder(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the work folder: %w", err)
	}
	defer root.Close()
	old := map[string]bool{}
	files, err := fs.ReadDir(root.FS(), loop.ResultsFolder)
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && !info.ModTime().After(until) {
			old[f.Name()] = true
		}
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(old) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the folder of results: %w", err)
	}
	for r, err := range g.store.History(ctx, key, 0) {
		if err != nil {
			return err
		}
		text, err := r.Encode()
		if err != nil {
			return err
		}
		maps.DeleteFunc(old, func(name string, _ bool) bool { return bytes.Contains(text, []byte(name)) })
	}
	for name := range old {
		err = errors.Join(err, root.Remove(path.Join(loop.ResultsFolder, name)))
	}
	return err
}

// pasts returns all that can be removed, the oldest first.
func (g *Gateway) pasts(ctx context.Context) (all []past, err error) {
	busy := map[sessions.Key]bool{}
	for i, err := range g.store.Pending(ctx) {
		if err != nil {
			return nil, err
		}
		busy[i.Key] = true
	}
	for r, err := range g.store.Undelivered(ctx) {
		if err != nil {
			return nil, err
		}
		busy[r.Key] = true
	}
	for key, err := range g.store.Keys(ctx) {
		if err != nil {
			return nil, err
		}
		found, err := g.pastsOf(ctx, key)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if p.before > 0 || !busy[key] {
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b past) int { return cmp.Or(a.last.Compare(b.last), cmp.Compare(b.before, a.before)) })
	return all, nil
}

// pastsOf returns the sessions of one conversation that ended, and the conversation as a whole.
func (g *Gateway) pastsOf(ctx context.Context, key sessions.Key) (found []past, err error) {
	var last time.Time
	for r, err := range g.store.History(ctx, key, 0) {
		if err != nil {
			return nil, err
		}
		reset := slices.ContainsFunc(r.Entries, func(e sessions.Entry) bool { _, ok := e.(sessions.Reset); return ok })
		if reset && !last.IsZero() {
			found = append(found, past{key, r.Revision, last})
		}
		last = r.At
	}
	return append(found, past{key, 0, last}), nil
}
