package markup

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// discord is Discord's own Markdown: lists, three levels of headings, fences with a language, backslash escapes, no
// tables and no rules. Mentions work anywhere in the text and cannot be escaped there, so they are broken up with a zero
// width space, in code too.
type discord struct{ chatSyntax }

var quiet = strings.NewReplacer("@everyone", "@"+zeroWidth+"everyone", "@here", "@"+zeroWidth+"here", "<@", "<@"+zeroWidth)

func (discord) text(w *writer, s string, _ rune) {
	for _, r := range quiet.Replace(s) {
		if strings.ContainsRune("\\*_~`|[]<", r) || startsBlock(w, r) {
			w.WriteByte('\\')
		}
		w.WriteRune(r)
	}
}

// startsBlock tells that r, written now, would make a heading, a quote or a list of the line.
func startsBlock(w *writer, r rune) bool {
	line := w.lead()
	if line == "" {
		return strings.ContainsRune("#>-+", r)
	}
	return r == '.' && strings.Trim(line, "0123456789") == ""
}

func (discord) codeSpan(w *writer, s string, _ rune) {
	s = quiet.Replace(s)
	if !strings.Contains(s, "`") {
		w.enclosed("`", func() { w.WriteString(s) })
		return
	}
	s = strings.ReplaceAll(s, "``", "`"+zeroWidth+"`") // which would end it
	w.enclosed("``", func() { w.WriteString(" " + s + " ") })
}

func (discord) styled(w *writer, s styled, next rune) {
	marker := [...]string{strong: "**", emphasis: "*", strike: "~~"}[s.style]
	if s.style == emphasis && !isWord(w.last()) && !isWord(next) {
		marker = "_" // cannot be confused with the markers of strong
	}
	if w.active&s.style != 0 || marker == "*" && touchesStrong(s) {
		w.spans(s.spans, next)
		return
	}
	if last := w.last(); last == rune(marker[0]) && w.Len() == w.closed {
		w.WriteString(zeroWidth)
	}
	w.enclosed(marker, func() {
		w.on(s.style, func() { w.spans(s.spans, 0) })
	})
}

// touchesStrong tells that a style's content begins or ends in strong text, whose stars would run into those outside.
func touchesStrong(s styled) bool {
	for _, i := range []int{0, len(s.spans) - 1} {
		if inner, ok := s.spans[i].(styled); ok && inner.style == strong {
			return true
		}
	}
	return false
}

// link masks web addresses only, as Discord does, and not behind a label that looks like another address, which Discord
// refuses.
func (d discord) link(w *writer, l link, next rune) {
	label := l.label()
	web := strings.HasPrefix(strings.ToLower(l.url), "http")
	address := discordURL(l.url, w.active != 0)
	switch {
	case !web:
		d.text(w, flat(l.spelledOut()), next)
	case l.bare():
		d.address(w, address, next)
	case strings.Contains(label, "://"):
		d.text(w, label+" (", 0)
		d.address(w, address, ')')
		d.text(w, ")", next)
	default:
		w.WriteByte('[')
		w.spans(l.spans, 0)
		w.WriteString("](" + address + ")")
	}
}

// address writes a visible address, in angle brackets (which also stop the preview) where its end would be unclear.
func (discord) address(w *writer, address string, next rune) {
	clear := func(r rune) bool { return r == 0 || unicode.IsSpace(r) }
	end := rune(address[len(address)-1])
	if w.active == 0 && clear(w.last()) && clear(next) && (isWord(end) || end == '/') {
		w.WriteString(address)
		return
	}
	w.WriteString("<" + address + ">")
}

// discordURL escapes what Discord's parser would look at inside an address.
func discordURL(address string, styled bool) string {
	special := "()[]"
	if styled {
		special += "*_~"
	}
	var b strings.Builder
	for i, r := range address {
		ping := r == '@' && (strings.HasPrefix(address[i:], "@everyone") || strings.HasPrefix(address[i:], "@here"))
		if ping || strings.ContainsRune(special, r) {
			fmt.Fprintf(&b, "%%%02X", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// heading has three native levels, which count at the start of a line only.
func (discord) heading(w *writer, h heading) {
	if h.level > 3 || w.lists > 0 || w.quoted > 1 {
		w.spans([]span{styled{strong, h.spans}}, 0)
		return
	}
	w.WriteString(strings.Repeat("#", h.level) + " ")
	w.spans(h.spans, 0)
}

// discordLanguage is what Discord accepts as a language after a fence; anything else would become part of the code.
var discordLanguage = regexp.MustCompile(`^[A-Za-z0-9_+\-.#]+$`)

func (discord) code(w *writer, c codeBlock) {
	w.WriteString("```")
	if discordLanguage.MatchString(c.language) {
		w.WriteString(c.language)
	}
	w.newline()
	w.raw(quiet.Replace(bareFence(c.text)))
	w.newline()
	w.WriteString("```")
}

func (d discord) table(w *writer, t table) { d.code(w, codeBlock{text: t.aligned()}) }

// quote has one level; the marks of an inner quote are seen as text.
func (discord) quote(w *writer, q quote) { w.quote(q, "> ") }

func (discord) marker(w *writer, l list, i int) (marker, box string) {
	box = boxes[l.items[i].task]
	if l.ordered {
		return fmt.Sprintf("%d. ", l.start+i), box
	}
	return "- ", box
}
