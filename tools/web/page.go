package web

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

const (
	partSize = 20_000    // characters of a page that one call returns
	maxText  = 1_000_000 // characters of a page that can be read at all
	maxHTML  = 2 << 20   // bytes of a page that is taken apart, which cannot be stopped half-way
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
func newPage(ctx context.Context, f fetched, full bool) (page, error) {
	p := page{address: f.url.String(), cut: f.cut}
	switch {
	case f.media == "application/pdf" && f.cut:
		return p, refusal(fmt.Sprintf("It is a PDF of more than %d MiB, which is too large to be read.", maxBody>>20))
	case f.media == "application/pdf":
		return p.ofPDF(ctx, f.body)
	case !isText(f.media):
		return p, refusal(fmt.Sprintf("It is no text but %s, which cannot be read here.", f.media))
	}
	isHTML := f.media == "text/html" || f.media == "application/xhtml+xml"
	if isHTML && len(f.body) > maxHTML {
		f.body, p.cut = f.body[:maxHTML], true
	}
	text := decode(f.body, f.declared)
	if isHTML {
		a, err := readHTML(text, f.url, full)
		if err != nil {
			return p, refusal("The page is so badly made that it cannot be read.")
		}
		p.title, p.byline, text = a.title, a.byline, a.text
	}
	p.setText(text)
	return p, nil
}

func (p *page) setText(text string) {
	p.text = []rune(strings.TrimSpace(text))
	if len(p.text) > maxText {
		p.text, p.cut = p.text[:maxText], true
	}
}

// ofPDF is the page that a PDF makes.
func (p page) ofPDF(ctx context.Context, body []byte) (page, error) {
	t, err := readPDF(ctx, body)
	switch {
	case ctx.Err() != nil:
		return p, context.Cause(ctx)
	case err != nil:
		return p, refusal("It is a PDF that cannot be read: it is broken, needs a password, or takes too long.")
	case strings.TrimSpace(t.text) == "":
		return p, refusal("It is a PDF without text; its pages may be pictures.")
	}
	p.byline, p.cut = fmt.Sprintf("PDF, %d pages", t.pages), t.read < t.pages
	if p.cut {
		p.byline += fmt.Sprintf(", of which %d could be read", t.read)
	}
	p.setText(t.text)
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
