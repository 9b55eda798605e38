package terminal

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Limits of a command's output. The beginning says what was done, the end how it went, hence the larger share.
const (
	headBytes  = 20_000
	tailBytes  = 30_000
	spillBytes = 256 << 20 // of the file that takes all of it
)

// results is the folder, in the work folder, for outputs that are too long to be shown whole.
const results = "results"

// output keeps the head and the tail of what a command says, and puts the whole into a file if that is more. One goroutine
// writes it; the rest may be used from any.
type output struct {
	root *os.Root
	name string   // of the file, should there be one
	file *os.File // the writer's

	mu      sync.Mutex // written under it by the writer alone, who reads without
	head    []byte
	tail    []byte // up to twice tailBytes; cut now and then
	total   int64
	kept    bool          // there is a file
	err     error         // why the file is not complete
	changed chan struct{} // closed at the next piece
	tell    func(string)  // gets the last lines at each piece; nil = nobody looks
}

func newOutput(root *os.Root, callID string) *output {
	return &output{root: root, name: path.Join(results, "terminal-"+fileSafe(callID)+".txt"), changed: make(chan struct{})}
}

// fileSafe makes a file name of a call id, which comes from a model.
func fileSafe(id string) string {
	id = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, id)
	return id[:min(len(id), 64)]
}

// Write takes a piece of output. It never fails, so that the command never waits.
func (o *output) Write(p []byte) (int, error) {
	o.save(p)
	o.mu.Lock()
	o.total += int64(len(p))
	rest := p
	if room := headBytes - len(o.head); room > 0 {
		n := min(room, len(rest))
		o.head = append(o.head, rest[:n]...)
		rest = rest[n:]
	}
	o.tail = append(o.tail, rest...)
	if len(o.tail) > 2*tailBytes {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-tailBytes:]...)
	}
	close(o.changed)
	o.changed = make(chan struct{})
	tell := o.tell
	o.mu.Unlock()
	if tell != nil {
		tell(o.last())
	}
	return len(p), nil
}

// save writes a piece into the file. The file begins, with what there is so far, once that is not complete any more.
func (o *output) save(p []byte) {
	if o.total <= headBytes+tailBytes && o.total+int64(len(p)) > headBytes+tailBytes {
		o.spill()
	}
	switch {
	case o.file == nil || o.err != nil:
	case o.total+int64(len(p)) > spillBytes:
		o.broke(fmt.Errorf("it has only the first %d MiB", spillBytes>>20))
	default:
		_, err := o.file.Write(p)
		o.broke(err)
	}
}

func (o *output) spill() {
	err := o.root.MkdirAll(results, 0o777)
	if err == nil {
		o.file, err = o.root.Create(o.name)
	}
	if err == nil {
		_, err = o.file.Write(slices.Concat(o.head, o.tail))
	}
	o.broke(err)
}

// broke notes what became of the file.
func (o *output) broke(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept, o.err = o.file != nil, err
}

// close must follow the last Write.
func (o *output) close() {
	if o.file != nil {
		o.file.Close()
	}
}

// look has the last lines of each further piece told; nil ends that.
func (o *output) look(tell func(string)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tell = tell
}

// size returns how much was said so far, and a channel that is closed when there is more.
func (o *output) size() (int64, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total, o.changed
}

// lastBytes and lastLines bound what is told of a running command.
const (
	lastBytes = 1024
	lastLines = 3
)

// last returns the last lines that are not empty, as they stand on a screen: what follows a carriage return replaces what
// stands before it.
func (o *output) last() string {
	o.mu.Lock()
	end := slices.Clone(o.tail[max(0, len(o.tail)-lastBytes):])
	if len(end) == 0 {
		end = slices.Clone(o.head[max(0, len(o.head)-lastBytes):])
	}
	o.mu.Unlock()
	var lines []string
	for l := range strings.Lines(plain(end)) {
		l = strings.TrimRight(l, "\r\n ")
		if l = l[strings.LastIndexByte(l, '\r')+1:]; strings.TrimSpace(l) != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}

// since returns what was said after the first so many bytes, shortened if that is not kept any more, and how much was said
// in all.
func (o *output) since(from int64) (text string, total int64) {
	o.mu.Lock()
	head, tail, total := slices.Clone(o.head), slices.Clone(o.tail), o.total
	o.mu.Unlock()
	var b strings.Builder
	if from < int64(len(head)) {
		b.WriteString(plain(head[from:]))
		from = int64(len(head))
	}
	begin := total - int64(len(tail))
	if from < begin {
		fmt.Fprintf(&b, "\n[%d bytes left out here]\n", begin-from)
		from = begin
	}
	b.WriteString(plain(tail[from-begin:]))
	return b.String(), total
}

// text returns what the model reads, with a last line about the end.
func (o *output) text(end string) string {
	o.mu.Lock()
	head, tail, total, kept, err := slices.Clone(o.head), slices.Clone(o.tail), o.total, o.kept, o.err
	o.mu.Unlock()
	switch {
	case total == 0:
		return "[no output]\n" + end
	case total <= headBytes+tailBytes:
		return withNewline(plain(head, tail)) + end
	}
	tail = tail[max(0, len(tail)-tailBytes):]
	where := "the whole output is in " + o.name
	switch {
	case err != nil && kept:
		where += ", but not completely: " + err.Error()
	case !kept:
		where = "the rest could not be kept"
	}
	left := total - int64(len(head)+len(tail))
	return fmt.Sprintf("%s[%d bytes left out here; %s]\n%s%s", withNewline(plain(head)), left, where, withNewline(plain(tail)), end)
}

// escapes are the sequences with which programs colour their output and move the cursor (ECMA-48).
var escapes = regexp.MustCompile("\x1b\\[[0-9;:?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)")

// plain makes readable text of what a program wrote for a terminal.
func plain(pieces ...[]byte) string {
	var all []byte
	for _, p := range pieces {
		all = append(all, p...)
	}
	text := strings.ToValidUTF8(string(escapes.ReplaceAll(all, nil)), "\uFFFD")
	return strings.NewReplacer("\r\n", "\n", "\x00", "\uFFFD").Replace(text)
}

func withNewline(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
