package terminal

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
)

// Limits of a command's output. The beginning says what was done, the end how it went, hence the larger share.
const (
	headBytes  = 20_000
	tailBytes  = 30_000
	spillBytes = 256 << 20 // of the file that takes all of it
)

// results is the folder, in the work folder, for outputs that are too long to be shown whole.
const results = "results"

// output keeps the head and the tail of what a command says, and puts the whole into a file if that is more. It is
// written by one goroutine and read when that has ended.
type output struct {
	root  *os.Root
	name  string // of the file, should there be one
	head  []byte
	tail  []byte // up to twice tailBytes; cut now and then
	total int64
	file  *os.File
	err   error // why the file is not complete
}

func newOutput(root *os.Root, callID string) *output {
	return &output{root: root, name: path.Join(results, "terminal-"+fileSafe(callID)+".txt")}
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
	if o.total <= headBytes+tailBytes && o.total+int64(len(p)) > headBytes+tailBytes {
		o.spill()
	}
	o.save(p)
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
	return len(p), nil
}

// spill begins the file with what there is so far, which is still complete.
func (o *output) spill() {
	if o.err = o.root.MkdirAll(results, 0o777); o.err != nil {
		return
	}
	if o.file, o.err = o.root.Create(o.name); o.err != nil {
		return
	}
	o.save(o.head)
	o.save(o.tail)
}

func (o *output) save(p []byte) {
	if o.file == nil || o.err != nil {
		return
	}
	if o.total+int64(len(p)) > spillBytes {
		o.err = fmt.Errorf("it has only the first %d MiB", spillBytes>>20)
		return
	}
	_, o.err = o.file.Write(p)
}

func (o *output) close() {
	if o.file != nil {
		o.file.Close()
	}
}

// text returns what the model reads, with a last line about the end.
func (o *output) text(end string) string {
	switch {
	case o.total == 0:
		return "[no output]\n" + end
	case o.total <= headBytes+tailBytes:
		return withNewline(plain(o.head, o.tail)) + end
	}
	tail := o.tail[max(0, len(o.tail)-tailBytes):]
	where := "the whole output is in " + o.name
	switch {
	case o.err != nil && o.file != nil:
		where += ", but not completely: " + o.err.Error()
	case o.file == nil:
		where = "the rest could not be kept"
	}
	left := o.total - int64(len(o.head)+len(tail))
	return fmt.Sprintf("%s[%d bytes left out here; %s]\n%s%s", withNewline(plain(o.head)), left, where, withNewline(plain(tail)), end)
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
