// Package markup turns the Markdown that a model writes into the formatting of a chat platform.
//
// A source is parsed once, by goldmark, into a small document tree (document.go, parse.go). Each [Dialect] writes that
// tree in its own syntax; no output is ever searched or patched afterwards. Splitting happens before rendering: the tree
// is cut into pieces, and each piece is written back as Markdown of its own (markdown.go), so that a piece can be stored,
// rendered again after a restart, or read as plain text. The length of a piece is always that of its rendered form,
// measured by the one function of its dialect.
//
// Everything here is a pure function of its input: no goroutines, no state, safe for concurrent use. It never fails, it
// never drops text, and it never lets a model's text become a mention that pings people.
package markup

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Dialect is the formatting of one platform: how a document is written there, and how much of it a message can hold. The
// zero value is not usable; get one from [Telegram], [Slack] or [Discord].
type Dialect struct {
	syntax syntax
	// fill is the share of a message's limit that a rendered text takes; over 1 is too long.
	fill func(wire string) float64
	// most is the number of bytes that no rendered text within the limit can exceed.
	most int
}

// Telegram is the HTML parse mode of the Bot API. A message holds 4,096 characters after entity parsing and 32,768 bytes
// before. The server counts code points; we count UTF-16 units, which can only be more, as clients do.
func Telegram() Dialect {
	return Dialect{telegram{}, func(wire string) float64 {
		return max(float64(visibleUnits(wire))/4096, float64(len(wire))/32768)
	}, 32768}
}

// Slack is mrkdwn in the text field. chat.update refuses more than 4,000 bytes, so that is the limit of every message;
// 3,900 leaves room for the caller's own marks.
func Slack() Dialect {
	return Dialect{slack{}, func(wire string) float64 { return float64(len(wire)) / 3900 }, 3900}
}

// Discord is Discord's Markdown. A message holds 2,000 code points of raw text, markers and escapes included, whatever
// number an error message may name.
func Discord() Dialect {
	return Dialect{discord{}, func(wire string) float64 { return float64(utf8.RuneCountInString(wire)) / 2000 }, 2000 * utf8.UTFMax}
}

// Render is the wire text of a source that fits into one message. It accepts any input; what is not Markdown comes out as
// escaped text. It is empty only if the source has nothing to show.
func (d Dialect) Render(source string) string {
	return render(d.syntax, parse(source))
}

// Fits tells whether the rendered source is within the limit of one message.
func (d Dialect) Fits(source string) bool {
	return d.fill(d.Render(source)) <= 1
}

// Plain is the source's text without markup, for notifications and for platforms that refused the formatted text. Links
// keep their address in brackets, lists their markers, tables their cells.
func Plain(source string) string {
	return render(plain{}, parse(source))
}

// clean makes a source safe to parse and to send: valid UTF-8, "\n" line ends, no control characters.
func clean(source string) string {
	source = strings.ToValidUTF8(source, "\uFFFD")
	source = strings.ReplaceAll(source, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r == '\v' || r == '\f' || r == '\u0085':
			return ' '
		case r == '\n' || r == '\t' || !unicode.IsControl(r):
			return r
		}
		return -1
	}, source)
}
