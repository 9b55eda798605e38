package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

// Rollback makes the work folder what it was before the nth last turn that could change it. Earlier rollbacks count like
// turns, so a rollback can be taken back, too. If somebody else has changed since then what would be taken back, nothing
// is done, unless that is forced.
//
// It returns Markdown for the person, and a line for the model, empty if nothing was changed.
func (s *Store) Rollback(ctx context.Context, conversation, work string, order tools.Rollback) (text, note string, err error) {
	defer s.lock(conversation)()
	all, err := s.points(conversation)
	if err != nil {
		return "", "", err
	}
	var undo *point
	if last := len(all) - 1; last >= 0 && all[last].Command == order.ID { // the process died before it could be answered
		undo, all = all[last], all[:last]
	}
	p, text := back(all, order.N)
	if p == nil {
		return text, "", nil
	}
	if undo == nil {
		if undo, text, err = s.prepare(ctx, conversation, work, order, all); undo == nil {
			return text, "", err
		}
	}
	var failed []string
	if undo.Left == nil {
		if failed, err = s.restore(conversation, work, p.Files, undo.Files.differing(p.Files)); err != nil {
			return "", "", err
		}
		left, err := s.look(ctx, work, undo.Files, nil)
		if err != nil {
			return "", "", err
		}
		undo.leave(left)
		if err := errors.Join(s.write(conversation, undo), s.prune(conversation, append(all, undo))); err != nil {
			return "", "", err
		}
	}
	done := names(slices.Sorted(maps.Keys(undo.Left)))
	text = fmt.Sprintf("The files are as they were %s. Changed: %s.\n\n", p.when(), done)
	if len(failed) > 0 {
		text += fmt.Sprintf("Not taken back, because they were too large to be kept or cannot be written: %s.\n\n", names(failed))
	}
	note = fmt.Sprintf("[The person took back changes of files, which are as they were before now: %s. Read them again before you rely on them.]", done)
	return text + "Rolling back once more takes this back.", note, nil
}

// prepare keeps a copy of the folder as it is, if what was ordered may be done; if not, it says why not.
func (s *Store) prepare(ctx context.Context, conversation, work string, order tools.Rollback, all []*point) (undo *point, text string, err error) {
	p, later := all[len(all)-order.N], all[len(all)-order.N:]
	for _, l := range later {
		if !order.May(l.Requester) {
			return nil, "Somebody else asked for what would be taken back. Only that person or an admin can do that.", nil
		}
	}
	now, err := s.look(ctx, work, all[len(all)-1].left(), nil)
	if err != nil {
		return nil, "", err
	}
	change := now.differing(p.Files)
	if len(change) == 0 {
		return nil, fmt.Sprintf("Nothing to take back: the files are as they were %s.", p.when()), nil
	}
	if foreign := foreign(later, now, change); len(foreign) > 0 && !order.Force {
		return nil, fmt.Sprintf("I took nothing back, because this was changed after my turns, by somebody else or another program: %s.\n\n"+
			"Add `force` to take that back, too.", names(foreign)), nil
	}
	undo = &point{Command: order.ID, Requester: p.Requester}
	if err := s.add(ctx, conversation, work, undo, all); err != nil {
		return nil, "", fmt.Errorf("keep a copy first: %w", err)
	}
	return undo, "", nil
}

// back finds the nth last point; nil with a text for the person if there is none.
func back(all []*point, n int) (*point, string) {
	switch {
	case len(all) == 0:
		return nil, "I have not changed any file here, or no copy was kept."
	case n < 1 || n > len(all):
		return nil, fmt.Sprintf("I can go back by 1 to %d.", len(all))
	}
	return all[len(all)-n], ""
}

// foreign returns which of the paths were changed by nobody's turn: between two of the points, or after the last.
func foreign(points []*point, now snapshot, paths []string) []string {
	changed := map[string]bool{}
	for i, p := range points {
		if p.Left == nil {
			continue // the process died before it could be noted
		}
		next := now
		if i+1 < len(points) {
			next = points[i+1].Files
		}
		for _, path := range p.left().differing(next) {
			changed[path] = true
		}
	}
	var found []string
	for _, path := range paths {
		if changed[path] {
			found = append(found, path)
		}
	}
	return found
}

// restore makes the files at paths what they were. It returns those with which that did not work.
func (s *Store) restore(conversation, work string, then snapshot, paths []string) (failed []string, err error) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, fmt.Errorf("open the work folder: %w", err)
	}
	defer root.Close()
	for _, path := range paths { // first what goes, to make room
		if _, ok := then[path]; !ok && root.Remove(path) != nil {
			failed = append(failed, path)
		} else if !ok {
			removeEmpty(root, path)
		}
	}
	blobs := s.blobs(conversation)
	for _, path := range paths {
		if f, ok := then[path]; ok && (f.large() || put(root, path, f, blobs) != nil) {
			failed = append(failed, path)
		}
	}
	return failed, nil
}

// removeEmpty removes the folders above a path that have become empty.
func removeEmpty(root *os.Root, name string) {
	for dir := path.Dir(name); dir != "." && root.Remove(dir) == nil; dir = path.Dir(dir) {
	}
}

// put writes one file as it was.
func put(root *os.Root, name string, f file, from *blobs) error {
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	draft := path.Join(path.Dir(name), ".draft-"+rand.Text())
	err := write(root, draft, f, from)
	if err == nil {
		if info, gone := root.Lstat(name); gone == nil && info.IsDir() {
			root.Remove(name) // works if it is empty, and renaming fails if it is not
		}
		err = root.Rename(draft, name)
	}
	if err != nil {
		root.Remove(draft)
	}
	return err
}

func write(root *os.Root, name string, f file, from *blobs) error {
	if f.Link != "" {
		return root.Symlink(f.Link, name)
	}
	content, err := from.get(f.Hash)
	if err != nil {
		return err
	}
	return errors.Join(root.WriteFile(name, content, 0o600), root.Chmod(name, f.Mode))
}

// when says which moment a point is.
func (p *point) when() string {
	what := "my turn"
	if p.Turn == "" {
		what = "the rollback"
	}
	return fmt.Sprintf("before %s of %s", what, p.At.UTC().Format("2006-01-02 15:04 MST"))
}

// names lists paths for a person, not too many of them.
func names(paths []string) string {
	const most = 20
	var quoted []string
	for _, p := range paths[:min(len(paths), most)] {
		quoted = append(quoted, "`"+strings.ReplaceAll(p, "`", "'")+"`")
	}
	text := strings.Join(quoted, ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
