package ops

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/talaria-agent/talaria/tools/fulltext"
)

// Limits of what is kept in memory.
const (
	maxDocuments    = 20_000
	maxDocument     = 4 << 20
	maxLibrary      = 128 << 20 // bytes of all documents
	maxTitlesListed = 3
)

// kindsOfDocument are the names that documents end with.
var kindsOfDocument = []string{".md", ".markdown", ".txt", ".text", ".rst", ".adoc", ".org", ".html", ".htm"}

// library is the documents of some folders, taken apart into passages, and their index. Each search looks first which files
// have changed.
type library struct {
	folders []string

	mu        sync.Mutex
	index     *fulltext.Index
	passages  map[int]*passage     // by their number in the index
	documents map[string]*document // by path
	size      int64                // bytes of all documents
	skipped   []string             // what is not in the index, and why
}

// document is a file as it was when it was read.
type document struct {
	size     int64
	changed  time.Time
	passages []*passage
}

func newLibrary(folders []string) *library {
	return &library{folders: folders, index: fulltext.New(), passages: map[int]*passage{}, documents: map[string]*document{}}
}

// update takes in what has changed since the last time.
func (l *library) update(ctx context.Context) error {
	seen := map[string]bool{}
	l.skipped = nil
	for _, folder := range l.folders {
		root, err := os.OpenRoot(folder)
		if err != nil {
			l.skipped = append(l.skipped, fmt.Sprintf("%s: it cannot be opened", folder))
			continue
		}
		err = l.walk(ctx, root, folder, seen)
		root.Close()
		if err != nil {
			return err
		}
	}
	for name := range l.documents {
		if !seen[name] {
			l.forget(name)
		}
	}
	return nil
}

// walk looks at the files of a folder. It follows no links.
func (l *library) walk(ctx context.Context, root *os.Root, folder string, seen map[string]bool) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		hidden := name != "." && strings.HasPrefix(entry.Name(), ".")
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			l.skipped = append(l.skipped, path.Join(folder, name)+": it cannot be read")
			return nil
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case hidden, !entry.Type().IsRegular(), !slices.Contains(kindsOfDocument, strings.ToLower(path.Ext(name))):
			return nil
		}
		info, err := root.Lstat(name)
		if err != nil {
			return nil // it has just been removed
		}
		full := path.Join(folder, name)
		switch d := l.documents[full]; {
		case d != nil && d.size == info.Size() && d.changed.Equal(info.ModTime()):
			seen[full] = true
			return nil
		case info.Size() > maxDocument:
			l.skipped = append(l.skipped, full+": it is too large")
			return nil
		case d == nil && (len(l.documents) >= maxDocuments || l.size+info.Size() > maxLibrary):
			l.skipped = append(l.skipped, full+": there are too many")
			return nil
		}
		l.forget(full)
		if text, err := readDocument(root, name); err != nil {
			l.skipped = append(l.skipped, full+": it cannot be read")
		} else {
			l.take(full, text, info)
			seen[full] = true
		}
		return nil
	})
}

func readDocument(root *os.Root, name string) (string, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errNoFile
	}
	text, err := io.ReadAll(io.LimitReader(file, maxDocument))
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), "\uFEFF"), err
}

// take puts a document into the index.
func (l *library) take(name, text string, info fs.FileInfo) {
	d := &document{size: info.Size(), changed: info.ModTime()}
	if ext := strings.ToLower(path.Ext(name)); ext == ".html" || ext == ".htm" {
		text = plainHTML(text)
	}
	d.passages = split(name, text)
	for _, p := range d.passages {
		p.number = l.index.Add(p.indexed())
		l.passages[p.number] = p
	}
	l.documents[name] = d
	l.size += d.size
}

func (l *library) forget(name string) {
	d := l.documents[name]
	if d == nil {
		return
	}
	for _, p := range d.passages {
		l.index.Remove(p.number, p.indexed())
		delete(l.passages, p.number)
	}
	delete(l.documents, name)
	l.size -= d.size
}

// left says which files are not in the index.
func (l *library) left() string {
	if len(l.skipped) == 0 {
		return ""
	}
	text := "; not searched: " + strings.Join(l.skipped[:min(maxTitlesListed, len(l.skipped))], ", ")
	if more := len(l.skipped) - maxTitlesListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
