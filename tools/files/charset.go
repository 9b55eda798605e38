package files

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// lookedAt is how much of a file's beginning tells what it is.
const lookedAt = 8 << 10

// charset is how a file stores its text.
type charset struct {
	name   string            // for the model; empty = UTF-8 without a mark
	mark   string            // the byte order mark at the beginning
	coding encoding.Encoding // nil = UTF-8
}

// charsetOf tells by the beginning of a file how its text is stored, or what kind of binary file it is. What is neither
// UTF-8 nor marked as UTF-16 is taken for Windows-1252, which Latin-1 is a part of.
func charsetOf(start []byte) (c charset, binary string) {
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xfe\x00\x00")): // UTF-32, which nobody uses
		return c, "a binary file"
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		return charset{name: "UTF-8 with a byte order mark", mark: "\xef\xbb\xbf"}, ""
	case bytes.HasPrefix(start, []byte("\xff\xfe")):
		return charset{"UTF-16", "\xff\xfe", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)}, ""
	case bytes.HasPrefix(start, []byte("\xfe\xff")):
		return charset{"UTF-16", "\xfe\xff", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)}, ""
	case bytes.IndexByte(start, 0) >= 0:
		kind := http.DetectContentType(start)
		if kind == "application/octet-stream" || strings.HasPrefix(kind, "text/") {
			return c, "a binary file"
		}
		return c, "a binary file (" + kind + ")"
	case mostlyUTF8(start):
		return c, ""
	}
	return charset{name: "Windows-1252", coding: charmap.Windows1252}, ""
}

// mostlyUTF8 tells whether a text has more characters of several bytes than bytes that are none. A few broken ones
// happen in logs. The beginning of a file may end within a character.
func mostlyUTF8(start []byte) bool {
	good, bad := 0, 0
	for len(start) > 0 {
		r, size := utf8.DecodeRune(start)
		switch {
		case r == utf8.RuneError && size == 1 && !utf8.FullRune(start):
			return good >= bad
		case r == utf8.RuneError && size == 1:
			bad++
		case size > 1:
			good++
		}
		start = start[size:]
	}
	return good >= bad
}

// decode returns the text of a whole file. It fails if the text could not be written back as it was.
func (c charset) decode(content []byte) (string, error) {
	text := string(content[len(c.mark):])
	if c.coding == nil {
		return text, nil
	}
	decoded, err := c.coding.NewDecoder().String(text)
	if err == nil {
		if again, err := c.encode(decoded); err == nil && again == string(content) {
			return decoded, nil
		}
	}
	return "", fmt.Errorf("it is not entirely text in %s", c.name)
}

// encode returns a text as the file stores it. It fails if the text has characters that cannot be stored in this way.
func (c charset) encode(text string) (string, error) {
	if c.coding == nil {
		return c.mark + text, nil
	}
	encoded, err := c.coding.NewEncoder().String(text)
	if err != nil {
		return "", fmt.Errorf("the file is stored as %s, which lacks a character of the new text", c.name)
	}
	return c.mark + encoded, nil
}
