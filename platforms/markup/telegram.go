package markup

import (
	"strings"
	"unicode/utf16"
)

// telegram is the HTML of the Bot API: a few tags, and four character references.
type telegram struct{ chatSyntax }

var (
	htmlText      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	htmlAttribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
)

func (telegram) text(w *writer, s string, _ rune) { htmlText.WriteString(w, s) }

func (telegram) codeSpan(w *writer, s string, _ rune) {
	w.WriteString("<code>" + htmlText.Replace(s) + "</code>")
}

func (telegram) styled(w *writer, s styled, next rune) {
	if w.active&s.style != 0 { // bold in a heading
		w.spans(s.spans, next)
		return
	}
	tag := [...]string{strong: "b", emphasis: "i", strike: "s"}[s.style]
	w.WriteString("<" + tag + ">")
	w.on(s.style, func() { w.spans(s.spans, 0) })
	w.WriteString("</" + tag + ">")
}

func (telegram) link(w *writer, l link, _ rune) {
	w.WriteString(`<a href="` + htmlAttribute.Replace(l.url) + `">`)
	w.spans(l.spans, 0)
	w.WriteString("</a>")
}

func (telegram) heading(w *writer, h heading) {
	w.spans([]span{styled{strong, h.spans}}, 0)
}

func (telegram) code(w *writer, c codeBlock) {
	if c.language == "" {
		w.WriteString("<pre>")
		w.raw(htmlText.Replace(c.text))
		w.WriteString("</pre>")
		return
	}
	w.WriteString(`<pre><code class="language-` + htmlAttribute.Replace(c.language) + `">`)
	w.raw(htmlText.Replace(c.text))
	w.WriteString("</code></pre>")
}

func (t telegram) table(w *writer, tb table) { t.code(w, codeBlock{text: tb.aligned()}) }

// quote uses the platform's quotes, which cannot contain one another; an inner quote gets marks.
func (telegram) quote(w *writer, q quote) {
	if w.quoted > 1 {
		w.quote(q, "&gt; ")
		return
	}
	w.WriteString("<blockquote>")
	w.start = w.Len()
	w.blocks(q.blocks)
	w.WriteString("</blockquote>")
}

// visibleUnits counts the UTF-16 units that are left of our own HTML when its tags and references are resolved.
func visibleUnits(wire string) int {
	n := 0
	until := rune(0) // what ends the tag or reference that we are in
	for _, r := range wire {
		switch {
		case until != 0:
			if r == until {
				until = 0
			}
		case r == '<':
			until = '>'
		case r == '&':
			until = ';'
			n++
		default:
			n += utf16.RuneLen(r)
		}
	}
	return n
}
