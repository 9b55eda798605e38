package ops

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// logs are the files that the operator lets be read: each of its patterns within its own folder.
type logs []logPattern

// logPattern is one of the operator's patterns.
type logPattern struct {
	text   string
	folder string // what stands before the first wildcard
	below  string // the rest, a pattern for paths in the folder
}

// CheckLogs returns an error if one of the patterns is not an absolute path, in which * and ? stand for characters of one name.
func CheckLogs(patterns []string) error {
	_, err := parseLogs(patterns)
	return err
}

func parseLogs(patterns []string) (all logs, err error) {
	for _, text := range patterns {
		clean := path.Clean(text)
		if _, err := path.Match(clean, ""); err != nil || !path.IsAbs(clean) || clean == "/" {
			return nil, fmt.Errorf("%q is not an absolute path like /var/log/app/*.log", text)
		}
		folder := path.Dir(clean)
		for strings.ContainsAny(folder, `*?[\`) {
			folder = path.Dir(folder)
		}
		all = append(all, logPattern{text, folder, strings.TrimPrefix(strings.TrimPrefix(clean, folder), "/")})
	}
	return all, nil
}

func (l logs) String() string {
	var all []string
	for _, p := range l {
		all = append(all, p.text)
	}
	return strings.Join(all, ", ")
}

// allows tells whether an absolute path, or pattern, can name files that may be read.
func (l logs) allows(name string) bool {
	return slices.ContainsFunc(l, func(p logPattern) bool {
		family, _ := rotation(name)
		ok, _ := path.Match(path.Clean(p.text), family)
		return ok || strings.ContainsAny(name, "*?[") && strings.HasPrefix(name, p.folder+"/")
	})
}

// logFile is a file that may be read.
type logFile struct {
	folder, name string // opened as name in folder
	shown        string // for the model
	changed      time.Time
}

// rotated takes a name apart: app.log.2.gz, app.log-20260131, app.log.2026-01-31.gz.
var rotated = regexp.MustCompile(`^(.+?)(?:\.(\d{1,4})|[.-](\d{4}-?\d\d-?\d\d(?:[T_-]?\d+)?))?(?:\.gz)?$`)

// rotation returns the name that a log had before it was rotated, and where the file stands in the order of its family:
// the oldest first, the one that is still written to last.
func rotation(name string) (family, order string) {
	m := rotated.FindStringSubmatch(name)
	switch {
	case m == nil:
		return name, "3"
	case m[2] != "":
		n, _ := strconv.Atoi(m[2])
		return m[1], fmt.Sprintf("2%05d", 99_999-n)
	case m[3] != "":
		return m[1], "1" + m[3]
	}
	return m[1], "3"
}

// list returns all files that may be read, those of one log after each other, the oldest first. Folders that cannot be
// read hold none.
func (l logs) list() (all []logFile) {
	for _, p := range l {
		root, err := os.OpenRoot(p.folder)
		if err != nil {
			continue
		}
		all = append(all, p.in(root)...)
		root.Close()
	}
	slices.SortFunc(all, func(a, b logFile) int {
		aFamily, aOrder := rotation(a.shown)
		bFamily, bOrder := rotation(b.shown)
		return cmp.Or(cmp.Compare(aFamily, bFamily), cmp.Compare(aOrder, bOrder), cmp.Compare(a.shown, b.shown))
	})
	return slices.CompactFunc(all, func(a, b logFile) bool { return a.shown == b.shown })
}

func (p logPattern) in(root *os.Root) (all []logFile) {
	folders, err := fs.Glob(root.FS(), path.Dir(p.below))
	if err != nil {
		return nil
	}
	for _, folder := range folders {
		entries, err := fs.ReadDir(root.FS(), folder)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			family, _ := rotation(entry.Name())
			if ok, _ := path.Match(path.Base(p.below), family); !ok {
				if ok, _ = path.Match(path.Base(p.below), entry.Name()); !ok {
					continue
				}
			}
			name := path.Join(folder, entry.Name())
			if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() {
				all = append(all, logFile{p.folder, name, path.Join(p.folder, name), info.ModTime()})
			}
		}
	}
	return all
}

// pick returns the files that an argument means: a path, a pattern, or the name alone. What a log was rotated to comes with it.
func pick(all []logFile, wanted string) (found []logFile) {
	for _, f := range all {
		family, _ := rotation(f.shown)
		for _, name := range []string{f.shown, family} {
			if !path.IsAbs(wanted) && !strings.Contains(wanted, "/") {
				name = path.Base(name)
			}
			if ok, _ := path.Match(wanted, name); ok || name == wanted {
				found = append(found, f)
				break
			}
		}
	}
	return found
}

// inWork returns the files of the work folder that an argument means. Those with credentials, and what is reached through
// links, are not among them.
func inWork(work, wanted string, secret func(string) bool) (found []logFile) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil
	}
	defer root.Close()
	names, _ := fs.Glob(root.FS(), path.Clean(wanted))
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || linked(root, path.Dir(name)) || secret != nil && secret(name) {
			continue
		}
		found = append(found, logFile{work, name, name, info.ModTime()})
	}
	return found
}

func linked(root *os.Root, folder string) bool {
	for ; folder != "."; folder = path.Dir(folder) {
		if info, err := root.Lstat(folder); err != nil || !info.IsDir() {
			return true
		}
	}
	return false
}

var (
	errNoFile = errors.New("it is not a regular file")
	errNoText = errors.New("it is not text")
)

// open opens a log for reading, unpacked. Closing it closes the file.
func (f logFile) open() (io.ReadCloser, error) {
	root, err := os.OpenRoot(f.folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(f.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	text, err := unpack(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{text, file}, nil
}

func unpack(file *os.File) (io.Reader, error) {
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	raw := bufio.NewReaderSize(file, 64<<10)
	if start, _ := raw.Peek(2); string(start) == "\x1f\x8b" {
		packed, err := gzip.NewReader(raw)
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		raw = bufio.NewReaderSize(packed, 64<<10)
	}
	if start, _ := raw.Peek(4 << 10); bytes.IndexByte(start, 0) >= 0 {
		return nil, errNoText
	}
	return raw, nil
}
