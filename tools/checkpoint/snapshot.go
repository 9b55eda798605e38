package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// snapshot is what a work folder holds, by path.
type snapshot map[string]file

// file is a file or a symbolic link.
type file struct {
	Hash string      `json:"hash,omitempty"` // of its content; empty = a link, or too large to be copied
	Size int64       `json:"size"`
	Mode fs.FileMode `json:"mode"` // permissions
	Mod  int64       `json:"mod"`  // when it was last changed, in ns since 1970
	Link string      `json:"link,omitempty"`
}

// same tells whether two files hold the same and may the same.
func (f file) same(g file) bool {
	if f.Hash == "" && f.Link == "" && f.Mod != g.Mod {
		return false
	}
	return f.Hash == g.Hash && f.Size == g.Size && f.Mode == g.Mode && f.Link == g.Link
}

func (f file) large() bool { return f.Hash == "" && f.Link == "" }

// differing returns the paths of files that are not the same in both, in order.
func (s snapshot) differing(other snapshot) []string {
	var paths []string
	for path, f := range s {
		if g, ok := other[path]; !ok || !f.same(g) {
			paths = append(paths, path)
		}
	}
	for path := range other {
		if _, ok := s[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// never are folders that are not copied: git keeps its own past, and the others can be had again.
var never = []string{".git", "node_modules", ".venv", "__pycache__"}

var errLargeFolder = fmt.Errorf("the work folder has more than %d files, so no copies are kept", maxFiles)

// look takes in what a folder holds. Files that have not changed since a known snapshot are not read again. The others
// are copied into blobs, if that is not nil.
func (s *Store) look(ctx context.Context, work string, known snapshot, into *blobs) (snapshot, error) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, fmt.Errorf("open the work folder: %w", err)
	}
	defer root.Close()
	found := snapshot{}
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && path == ".":
			return err
		case err != nil: // it vanished, or cannot be read
			return nil
		case entry.IsDir() && (slices.Contains(never, entry.Name()) || slices.Contains(s.options.Skip, entry.Name())):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		case len(found) == maxFiles:
			return errLargeFolder
		}
		f, err := take(root, path, known[path], into)
		switch {
		case err == nil:
			found[path] = f
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoFile) && !errors.Is(err, fs.ErrPermission):
			return err
		}
		return nil
	})
	return found, err
}

var errNoFile = errors.New("neither a file nor a link")

// take takes in one file.
func take(root *os.Root, path string, known file, into *blobs) (file, error) {
	info, err := root.Lstat(path)
	if err != nil {
		return file{}, err
	}
	f := file{Size: info.Size(), Mode: info.Mode().Perm(), Mod: info.ModTime().UnixNano()}
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		f.Size = 0
		f.Link, err = root.Readlink(path)
		return f, err
	case !info.Mode().IsRegular():
		return f, errNoFile
	case f.Size > maxFile:
		return f, nil
	case known.Hash != "" && known.Size == f.Size && known.Mod == f.Mod && (into == nil || into.has(known.Hash)):
		f.Hash = known.Hash
		return f, nil
	}
	content, err := read(root, path)
	if err != nil {
		return f, err
	}
	sum := sha256.Sum256(content)
	f.Hash, f.Size = hex.EncodeToString(sum[:]), int64(len(content))
	if into != nil {
		err = into.put(f.Hash, content)
	}
	return f, err
}

// read reads a file of a folder that anybody may change meanwhile, and never waits for a pipe.
func read(root *os.Root, path string) ([]byte, error) {
	open, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	if info, err := open.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	return io.ReadAll(io.LimitReader(open, maxFile))
}

// blobs is a folder of contents, each under its hash.
type blobs struct{ folder string }

func (b *blobs) has(hash string) bool {
	_, err := os.Stat(filepath.Join(b.folder, hash))
	return err == nil
}

func (b *blobs) get(hash string) ([]byte, error) { return os.ReadFile(filepath.Join(b.folder, hash)) }

func (b *blobs) put(hash string, content []byte) error {
	if b.has(hash) {
		return nil
	}
	return writeFile(filepath.Join(b.folder, hash), content)
}

// writeFile writes a file of the store, so that a crash leaves none that is half written.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), ".draft-")
	if err != nil {
		return err
	}
	_, err = draft.Write(content)
	err = errors.Join(err, draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		os.Remove(draft.Name())
	}
	return err
}
