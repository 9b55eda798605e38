package markup

import (
	"slices"
	"strings"
)

// Split cuts a source into pieces, each a Markdown source of its own that fits into one message. It prefers to cut
// between paragraphs, keeps headings with what follows, closes and reopens fences, goes on with a list's numbers and
// repeats a table's header. A source that fits comes back as it is; one that shows nothing has no pieces.
func (d Dialect) Split(src string) []string {
	blocks := parse(src)
	if blank(render(plain{}, blocks)) {
		return nil
	}
	if d.Fits(src) {
		return []string{src}
	}
	c := cutter{func(blocks []block) float64 {
		// A long rest is asked about before each piece; its plain text, never twice as long as the rendered one, tells
		// without much work that it is far too long.
		if n := len(render(plain{}, blocks)); n > 2*d.most {
			return float64(n) / float64(d.most)
		}
		_, again := source(blocks)
		return d.fill(render(d.syntax, again))
	}}
	var pieces []string
	for len(blocks) > 0 {
		head, rest := c.take(blocks)
		if len(head) == 0 {
			// Not reached while a limit has room for one character in the deepest nesting; it keeps the promise that
			// every round consumes something.
			head, rest = blocks[:1], blocks[1:]
		}
		piece, _ := source(head)
		pieces = append(pieces, piece)
		blocks = rest
	}
	return pieces
}

// cutter takes the beginning off a document. Inside a nested block its fill includes all that is around and before it.
type cutter struct {
	fill func([]block) float64
}

func (c cutter) fits(blocks ...block) bool { return c.fill(blocks) <= 1 }

// inside is a cutter for the content of a block that wrap puts its marks around.
func (c cutter) inside(wrap func([]block) []block) cutter {
	return cutter{func(blocks []block) float64 { return c.fill(wrap(blocks)) }}
}

// take returns as many blocks as fit, and the rest. The last of them may be a part of a block: if nothing fits otherwise,
// or if the block is too long for any piece and this one is less than half full. An empty head means that nothing fits.
func (c cutter) take(blocks []block) (head, rest []block) {
	n := longest(len(blocks), func(n int) bool { return c.fits(blocks[:n]...) })
	if n == len(blocks) {
		return blocks, nil
	}
	before := blocks[:n]
	if n == 0 || c.fill(before) < 0.5 && !c.fits(blocks[n]) {
		after := c.inside(func(b []block) []block { return slices.Concat(before, b) })
		if part, remainder := after.divide(blocks[n]); len(part) > 0 {
			return slices.Concat(before, part), slices.Concat(remainder, blocks[n+1:])
		}
	}
	n = keepWithNext(blocks, n)
	return blocks[:n], blocks[n:]
}

// keepWithNext moves the cut before block n up, so that no piece ends in a heading or a line that announces what follows,
// unless nothing would be left.
func keepWithNext(blocks []block, n int) int {
	for i := n; i > 0; i-- {
		if !announces(blocks[i-1]) {
			return i
		}
	}
	return n
}

func announces(b block) bool {
	switch b := b.(type) {
	case heading:
		return true
	case paragraph:
		s := flat(b.spans)
		return len(s) < 200 && (strings.HasSuffix(s, ":") || strings.HasSuffix(s, "："))
	}
	return false
}

// divide cuts a block that does not fit as a whole. An empty head means that no part of it fits.
func (c cutter) divide(b block) (head, rest []block) {
	switch b := b.(type) {
	case paragraph:
		return c.divideText(b.spans, func(s []span) block { return paragraph{s} })
	case heading:
		return c.divideText(b.spans, func(s []span) block { return heading{b.level, s} })
	case codeBlock:
		return c.divideCode(b)
	case quote:
		head, rest = c.inside(func(inner []block) []block { return []block{quote{inner}} }).take(b.blocks)
		if len(head) == 0 {
			return nil, []block{b}
		}
		return []block{quote{head}}, []block{quote{rest}}
	case list:
		return c.divideList(b)
	case table:
		return c.divideTable(b)
	}
	return nil, []block{b}
}

// divideList cuts between items, or inside the first one, whose rest then stands without a marker: it has been shown.
func (c cutter) divideList(l list) (head, rest []block) {
	from := func(n int) list {
		l := l
		l.start, l.items = l.start+n, l.items[n:]
		return l
	}
	first := func(items ...item) list {
		l := l
		l.items = items
		return l
	}
	n := longest(len(l.items), func(n int) bool { return c.fits(first(l.items[:n]...)) })
	if n > 0 {
		return []block{first(l.items[:n]...)}, []block{from(n)}
	}
	it := l.items[0]
	wrap := func(b []block) []block { return []block{first(item{it.task, b})} }
	part, remainder := c.inside(wrap).take(it.blocks)
	if len(part) == 0 {
		return nil, []block{l}
	}
	if len(l.items) > 1 {
		remainder = slices.Concat(remainder, []block{from(1)})
	}
	return wrap(part), remainder
}

// divideTable cuts between rows and repeats the header. A table with a row that no piece can hold becomes text.
func (c cutter) divideTable(t table) (head, rest []block) {
	first := func(n int) table {
		t := t
		t.rows = t.rows[:n]
		return t
	}
	n := longest(len(t.rows), func(n int) bool { return c.fits(first(n)) })
	if n == 0 {
		return c.take(t.paragraphs())
	}
	head = []block{first(n)}
	t.rows, t.continued = t.rows[n:], true
	return head, []block{t}
}

// longest is the largest n up to limit for which fits holds, 0 if there is none. It takes fits to hold below that, and
// asks about n in growing steps first, since what fits is mostly far smaller than the limit.
func longest(limit int, fits func(n int) bool) int {
	low, high := 0, 1 // low fits, high does not or has not been asked
	for high <= limit && fits(high) {
		low, high = high, high*2
	}
	high = min(high, limit+1)
	for high-low > 1 {
		if mid := (low + high) / 2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
