package markup

import (
	"slices"
	"strings"
	"unicode"
)

// A document is a list of blocks. It keeps what chat messages can show and nothing else: no titles, no raw HTML (that is
// text), no reference definitions (links carry their address). Blocks and spans are never changed once built.

type block interface{ isBlock() }

type (
	paragraph struct{ spans []span }
	heading   struct {
		level int
		spans []span
	}
	// codeBlock is a fenced or indented block; language is the first word of its info string.
	codeBlock struct{ language, text string }
	quote     struct{ blocks []block }
	list      struct {
		ordered bool
		start   int  // the first number, if ordered
		loose   bool // items are set apart by blank lines
		items   []item
	}
	table struct {
		aligns []align
		header []cell
		rows   [][]cell
		// continued tells that an earlier piece has shown the header.
		continued bool
	}
	rule struct{}
)

func (paragraph) isBlock() {}
func (heading) isBlock()   {}
func (codeBlock) isBlock() {}
func (quote) isBlock()     {}
func (list) isBlock()      {}
func (table) isBlock()     {}
func (rule) isBlock()      {}

type item struct {
	task   task
	blocks []block
}

type task int

const (
	noTask task = iota
	openTask
	doneTask
)

type cell []span

type align int

const (
	alignLeft align = iota
	alignRight
	alignCenter
)

// A span is a part of a line of text. Adjacent texts are merged, a style is never nested in itself, and line breaks stand
// outside styles and links, because few dialects carry a style over a line's end.
type span interface{ isSpan() }

type (
	text      string
	codeSpan  string
	lineBreak struct{}
	styled    struct {
		style style
		spans []span
	}
	// link has an address that was found safe and is fully escaped; its label has no links in it.
	link struct {
		url   string
		spans []span
	}
)

func (text) isSpan()      {}
func (codeSpan) isSpan()  {}
func (lineBreak) isSpan() {}
func (styled) isSpan()    {}
func (link) isSpan()      {}

type style uint8

const (
	strong style = 1 << iota
	emphasis
	strike
)

// label is the visible text of a link.
func (l link) label() string { return flat(l.spans) }

// bare tells that the label is the address itself, so that showing both would say it twice.
func (l link) bare() bool {
	label := l.label()
	return label == l.url || "http://"+label == l.url || "mailto:"+label == l.url
}

// spelledOut is the link as text: the label, and the address behind it.
func (l link) spelledOut() []span {
	if l.bare() {
		return l.spans
	}
	return merged(append(slices.Clip(l.spans), text(" ("+l.url+")"))...)
}

// flat is the text of spans without styles or addresses, on one line.
func flat(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s := s.(type) {
		case text:
			b.WriteString(string(s))
		case codeSpan:
			b.WriteString(string(s))
		case lineBreak:
			b.WriteByte(' ')
		case styled:
			b.WriteString(flat(s.spans))
		case link:
			b.WriteString(s.label())
		}
	}
	return b.String()
}

// spelledFlat is flat with the addresses of links behind their labels, for places that cannot hold a link.
func spelledFlat(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s := s.(type) {
		case styled:
			b.WriteString(spelledFlat(s.spans))
		case link:
			b.WriteString(flat(s.spelledOut()))
		default:
			b.WriteString(flat([]span{s}))
		}
	}
	return b.String()
}

// merged joins texts that stand side by side, in one pass: a parser finds a text in very many parts.
func merged(spans ...span) []span {
	var out []span
	for i := 0; i < len(spans); i++ {
		if _, ok := spans[i].(text); !ok {
			out = append(out, spans[i])
			continue
		}
		var b strings.Builder
		for ; i < len(spans); i++ {
			t, ok := spans[i].(text)
			if !ok {
				break
			}
			b.WriteString(string(t))
		}
		i--
		if b.Len() > 0 {
			out = append(out, text(b.String()))
		}
	}
	return out
}

// trimSpans takes the white space from both ends of a paragraph.
func trimSpans(spans []span) []span {
	return trimEnd(trimStart(spans))
}

func trimStart(spans []span) []span {
	for len(spans) > 0 {
		switch first := spans[0].(type) {
		case lineBreak:
		case text:
			if t := strings.TrimLeftFunc(string(first), unicode.IsSpace); t != "" {
				return append([]span{text(t)}, spans[1:]...)
			}
		case styled:
			if inner := trimStart(first.spans); len(inner) > 0 {
				return append([]span{styled{first.style, inner}}, spans[1:]...)
			}
		default:
			return spans
		}
		spans = spans[1:]
	}
	return nil
}

func trimEnd(spans []span) []span {
	for len(spans) > 0 {
		rest := spans[: len(spans)-1 : len(spans)-1]
		switch last := spans[len(spans)-1].(type) {
		case lineBreak:
		case text:
			if t := strings.TrimRightFunc(string(last), unicode.IsSpace); t != "" {
				return append(rest, text(t))
			}
		case styled:
			if inner := trimEnd(last.spans); len(inner) > 0 {
				return append(rest, styled{last.style, inner})
			}
		default:
			return spans
		}
		spans = rest
	}
	return nil
}

// blank tells that a text shows nothing: white space, control and format characters only.
func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf)
	}) < 0
}
