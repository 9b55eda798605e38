package markup

import "strings"

// ahead is what follows the span that is being written: the rest of its own spans, then what follows those.
type ahead struct {
	spans []span
	outer *ahead
}

// line is the text up to the end of the line, with the markers that mrkdwn puts around styles and code.
func (a *ahead) line() string {
	var b strings.Builder
	for ; a != nil; a = a.outer {
		if !writeAhead(&b, a.spans) {
			break
		}
	}
	return b.String()
}

// writeAhead reports whether the line goes on.
func writeAhead(b *strings.Builder, spans []span) bool {
	for _, s := range spans {
		switch s := s.(type) {
		case lineBreak:
			return false
		case text:
			b.WriteString(string(s))
		case codeSpan:
			b.WriteString("`" + string(s) + "`")
		case styled:
			marker := slackMarker(s.style)
			b.WriteString(marker)
			writeAhead(b, s.spans) // has no line breaks
			b.WriteString(marker)
		case link:
			b.WriteString(s.label())
		}
	}
	return true
}
