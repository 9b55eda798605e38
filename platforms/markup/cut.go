package markup

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// divideText cuts a paragraph or a heading at the best place of what fits.
func (c cutter) divideText(spans []span, wrap func([]span) block) (head, rest []block) {
	fits := func(n int) bool {
		head, _ := cutSpans(spans, n)
		head = trimSpans(head)
		return len(head) == 0 || c.fits(wrap(head))
	}
	r := newRuler(spans)
	n := longest(len(r.runes), fits)
	for n > 0 {
		at := r.best(n)
		if fits(at) {
			n = at
			break
		}
		n = at * 9 / 10
	}
	before, after := cutSpans(spans, n)
	before, after = trimSpans(before), trimSpans(after)
	if len(before) == 0 {
		return nil, []block{wrap(spans)}
	}
	if len(after) == 0 {
		return []block{wrap(before)}, nil
	}
	return []block{wrap(before)}, []block{wrap(after)}
}

// divideCode cuts between lines, at a blank one if the last third has one, or inside a line that is too long itself.
func (c cutter) divideCode(b codeBlock) (head, rest []block) {
	cut := func(before, after string) (head, rest []block) {
		return code(b.language, before), code(b.language, after)
	}
	lines := strings.SplitAfter(b.text, "\n")
	prefix := func(n int) string { return strings.Join(lines[:n], "") }
	n := longest(len(lines), func(n int) bool { return c.fits(codeBlock{b.language, strings.TrimSuffix(prefix(n), "\n")}) })
	for i := n; i > n*2/3 && i > 0; i-- {
		if blank(lines[i-1]) && !blank(prefix(i)) {
			n = i
			break
		}
	}
	if before := prefix(n); !blank(before) {
		return cut(before, b.text[len(before):])
	}
	r := newRuler([]span{text(b.text)})
	n = longest(len(r.runes), func(n int) bool { return c.fits(codeBlock{b.language, string(r.runes[:n])}) })
	if n == 0 || blank(string(r.runes[:n])) {
		return nil, []block{b}
	}
	before := string(r.runes[:r.grapheme(n)])
	return cut(before, b.text[len(before):])
}

// cutSpans parts spans after n runes of their spelled-out text. Styles and code are closed and opened again; a link that
// is cut inside becomes text, so that neither its label nor its address is shown twice.
func cutSpans(spans []span, n int) (before, after []span) {
	for i, s := range spans {
		size := spanLen(s)
		if n >= size {
			n -= size
			continue
		}
		before = append(before, spans[:i]...)
		if n == 0 {
			return before, spans[i:]
		}
		var left, right []span
		switch s := s.(type) {
		case text:
			at := runeOffset(string(s), n)
			left, right = []span{s[:at]}, []span{s[at:]}
		case codeSpan:
			at := runeOffset(string(s), n)
			left, right = []span{s[:at]}, []span{s[at:]}
		case styled:
			l, r := cutSpans(s.spans, n)
			left, right = []span{styled{s.style, l}}, []span{styled{s.style, r}}
		case link:
			left, right = cutSpans(s.spelledOut(), n)
		}
		return addSpans(before, left...), addSpans(right, spans[i+1:]...)
	}
	return spans, nil
}

// spanLen counts the runes of a span's spelled-out text.
func spanLen(s span) int {
	switch s := s.(type) {
	case text:
		return utf8.RuneCountInString(string(s))
	case codeSpan:
		return utf8.RuneCountInString(string(s))
	case styled:
		n := 0
		for _, s := range s.spans {
			n += spanLen(s)
		}
		return n
	case link:
		return utf8.RuneCountInString(flat(s.spelledOut()))
	}
	return 1
}

func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// ruler knows the good places to cut a text. Position n is before rune n.
type ruler struct {
	runes []rune
	whole []bool // rune n and the one before it belong to one link, code or style
}

func newRuler(spans []span) *ruler {
	r := &ruler{}
	r.add(spans, false)
	return r
}

func (r *ruler) add(spans []span, whole bool) {
	for _, s := range spans {
		from := len(r.runes)
		inner := true
		switch s := s.(type) {
		case lineBreak:
			r.runes, r.whole = append(r.runes, '\n'), append(r.whole, whole)
		case styled:
			r.add(s.spans, true)
		default:
			_, isText := s.(text)
			inner = !isText
			for _, c := range spelledFlat([]span{s}) {
				r.runes, r.whole = append(r.runes, c), append(r.whole, whole || inner)
			}
		}
		if from < len(r.runes) {
			r.whole[from] = whole // before the span is outside of it
		}
	}
}

// best is the best place to cut at or before n: a line's end or a sentence's in the second half, then a space in the last
// three quarters, then a space inside a link, code or style, then any character as people see it.
func (r *ruler) best(n int) int {
	if n >= len(r.runes) {
		return n
	}
	best, rank := n, 0
	r.boundaries(n, func(at int, sentence, line bool) {
		now := 1
		switch {
		case r.whole[at]:
			if line && at > n/4 {
				now = 2
			}
		case (sentence || r.runes[at-1] == '\n') && at > n/2:
			now = 5
		case line && at > n/4:
			now = 4
		case at > n/2:
			now = 1
		}
		if now >= rank {
			best, rank = at, now
		}
	})
	return best
}

// grapheme is the last place at or before n that does not part a character as people see it; n, if it is one that long.
func (r *ruler) grapheme(n int) int {
	best := n
	r.boundaries(n, func(at int, _, _ bool) { best = at })
	return best
}

// boundaries visits the places between characters from 1 to n.
func (r *ruler) boundaries(n int, visit func(at int, sentence, line bool)) {
	// A little more than n runes, for a boundary depends on what follows it.
	rest, state, at := string(r.runes[:min(n+40, len(r.runes))]), -1, 0
	for len(rest) > 0 {
		var cluster string
		var flags int
		cluster, rest, flags, state = uniseg.StepString(rest, state)
		if at += utf8.RuneCountInString(cluster); at > n {
			return
		}
		visit(at, flags&uniseg.MaskSentence != 0, flags&uniseg.MaskLine != uniseg.LineDontBreak)
	}
}
