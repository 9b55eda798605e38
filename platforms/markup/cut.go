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
			i := runeOffset(string(s), n)
			left, right = []span{s[:i]}, []span{s[i:]}
		case codeSpan:
			i := runeOffset(string(s), n)
			left, right = []span{s[:i]}, []span{s[i:]}
		case styled:
			l, r := cutSpans(s.spans, n)
			left, right = []span{styled{s.style, l}}, []span{styled{s.style, r}}
		case link:
			left, right = cutSpans(s.spelledOut(), n)
		}
		return merged(append(before, left...)...), merged(append(right, spans[i+1:]...)...)
	}
	return spans, nil
}

// spelled is a span's text as it is counted here: with addresses, and with a character for a line break.
func spelled(s span) string {
	if s == (lineBreak{}) {
		return "\n"
	}
	return spelledFlat([]span{s})
}

func spanLen(s span) int { return utf8.RuneCountInString(spelled(s)) }

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
		if inner, ok := s.(styled); ok {
			r.add(inner.spans, true)
		} else {
			for _, c := range spelled(s) {
				_, isText := s.(text)
				r.runes, r.whole = append(r.runes, c), append(r.whole, whole || !isText)
			}
		}
		if from < len(r.runes) {
			r.whole[from] = whole // before the span is outside of it
		}
	}
}

// best is the best place to cut at or before n.
func (r *ruler) best(n int) int {
	if n >= len(r.runes) {
		return n
	}
	best, rank := n, 0
	r.boundaries(n, func(at int, sentence, line bool) {
		if now := r.rank(at, n, sentence, line); now >= rank {
			best, rank = at, now
		}
	})
	return best
}

// rank tells how well a cut at a boundary reads: after a line or a sentence, at a space or where else a line may be broken,
// the same inside a span, inside a word. It must not leave too short a piece.
func (r *ruler) rank(at, n int, sentence, line bool) int {
	outside := !r.whole[at]
	switch {
	case outside && (sentence || r.runes[at-1] == '\n') && at > n/2:
		return 4
	case outside && line && at > n/4:
		return 3
	case line && at > n/4:
		return 2
	case outside && at > n/2:
		return 1
	}
	return 0
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
