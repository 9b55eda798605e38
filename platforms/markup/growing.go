package markup

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Growing is a source that is still being written, made fit to be shown: what is open is closed, and what cannot be told
// yet (half a link, half a marker, the head of a table) is left out or shown as text, so that nothing changes its look
// when the rest comes. The cursor is put at its end. It is empty while there is nothing to show.
func Growing(source, cursor string) string {
	before, indent, fence := openFence(source)
	if fence != "" {
		body, last := cutLast(source)
		if strings.HasPrefix(fence, strings.TrimSpace(last)) { // as good as a closing fence
			source = strings.TrimSuffix(body, "\n")
		}
		if len(source) > len(before) && strings.Contains(source[len(before):], "\n") {
			return source + cursor + "\n" + indent + fence
		}
		source = before
	}
	tail := max(strings.LastIndex(source, "\n\n")+2, 0)
	if tail == 1 {
		tail = 0
	}
	text := source[:tail] + closeSpans(settled(source[tail:]), cursor)
	if strings.TrimSpace(strings.TrimSuffix(text, cursor)) == "" {
		return ""
	}
	return text
}

// fenceLine is the line that opens or closes a code block, in whatever it is nested.
var fenceLine = regexp.MustCompile("^([ >]*(?:(?:[-*+]|\\d+[.)]) +)*)(`{3,}|~{3,})([^`]*)$")

// openFence returns the marker of the code block that a source ends in, with what stands before it on each line and what
// came before all of it; no marker if it ends in none.
func openFence(source string) (before, indent, marker string) {
	at := 0
	for line := range strings.Lines(source) {
		if m := fenceLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			switch {
			case marker == "":
				before, marker = source[:at], m[2]
				indent = listMarker.ReplaceAllStringFunc(m[1], func(s string) string { return strings.Repeat(" ", len(s)) })
			case strings.HasPrefix(m[2], marker) && strings.TrimSpace(m[3]) == "":
				marker = ""
			}
		}
		at += len(line)
	}
	if marker == "" {
		before = source
	}
	return before, indent, marker
}

var listMarker = regexp.MustCompile(`[-*+]|\d+[.)]`)

// cutLast parts a text before its last line.
func cutLast(text string) (before, last string) {
	i := strings.LastIndexByte(text, '\n') + 1
	return text[:i], text[i:]
}

var (
	onlyMarkers  = regexp.MustCompile("^\\s*(?:[-*+#>=_`~|\\s]+|\\d+[.)]?)$")
	delimiterRow = regexp.MustCompile(`^[\s|:-]*-[\s|:-]*$`)
)

// settled leaves out of a last paragraph what will turn into something else: a line of markers only, and the head of a
// table without the row that makes it one.
func settled(tail string) string {
	body, last := cutLast(tail)
	if onlyMarkers.MatchString(last) && strings.TrimSpace(last) != "" {
		tail = body
	}
	lines := strings.Split(tail, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "|") {
			continue
		}
		if i+1 >= len(lines) || !delimiterRow.MatchString(lines[i+1]) || lines[i+1] == "" {
			return strings.Join(lines[:i], "\n")
		}
		if body, last := cutLast(tail); !strings.HasSuffix(strings.TrimSpace(last), "|") && last != "" {
			return strings.TrimSuffix(body, "\n") // half a row
		}
		break
	}
	return tail
}

// closeSpans closes what is open at the end of a paragraph, behind the cursor.
func closeSpans(text, cursor string) string {
	var b strings.Builder
	var open []string // markers, the innermost last
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; c {
		case '\\':
			if len(rest) == 1 {
				return b.String() + cursor + closers(open)
			}
			_, size := utf8.DecodeRuneInString(rest[1:])
			b.WriteString(rest[:1+size])
			i += 1 + size
		case '`':
			run := rest[:len(rest)-len(strings.TrimLeft(rest, "`"))]
			end := strings.Index(rest[len(run):], run)
			if end >= 0 {
				b.WriteString(rest[:2*len(run)+end])
				i += 2*len(run) + end
				continue
			}
			if code := strings.TrimRight(rest[len(run):], "`"); strings.TrimSpace(code) != "" {
				b.WriteString(run + code + cursor + run)
				return b.String() + closers(open)
			}
			i = len(text)
		case '[':
			size, whole := linkLength(rest)
			if whole {
				b.WriteString(rest[:size])
				i += size
				continue
			}
			label, _, _ := strings.Cut(rest[1:], "](") // half a link: its label, as far as it goes
			if label != rest[1:] {
				b.WriteString(strings.TrimPrefix(label, "["))
				i = len(text)
				continue
			}
			i++
		case '*', '_', '~':
			run := rest[:len(rest)-len(strings.TrimLeft(rest, string(c)))]
			open = delimiter(&b, open, text[:i], run, text[i+len(run):])
			i += len(run)
		default:
			b.WriteByte(c)
			i++
		}
	}
	return strings.TrimRight(b.String(), " \n") + cursor + closers(open)
}

// delimiter writes a run of emphasis markers as far as it means something, and returns what is open after it.
func delimiter(b *strings.Builder, open []string, before, run, after string) []string {
	prev, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	if n := len(open); n > 0 && before != "" && !unicode.IsSpace(prev) {
		if top := open[n-1]; run == top {
			b.WriteString(run)
			return open[:n-1]
		} else if after == "" && strings.HasPrefix(top, run) {
			return open // half of what closes it
		}
	}
	switch {
	case after == "": // nobody knows yet
		return open
	case unicode.IsSpace(next), len(run) > 3, run[0] == '~' && len(run) != 2, run[0] == '_' && (unicode.IsLetter(prev) || unicode.IsDigit(prev)):
		b.WriteString(run)
		return open
	}
	b.WriteString(run)
	return append(open, run)
}

func closers(open []string) string {
	var b strings.Builder
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString(open[i])
	}
	return b.String()
}

// linkLength returns the length of the brackets that a text begins with, together with the target behind them. They are
// not whole if the end of either has not come.
func linkLength(text string) (size int, whole bool) {
	depth := 0
	for i := range len(text) {
		switch {
		case text[i] == '\n' && i+1 < len(text) && text[i+1] == '\n':
			return 1, true // no link at all
		case text[i] == '[':
			depth++
		case text[i] == ']':
			depth--
		}
		if depth > 0 {
			continue
		}
		if i+1 == len(text) || text[i+1] != '(' {
			return i + 1, i+1 < len(text)
		}
		end := strings.IndexByte(text[i+1:], ')')
		return i + 2 + end, end >= 0
	}
	return 0, false
}
