package markup

import (
	"fmt"
	"strings"
	"unicode"
)

// markdown writes a document back as Markdown that parses to the same document. It is how pieces of a split source become
// sources themselves: links are inline, numbers go on where they were, nothing outside of the piece is needed.
type markdown struct{}

func (markdown) margin(w *writer) string { return w.indent }

// text escapes every character that could begin something, and those that only do so in places at those places.
func (markdown) text(w *writer, s string, _ rune) {
	for i, r := range s {
		line := w.lead()
		var special bool
		switch {
		case strings.ContainsRune("\\`*_~[]<>&|#@!", r):
			special = true
		case r == ':': // http://, and a table's second line
			special = line == "" || strings.HasPrefix(s[i+1:], "/")
		case r == '-' || r == '+' || r == '=':
			special = line == ""
		case r == ')':
			special = isNumber(line)
		case r == '.': // www., and a list's number
			special = isNumber(line) || strings.HasSuffix(strings.ToLower(w.tail(3)), "www")
		}
		if special {
			w.WriteByte('\\')
		}
		w.WriteRune(r)
	}
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

func (markdown) codeSpan(w *writer, s string, _ rune) {
	fence := strings.Repeat("`", longestRun(s)+1)
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' {
		s = " " + s + " "
	}
	w.WriteString(fence + s + fence)
}

// longestRun is the length of the longest run of backticks.
func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

func (markdown) styled(w *writer, s styled, next rune) {
	marker := [...]string{strong: "**", emphasis: "*", strike: "~~"}[s.style]
	if s.style == emphasis && partsWords(w.last()) && partsWords(next) {
		marker = "_" // cannot be confused with the markers of strong
	}
	w.WriteString(marker)
	w.spans(s.spans, rune(marker[0]))
	w.WriteString(marker)
}

// partsWords is what CommonMark wants on the outer side of an underscore; 0 is a line's end.
func partsWords(r rune) bool {
	return r == 0 || unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r)
}

func (markdown) link(w *writer, l link, _ rune) {
	if l.label() == l.url {
		w.WriteString("<" + l.url + ">")
		return
	}
	w.WriteByte('[')
	w.spans(l.spans, ']')
	w.WriteString("](<" + strings.ReplaceAll(l.url, "&", `\&`) + ">)")
}

func (markdown) heading(w *writer, h heading) {
	w.WriteString(strings.Repeat("#", h.level) + " ")
	w.spans(h.spans, 0)
}

func (markdown) code(w *writer, c codeBlock) {
	fence := strings.Repeat("`", max(3, longestRun(c.text)+1))
	w.WriteString(fence + c.language)
	w.newline()
	w.raw(c.text)
	w.newline()
	w.WriteString(fence)
}

func (markdown) table(w *writer, t table) {
	dashes := [...]string{alignLeft: "---", alignRight: "--:", alignCenter: ":-:"}
	writeRow(w, t.header)
	w.newline()
	for _, a := range t.aligns {
		w.WriteString("|" + dashes[a])
	}
	w.WriteByte('|')
	for _, row := range t.rows {
		w.newline()
		writeRow(w, row)
	}
}

// writeRow escapes the pipes in code, which are the only ones that text has not escaped already.
func writeRow(w *writer, row []cell) {
	for _, c := range row {
		w.WriteString("| ")
		for i, s := range c {
			if code, ok := s.(codeSpan); ok {
				s = codeSpan(strings.ReplaceAll(string(code), "|", `\|`))
			}
			next := rune(' ')
			if i+1 < len(c) {
				next = firstRune(c[i+1])
			}
			w.spans([]span{s}, next)
		}
		w.WriteByte(' ')
	}
	w.WriteByte('|')
}

func (markdown) quote(w *writer, q quote) { w.quote(q, "> ") }

func (markdown) rule(w *writer) { w.WriteString("___") }

// marker alternates between neighbouring lists, which would otherwise become one.
func (markdown) marker(w *writer, l list, i int) (marker, box string) {
	marker, end := "- ", ". "
	if w.twin {
		marker, end = "* ", ") "
	}
	if l.ordered {
		marker = fmt.Sprint(l.start+i) + end
	}
	return marker, [...]string{noTask: "", openTask: "[ ] ", doneTask: "[x] "}[l.items[i].task]
}

// apart leaves out the blank line only where the next block can interrupt a paragraph.
func (markdown) apart(_, after block) bool {
	switch after := after.(type) {
	case codeBlock:
		return false
	case list:
		return after.ordered && after.start != 1 || len(after.items[0].blocks) == 0
	}
	return true
}

// source is the Markdown of a piece, and what it parses to. Should a block not survive being written and read, which the
// syntax of emphasis does not rule out, it becomes plain paragraphs: the text comes before its style.
func source(blocks []block) (string, []block) {
	s := render(markdown{}, blocks)
	again := parse(s)
	if sameText(blocks, again) {
		return s, again
	}
	var safe []block
	for _, b := range blocks {
		if one := []block{b}; sameText(one, parse(render(markdown{}, one))) {
			safe = append(safe, b)
			continue
		}
		for line := range strings.SplitSeq(render(plain{}, []block{b}), "\n") {
			safe = append(safe, textBlock([]span{text(line)})...)
		}
	}
	s = render(markdown{}, safe)
	return s, parse(s)
}

func sameText(a, b []block) bool {
	return squeeze(render(plain{}, a)) == squeeze(render(plain{}, b))
}

// squeeze takes all white space from a text.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
