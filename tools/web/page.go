package web

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	partSize = 20_000    // characters of a page that one call returns
	maxText  = 1_000_000 // characters of a page that can be read at all
)

// page is a page as text.
type page struct {
	address string // where it was found
	title   string
	byline  string
	text    []rune
	cut     bool // it goes on, but not here
}

// newPage makes a page of what was fetched. A refusal says why that cannot be read.
func newPage(f fetched, full bool) (page, error) {
	p := page{address: f.url.String(), cut: f.cut}
	switch {
	case f.media == "application/pdf":
		return p, refusal("It is a PDF, which cannot be read here.")
	case !isText(f.media):
		return p, refusal(fmt.Sprintf("It is no text but %s, which cannot be read here.", f.media))
	}
	text := decode(f.body, f.declared)
	if f.media == "text/html" || f.media == "application/xhtml+xml" {
		a, err := readHTML(text, f.url, full)
		if err != nil {
			return p, refusal("The page is so badly made that it cannot be read.")
		}
		p.title, p.byline, text = a.title, a.byline, a.text
	}
	p.text = []rune(strings.TrimSpace(text))
	if len(p.text) > maxText {
		p.text, p.cut = p.text[:maxText], true
	}
	return p, nil
}

// head is what stands above the text.
func (p page) head() string {
	var b strings.Builder
	if p.title != "" {
		fmt.Fprintf(&b, "# %s\n", p.title)
	}
	b.WriteString(p.address)
	if p.byline != "" {
		b.WriteString("\n" + p.byline)
	}
	return b.String() + "\n\n"
}

// part returns the part that begins at a character, and says how to read on.
func (p page) part(offset int) string {
	end := p.partEnd(offset)
	text := p.head() + string(p.text[offset:end])
	switch {
	case end < len(p.text):
		return fmt.Sprintf("%s\n\n[characters %d to %d of %d; read on with offset %d]", text, offset, end, len(p.text), end)
	case p.cut:
		return fmt.Sprintf("%s\n\n[characters %d to %d; the page goes on, but no more of it can be read]", text, offset, end)
	case offset > 0:
		return fmt.Sprintf("%s\n\n[characters %d to %d; this is the end]", text, offset, end)
	}
	return text
}

// partEnd returns where a part ends: behind a line or a word if there is one in its last quarter.
func (p page) partEnd(offset int) int {
	end := offset + partSize
	if end >= len(p.text) {
		return len(p.text)
	}
	for _, is := range []func(rune) bool{func(r rune) bool { return r == '\n' }, unicode.IsSpace} {
		for i := end; i > end-partSize/4; i-- {
			if is(p.text[i-1]) {
				return i
			}
		}
	}
	return end
}
