package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// slack is mrkdwn. It has no escapes but for & < and >, and its markers count only next to characters that are no part of
// a word. A zero width space, which Slack takes for such a character, sets a marker apart from a word outside of it; it
// does not take a marker's meaning away, as `foo\u200b_\u200bbar\u200b_` is still italic. Only the fallback text of a date
// that cannot be shown does that (see literally): Slack writes it as it is. Both is what the documentation of
// github.com/yhatt/jsx-slack found ("About escape and exact mode"). A style whose text has its own marker in it is left
// out.
type slack struct{ chatSyntax }

const slackMarkers = "*_~`"

// text escapes the markers that would begin a style: those with a partner later in the line.
func (slack) text(w *writer, s string, _ rune) {
	if !strings.ContainsAny(s, slackMarkers+">") {
		htmlText.WriteString(w, s)
		return
	}
	line := []rune(s + w.ahead.line())
	closers := lastClosers(line)
	for i, r := range line[:utf8.RuneCountInString(s)] {
		marker := strings.ContainsRune(slackMarkers, r)
		opens := marker && closers[r] > i+1 && (r == '`' || (!isWord(w.last()) || w.last() == '_') && !unicode.IsSpace(line[i+1]))
		quotes := r == '>' && w.lead() == ""
		switch {
		case opens:
			w.WriteString(literally(r))
			continue
		case quotes, marker && w.Len() == w.closed:
			w.WriteString(zeroWidth)
		}
		htmlText.WriteString(w, string(r))
	}
}

// literally writes a marker that is shown and means nothing.
func literally(marker rune) string { return "<!date^00000000^{_}|" + string(marker) + ">" }

// lastClosers tells for each marker where in a line it could last end a style, or code, that begins before.
func lastClosers(line []rune) map[rune]int {
	last := map[rune]int{}
	for i, r := range line {
		if r == '`' || strings.ContainsRune(slackMarkers, r) && i > 0 && !unicode.IsSpace(line[i-1]) &&
			(i+1 == len(line) || !unicode.IsLetter(line[i+1]) && !unicode.IsDigit(line[i+1])) {
			last[r] = i
		}
	}
	return last
}

// codeSpan is text, with the backticks to be seen, if the code has a backtick in it: mrkdwn has no code that can hold one,
// and a character that only looks like it would spoil a command that somebody copies.
func (d slack) codeSpan(w *writer, s string, next rune) {
	if strings.Contains(s, "`") {
		d.text(w, s, next)
		return
	}
	d.marked(w, "`", next, func() { htmlText.WriteString(w, s) })
}

func (d slack) styled(w *writer, s styled, next rune) {
	marker := slackMarker(s.style)
	if w.active&s.style != 0 || clashes(flat(s.spans), rune(marker[0])) {
		w.spans(s.spans, next)
		return
	}
	d.marked(w, marker, next, func() {
		w.on(s.style, func() { w.spans(s.spans, 0) })
	})
}

func slackMarker(s style) string {
	return [...]string{strong: "*", emphasis: "_", strike: "~"}[s]
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
