package markup

import (
	"strings"
	"unicode"
)

// slack is mrkdwn. It has no escapes but for & < and >, and its markers count only next to characters that are no part of
// a word. Two uses of the zero width space, which Slack takes for such a character, answer that: outside a marker that
// touches a word, and after a marker in the text that would otherwise begin a style. A style whose text has its own
// marker in it is left out.
type slack struct{ chatSyntax }

const slackMarkers = "*_~`"

func (slack) text(w *writer, s string, next rune) {
	runes := []rune(s)
	for i, r := range runes {
		follows := next
		if i+1 < len(runes) {
			follows = runes[i+1]
		}
		marker, last := strings.ContainsRune(slackMarkers, r), w.last()
		quotes := r == '>' && w.lead() == ""
		if quotes || marker && w.Len() == w.closed {
			w.WriteString(zeroWidth)
		}
		htmlText.WriteString(w, string(r))
		if marker && (!isWord(last) || r == '`') && follows != 0 && !unicode.IsSpace(follows) {
			w.WriteString(zeroWidth)
		}
	}
}

// codeSpan falls back to text if the code has a backtick in it, for which mrkdwn has no means.
func (d slack) codeSpan(w *writer, s string, next rune) {
	if strings.Contains(s, "`") {
		d.text(w, s, next)
		return
	}
	d.marked(w, "`", next, func() { htmlText.WriteString(w, s) })
}

func (d slack) styled(w *writer, s styled, next rune) {
	marker := [...]string{strong: "*", emphasis: "_", strike: "~"}[s.style]
	if w.active&s.style != 0 || clashes(flat(s.spans), rune(marker[0])) {
		w.spans(s.spans, next)
		return
	}
	d.marked(w, marker, next, func() {
		w.on(s.style, func() { w.spans(s.spans, 0) })
	})
}

// marked writes between two markers, set apart from a word or another span outside of them. Directly inside another
// style's markers nothing is needed.
func (slack) marked(w *writer, marker string, next rune, write func()) {
	if last := w.last(); w.Len() != w.opened && (isWord(last) || strings.ContainsRune(slackMarkers, last)) {
		w.WriteString(zeroWidth)
	}
	w.enclosed(marker, write)
	if isWord(next) {
		w.WriteString(zeroWidth)
	}
}

// clashes tells whether a marker in a text could end a style around it: it does not inside a word.
func clashes(s string, marker rune) bool {
	runes := []rune(s)
	for i, r := range runes {
		if r == marker && (i == 0 || i == len(runes)-1 || !isWord(runes[i-1]) || !isWord(runes[i+1])) {
			return true
		}
	}
	return false
}

// link has a plain label: mrkdwn shows markers in it as they are.
func (d slack) link(w *writer, l link, _ rune) {
	address := htmlText.Replace(l.url)
	if l.bare() && !strings.HasPrefix(l.url, "mailto:") {
		w.WriteString("<" + address + ">")
		return
	}
	w.WriteString("<" + address + "|" + htmlText.Replace(l.label()) + ">")
}

func (slack) heading(w *writer, h heading) {
	w.spans([]span{styled{strong, h.spans}}, 0)
}

// code has no language: mrkdwn would show it as the first line.
func (slack) code(w *writer, c codeBlock) {
	w.WriteString("```")
	w.newline()
	w.raw(htmlText.Replace(bareFence(c.text)))
	w.newline()
	w.WriteString("```")
}

// margin ends a quote, too: a fence inside one is not understood.
func (slack) margin(*writer) string { return "" }

func (d slack) table(w *writer, t table) { d.code(w, codeBlock{text: t.aligned()}) }

func (slack) quote(w *writer, q quote) { w.quote(q, "> ") }
