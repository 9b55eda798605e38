package files

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// lines reads a text line by line, keeping at most so many bytes of each. Its lines are UTF-8, however the text is
// stored, but for broken characters.
type lines struct {
	r       *bufio.Reader
	keep    int
	skip    int // bytes that next passes over at the beginning of its line; what is left then, the line did not have
	charset charset
	binary  string // what the file is if it is not text; then it has no lines that make sense
}

func newLines(r io.Reader, keep int) *lines {
	raw := bufio.NewReaderSize(r, 64<<10)
	start, _ := raw.Peek(lookedAt) // a short file is no error, and a broken one shows when it is read
	l := &lines{r: raw, keep: keep}
	l.charset, l.binary = charsetOf(start)
	if l.binary != "" {
		return l
	}
	raw.Discard(len(l.charset.mark))
	if l.charset.coding != nil {
		l.r = bufio.NewReaderSize(transform.NewReader(raw, l.charset.coding.NewDecoder()), 64<<10)
	}
	return l
}

// next returns the next line without its end, and how many of its bytes were left out. The line is valid until the next
// call. At the end the error is io.EOF.
func (l *lines) next() (line []byte, left int, err error) {
	kept := false
	for {
		part, err := l.r.ReadSlice('\n')
		complete := err == nil
		if complete {
			part = bytes.TrimSuffix(part[:len(part)-1], []byte("\r"))
		}
		skipped := min(l.skip, len(part))
		part, l.skip = part[skipped:], l.skip-skipped
		switch {
		case !kept && len(part) <= l.keep:
			line = part
		case !kept:
			line, left = part[:l.keep], len(part)-l.keep
		default:
			room := min(len(part), l.keep-len(line))
			line = append(line, part[:room]...)
			left += len(part) - room
		}
		switch {
		case complete:
			return line, left, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if !kept {
				line, kept = bytes.Clone(line), true // the buffer is about to be filled again
			}
		case errors.Is(err, io.EOF) && (kept || skipped+len(part) > 0):
			return line, left, nil
		default:
			return nil, 0, err
		}
	}
}

// readable makes bytes of a file valid text.
func readable(line []byte) string { return strings.ToValidUTF8(string(line), "\uFFFD") }

// whole drops a character that was cut at the end of a line.
func whole(line []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(line); i++ {
		if tail := line[len(line)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return line[:len(line)-i]
			}
			break
		}
	}
	return line
}
