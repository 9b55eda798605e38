package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// syntax is what differs between the ways to write a document. Implementations have no state; what is written so far,
// and where, they find in the writer.
type syntax interface {
	// text writes plain text so that it stays plain text; next is the rune that will follow it.
	text(w *writer, s string, next rune)
	codeSpan(w *writer, s string, next rune)
	styled(w *writer, s styled, next rune)
	link(w *writer, l link, next rune)

	heading(w *writer, h heading)
	code(w *writer, c codeBlock)
	table(w *writer, t table)
	quote(w *writer, q quote)
	rule(w *writer)
	// marker is what the i-th item begins with: its bullet or number, and its box if it is a task.
	marker(w *writer, l list, i int) (marker, box string)
	// margin is the indent of code blocks and tables, whose content people copy, where we are now.
	margin(w *writer) string
	// apart tells that two neighbours in an item need a blank line between them, even in a tight list.
	apart(before, after block) bool
}

// writer walks a document and writes it in one syntax.
type writer struct {
	strings.Builder
	syntax syntax
	indent string // what each further line begins with: quote marks and the width of list markers
	quotes string // the quote marks in indent alone
	start  int    // where the text of the current line begins, after its marks
	lists  int    // how many lists we are in
	active style  // the styles that are on
	ahead  *ahead // what is to follow in the same paragraph
	quoted int    // how many quotes we are in
	opened int    // the position right after the last opening marker
	closed int    // the position right after the last closing marker
	twin   bool   // the list being written directly follows another of its kind
}

func render(s syntax, blocks []block) string {
	w := &writer{syntax: s}
	w.blocks(blocks)
	return strings.TrimRightFunc(w.String(), unicode.IsSpace)
}

// sameKind tells two lists that a Markdown parser would take for one.
func sameKind(a, b block) bool {
	before, ok := a.(list)
	after, ok2 := b.(list)
	return ok && ok2 && before.ordered == after.ordered
}

func (w *writer) block(b block) {
	switch b := b.(type) {
	case paragraph:
		w.spans(b.spans, 0)
	case heading:
		w.syntax.heading(w, b)
	case codeBlock:
		w.syntax.code(w, b)
	case table:
		w.syntax.table(w, b)
	case quote:
		w.quoted++
		w.syntax.quote(w, b)
		w.quoted--
	case list:
		w.list(b)
	case rule:
		w.syntax.rule(w)
	}
}

func (w *writer) blocks(blocks []block) {
	w.sequence(blocks, func(int) bool { return true })
}

// sequence writes blocks one below the other, with a blank line before the i-th where apart says so.
func (w *writer) sequence(blocks []block, apart func(i int) bool) {
	twin := false
	for i, b := range blocks {
		indent := w.indent
		if isVerbatim(b) {
			w.indent = w.syntax.margin(w)
		}
		switch {
		case i > 0 && apart(i):
			w.blankLine()
		case i > 0 || w.indent != indent && w.Len() > w.lineStart():
			w.newline()
		}
		twin = i > 0 && !twin && sameKind(blocks[i-1], b)
		w.twin = twin
		w.block(b)
		w.indent = indent
	}
}

func isVerbatim(b block) bool {
	switch b.(type) {
	case codeBlock, table:
		return true
	}
	return false
}

func (w *writer) list(l list) {
	w.lists++
	defer func() { w.lists-- }()
	twin := w.twin
	for i, it := range l.items {
		if i > 0 && l.loose {
			w.blankLine()
		} else if i > 0 {
			w.newline()
		}
		w.twin = twin
		marker, box := w.syntax.marker(w, l, i)
		w.WriteString(marker + box)
		w.start = w.Len()
		w.within(strings.Repeat(" ", utf8.RuneCountInString(marker)), func() {
			w.sequence(it.blocks, func(i int) bool {
				return l.loose || w.syntax.apart(it.blocks[i-1], it.blocks[i])
			})
		})
	}
}

// within writes with a longer indent.
func (w *writer) within(more string, write func()) {
	indent := w.indent
	w.indent += more
	write()
	w.indent = indent
}

// quote writes q with a mark before each of its lines.
func (w *writer) quote(q quote, mark string) {
	quotes := w.quotes
	w.quotes += mark
	w.WriteString(mark)
	w.start = w.Len()
	w.within(mark, func() { w.blocks(q.blocks) })
	w.quotes = quotes
}

// enclosed writes something between two markers.
func (w *writer) enclosed(marker string, write func()) {
	w.WriteString(marker)
	w.opened = w.Len()
	write()
	w.WriteString(marker)
	w.closed = w.Len()
}

func (w *writer) newline() {
	w.WriteByte('\n')
	w.WriteString(w.indent)
	w.start = w.Len()
}

func (w *writer) blankLine() {
	w.WriteByte('\n')
	if strings.TrimSpace(w.indent) != "" {
		w.WriteString(w.indent)
	}
	w.newline()
}

// raw writes lines that need no escaping.
func (w *writer) raw(s string) {
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			w.newline()
		}
		w.WriteString(line)
	}
}

// lineStart is where the current line begins, marks included.
func (w *writer) lineStart() int { return strings.LastIndexByte(w.String(), '\n') + 1 }

// lead is what stands on the line after its marks, which tells whether a character would begin a block here; "..." once
// it is longer than any such beginning.
func (w *writer) lead() string {
	if w.Len()-w.start > 16 {
		return "..."
	}
	return strings.TrimSpace(w.String()[min(w.start, w.Len()):])
}

// tail is the last n bytes.
func (w *writer) tail(n int) string { return w.String()[max(0, w.Len()-n):] }

// last is the rune before the current position, 0 at the beginning of a line.
func (w *writer) last() rune {
	if w.Len() <= w.start {
		return 0
	}
	r, _ := utf8.DecodeLastRuneInString(w.tail(utf8.UTFMax))
	return r
}

// spans writes a line's spans; next is the rune that will follow them, 0 at the end of a line.
func (w *writer) spans(spans []span, next rune) {
	outer := w.ahead
	defer func() { w.ahead = outer }()
	for i, s := range spans {
		w.ahead = &ahead{spans[i+1:], outer}
		follows := next
		if i+1 < len(spans) {
			follows = firstRune(spans[i+1])
		}
		switch s := s.(type) {
		case text:
			w.syntax.text(w, string(s), follows)
		case codeSpan:
			w.syntax.codeSpan(w, string(s), follows)
		case lineBreak:
			w.newline()
		case styled:
			w.syntax.styled(w, s, follows)
		case link:
			w.syntax.link(w, s, follows)
		}
	}
}

// on writes with a style marked as on.
func (w *writer) on(s style, write func()) {
	active := w.active
	w.active |= s
	write()
	w.active = active
}

// firstRune is the first visible rune of a span, 0 for a line's end.
func firstRune(s span) rune {
	if s == (lineBreak{}) {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(flat([]span{s}))
	return r
}

// isWord tells letters, digits and what combines with them.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}
