package files

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// lines reads a text line by line, keeping at most so many bytes of each.
type lines struct {
	r    *bufio.Reader
	keep int
}

func newLines(r io.Reader, keep int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), keep: keep}
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
		case errors.Is(err, io.EOF) && (kept || len(part) > 0):
			return line, left, nil
		default:
			return nil, 0, err
		}
	}
}

// binary tells what a file is, if it does not look like text, by its beginning; "" for text.
func (l *lines) binary() string {
	start, _ := l.r.Peek(8 << 10) // a short file is no error, and a broken one shows when it is read
	switch {
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}), bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return "text in UTF-16"
	case bytes.IndexByte(start, 0) < 0:
		return ""
	}
	kind := http.DetectContentType(start)
	if kind == "application/octet-stream" || strings.HasPrefix(kind, "text/") {
		return "a binary file"
	}
	return "a binary file (" + kind + ")"
}

// readable makes bytes of a file valid text. A character that was cut at the end is dropped.
func readable(line []byte, cut bool) string {
	if cut {
		for i := 1; i < utf8.UTFMax && i <= len(line); i++ {
			if tail := line[len(line)-i:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					line = line[:len(line)-i]
				}
				break
			}
		}
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}
