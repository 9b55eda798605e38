package recording

import (
	"cmp"
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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// perTurn is how long one recording may be, in bytes, if the folder holds as much.
const perTurn = 8 << 20

// Folder keeps the recordings of turns, one file each, readable for the owner alone. They are as secret as the log: only
// an export is without secrets. It may be used from any goroutine.
type Folder struct {
	Path    string
	Max     int64 // bytes of all recordings together; the oldest are forgotten first
	Program string

	described atomic.Pointer[described] // the tools of the last turn; writing schemas down takes longer than all else here

	making sync.Mutex // of files and folders, against sweeping them away
	swept  bool       // once at least
	fresh  int64      // bytes that came since
}

// Begin records a turn that the loop is about to take up. What it returns is to be run instead, and told how it came out.
func (f *Folder) Begin(ctx context.Context, setup loop.Setup, work loop.Turn) (loop.Turn, func(loop.Outcome) error, error) {
	key := work.Journal.Session().Key
	file, err := f.create(f.file(key, work.ID))
	if err != nil {
		return work, nil, fmt.Errorf("begin a recording: %w", err)
	}
	work, r := record(ctx, kindTurn, file, int(min(perTurn, f.Max)), f.Program, setup, work, f.specs(work.Tools))
	return work, func(o loop.Outcome) error { return errors.Join(r.End(o), f.close(file)) }, nil
}

// described are the tools of a registry, which never change.
type described struct {
	registry *tools.Registry
	specs    []toolSpec
}

// specs describes the tools of a registry, once as long as turns have the same.
func (f *Folder) specs(registry *tools.Registry) []toolSpec {
	d := f.described.Load()
	if d == nil || d.registry != registry {
		d = &described{registry, specsOf(registry)}
		f.described.Store(d)
	}
	return d.specs
}

// BeginCompression is Begin for a compression that comes before a turn. It stands in the turn's file, before it.
func (f *Folder) BeginCompression(ctx context.Context, setup loop.Setup, work loop.Turn) (loop.Turn, func(sessions.Compaction, error) error, error) {
	file, err := f.create(f.file(work.Journal.Session().Key, work.ID))
	if err != nil {
		return work, nil, fmt.Errorf("begin a recording: %w", err)
	}
	work, r := record(ctx, kindSqueeze, file, int(min(perTurn, f.Max)), f.Program, setup, work, f.specs(work.Tools))
	return work, func(c sessions.Compaction, failed error) error {
		return errors.Join(r.EndCompression(c, failed), f.close(file))
	}, nil
}

// close closes a recording and counts it.
func (f *Folder) close(file *os.File) error {
	f.making.Lock()
	defer f.making.Unlock()
	if info, err := file.Stat(); err == nil {
		f.fresh += info.Size()
	}
	return file.Close()
}

// slack is how many bytes may come between two looks at the whole folder.
func (f *Folder) slack() int64 { return f.Max / 16 }

// create opens a recording to be written, behind what it holds already, when there is room for it.
func (f *Folder) create(path string) (*os.File, error) {
	f.making.Lock()
	defer f.making.Unlock()
	if !f.swept || f.fresh > f.slack() {
		if err := os.MkdirAll(f.Path, 0o700); err != nil {
			return nil, err
		}
		if err := f.sweep(); err != nil {
			return nil, err
		}
	}
	open := func() (*os.File, error) { return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) }
	file, err := open()
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return open()
}

// Open opens a turn's recording; fs.ErrNotExist means that there is none.
func (f *Folder) Open(key sessions.Key, turn string) (io.ReadCloser, error) {
	return os.Open(f.file(key, turn))
}

// Forget removes all recordings of a conversation.
func (f *Folder) Forget(key sessions.Key) error {
	return os.RemoveAll(f.folder(key))
}

// folder is where a conversation's recordings are. Keys can be longer than names of files.
func (f *Folder) folder(key sessions.Key) string {
	h := sha256.Sum256([]byte(key))
	return filepath.Join(f.Path, hex.EncodeToString(h[:16]))
}

func (f *Folder) file(key sessions.Key, turn string) string {
	name := strings.Map(func(r rune) rune {
		if r == filepath.Separator || r == '/' || r == 0 {
			return '_'
		}
		return r
	}, turn)
	return filepath.Join(f.folder(key), name+".jsonl")
}

// sweep removes the oldest recordings until the rest is within the bound, and leaves room for those that come before the
// next time.
func (f *Folder) sweep() error {
	type old struct {
		path string
		size int64
		at   time.Time
	}
	var all []old
	total := int64(0)
	err := filepath.WalkDir(f.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			all = append(all, old{path, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return err
	})
	slices.SortFunc(all, func(a, b old) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.path, b.path)) })
	for _, o := range all {
		if err != nil || total <= f.Max-f.slack() {
			break
		}
		if err = os.Remove(o.path); err == nil {
			total -= o.size
			_ = os.Remove(filepath.Dir(o.path)) // does nothing to one that holds others
		}
	}
	f.swept, f.fresh = err == nil, 0
	return err
}
