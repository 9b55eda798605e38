package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
)

// rewrite is what is going to happen to one file.
type rewrite struct {
	name    string
	content string
	remove  bool
	was     fs.FileInfo // what it replaces, nil = nothing
	before  []byte      // what that holds, if there are several writes, so that it can be undone
}

// batch is several writes that happen all or not at all.
type batch []rewrite

var errChanged = errors.New("it was changed by something else at the same time; read it again")

// commit does all writes, or none. Every new file is written beside the one that it then takes the place of, so that
// nobody ever sees half of it. On an error, name is the file that it is about.
func (f folder) commit(all batch) (name string, err error) {
	drafts := make([]string, len(all))
	defer func() {
		for _, draft := range drafts {
			if draft != "" {
				f.Remove(draft)
			}
		}
	}()
	for i, w := range all {
		if w.remove {
			continue
		}
		if drafts[i], err = f.draft(w); err != nil {
			return w.name, err
		}
	}
	for i, w := range all {
		if err = f.unchanged(w); err == nil && w.remove {
			err = f.Remove(w.name)
		} else if err == nil {
			err = f.Rename(drafts[i], w.name)
		}
		if err != nil {
			f.undo(all[:i])
			return w.name, err
		}
		drafts[i] = ""
	}
	return "", nil
}

// draft writes the new content of a file beside it, and returns where.
func (f folder) draft(w rewrite) (name string, err error) {
	mode := fs.FileMode(0o666)
	if w.was != nil {
		mode = w.was.Mode().Perm()
	}
	if err := f.MkdirAll(path.Dir(w.name), 0o777); err != nil {
		return "", err
	}
	name = path.Join(path.Dir(w.name), ".draft-"+rand.Text())
	file, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(w.content)
	if w.was != nil && err == nil {
		err = file.Chmod(mode) // the umask may have taken bits away
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		f.Remove(name)
		return "", err
	}
	return name, nil
}

// unchanged looks whether what a write replaces is still what it was made for.
func (f folder) unchanged(w rewrite) error {
	info, err := f.Lstat(w.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && w.was == nil:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil, w.was == nil, !os.SameFile(info, w.was), info.Size() != w.was.Size(), !info.ModTime().Equal(w.was.ModTime()):
		return errChanged
	}
	return nil
}

// undo takes writes back, as far as that works: one that was done right before should be possible the other way round.
func (f folder) undo(done batch) {
	for _, w := range done {
		if w.was == nil {
			f.Remove(w.name)
			continue
		}
		if draft, err := f.draft(rewrite{name: w.name, content: string(w.before), was: w.was}); err == nil && f.Rename(draft, w.name) != nil {
			f.Remove(draft)
		}
	}
}
