package discord

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// namer gives the name that a mention ("@"), a role ("@&") or a channel ("#") with this id shows, "" if unknown.
type namer func(kind, id string) string

// resolve draws Discord's Markdown: visible is the text as a person reads it, with marks and escapes gone; page is safe
// HTML of it.
func resolve(source string, name namer) (visible, page string) {
	d := drawing{name: name}
	d.blocks(source)
	return strings.TrimSuffix(d.visible.String(), "\n"), strings.TrimSuffix(d.page.String(), "<br>")
}

// drawing writes the two forms of a text side by side.
type drawing struct {
	visible, page strings.Builder
	name          namer
}

// say writes text that both forms show.
func (d *drawing) say(t string) {
	d.visible.WriteString(t)
	d.page.WriteString(strings.ReplaceAll(html.EscapeString(t), "\n", "<br>"))
}

// wrap draws something between two tags.
func (d *drawing) wrap(open, close string, draw func()) {
	d.page.WriteString(open)
	draw()
	d.page.WriteString(close)
}

var (
	headingLine = regexp.MustCompile(`^#{1,3} +`)
	subtextLine = regexp.MustCompile(`^-# +`)
	bulletLine  = regexp.MustCompile(`^( *)[-*] +`)
	fence       = regexp.MustCompile("(?s)^```(?:([A-Za-z0-9_+.#-]+)\n)?\n?(.+?)\n?```")
)

// blocks draws line by line: fences, quotes, headings, lists, plain lines.
func (d *drawing) blocks(source string) {
	for source != "" {
		if f := fence.FindStringSubmatch(source); f != nil {
			d.pre(f[2])
			source = strings.TrimPrefix(source[len(f[0]):], "\n")
			continue
		}
		if rest, ok := strings.CutPrefix(source, ">>> "); ok {
			d.wrap("<blockquote>", "</blockquote>", func() { d.blocks(rest) })
			return
		}
		if strings.HasPrefix(source, "> ") || source == ">" || strings.HasPrefix(source, ">\n") {
			source = d.quote(source)
			continue
		}
		source = d.line(source)
	}
}

func (d *drawing) pre(code string) {
	d.visible.WriteString(code + "\n")
	d.page.WriteString("<pre>" + html.EscapeString(code) + "</pre>")
}

// quote draws the lines that begin with "> " as one quote and returns what follows.
func (d *drawing) quote(source string) string {
	var quoted []string
	for source != "" {
		line, rest, _ := strings.Cut(source, "\n")
		inner, ok := strings.CutPrefix(line, "> ")
		if !ok && line != ">" {
			break
		}
		quoted = append(quoted, strings.TrimPrefix(inner, ">"))
		source = rest
	}
	d.wrap("<blockquote>", "</blockquote>", func() { d.blocks(strings.Join(quoted, "\n")) })
	d.visible.WriteString("\n")
	return source
}

// line draws one line; spans may go on over the following lines, so the text up to the next block is taken at once.
func (d *drawing) line(source string) string {
	end := nextBlock(source)
	text, rest := source[:end], source[end:]
	switch {
	case headingLine.MatchString(text):
		d.wrap("<b>", "</b>", func() { d.inline(strings.TrimSuffix(headingLine.ReplaceAllString(text, ""), "\n")) })
		d.say("\n")
	case subtextLine.MatchString(text):
		d.inline(subtextLine.ReplaceAllString(text, ""))
	case bulletLine.MatchString(text):
		m := bulletLine.FindStringSubmatch(text)
		d.say(m[1] + "• ")
		d.inline(text[len(m[0]):])
	default:
		d.inline(text)
	}
	return rest
}

// nextBlock returns where the paragraph at the beginning of the source ends: before a line that begins a block.
func nextBlock(source string) int {
	single := headingLine.MatchString(source) || subtextLine.MatchString(source) || bulletLine.MatchString(source)
	for at := 0; at < len(source); {
		nl := strings.IndexByte(source[at:], '\n')
		fenced := strings.Index(source[at:], "```")
		if fenced > 0 && (nl < 0 || fenced < nl) && fence.MatchString(source[at+fenced:]) {
			return at + fenced
		}
		if nl < 0 {
			return len(source)
		}
		at += nl + 1
		if single || beginsBlock(source[at:]) {
			return at
		}
	}
	return len(source)
}

func beginsBlock(s string) bool {
	return strings.HasPrefix(s, "> ") || strings.HasPrefix(s, ">>> ") || strings.HasPrefix(s, ">\n") || headingLine.MatchString(s) ||
		subtextLine.MatchString(s) || bulletLine.MatchString(s) || fence.MatchString(s)
}

// spans are the inline marks, longest first.
var spans = []struct{ mark, open, close string }{
	{"***", "<b><i>", "</i></b>"},
	{"**", "<b>", "</b>"},
	{"__", "<u>", "</u>"},
	{"~~", "<s>", "</s>"},
	{"||", `<span class="spoiler">`, "</span>"},
	{"*", "<i>", "</i>"},
	{"_", "<i>", "</i>"},
}

var (
	codeSpan   = regexp.MustCompile("^(`+)")
	maskedLink = regexp.MustCompile(`^\[((?:\\.|[^\]\\])+)\]\(<?(https?://(?:\\.|[^\s()<>\\]|\([^\s()]*\))+)>?\)`)
	plainLink  = regexp.MustCompile(`^https?://[^\s<>]+[^\s<>.,;:!?"')\]]`)
	autoLink   = regexp.MustCompile(`^<(https?://[^\s<>]+)>`)
	reference  = regexp.MustCompile(`^<(@!?|@&|#)([A-Za-z0-9]+)>`)
	emoji      = regexp.MustCompile(`^<a?:(\w+):\d+>`)
)

// inline draws the spans of a paragraph.
func (d *drawing) inline(s string) {
	for s != "" {
		n := d.special(s)
		if n == 0 {
			n = d.span(s)
		}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(s)
			// A word is taken whole, so that marks inside it are looked at only where they may begin.
			for n < len(s) && isWord(s[n-1]) && isWord(s[n]) && !strings.HasPrefix(s[n:], "http") {
				n++
			}
			d.say(s[:n])
		}
		s = s[n:]
	}
}

func isWord(b byte) bool {
	return b >= 0x80 || unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b))
}

// special draws what is not a pair of marks and returns how many bytes it took, 0 if there is no such thing here.
func (d *drawing) special(s string) int {
	switch s[0] {
	case '\\':
		if len(s) > 1 && s[1] < 0x80 && (unicode.IsPunct(rune(s[1])) || unicode.IsSymbol(rune(s[1]))) {
			d.say(s[1:2])
			return 2
		}
	case '`':
		return d.code(s)
	case '[':
		if m := maskedLink.FindStringSubmatch(s); m != nil {
			d.wrap(`<a href="`+html.EscapeString(unescape(m[2]))+`">`, "</a>", func() { d.inline(m[1]) })
			return len(m[0])
		}
	case 'h':
		if m := plainLink.FindString(s); m != "" {
			d.wrap(`<a href="`+html.EscapeString(m)+`">`, "</a>", func() { d.say(m) })
			return len(m)
		}
	case '<':
		return d.angle(s)
	}
	return 0
}

func (d *drawing) code(s string) int {
	mark := codeSpan.FindString(s)
	end := strings.Index(s[len(mark):], mark)
	if end <= 0 {
		d.say(mark)
		return len(mark)
	}
	code := s[len(mark) : len(mark)+end]
	if len(mark) > 1 {
		code = strings.TrimSuffix(strings.TrimPrefix(code, " "), " ")
	}
	d.wrap("<code>", "</code>", func() { d.say(code) })
	return end + 2*len(mark)
}

// angle draws what stands in angle brackets: links without preview, mentions, custom emoji.
func (d *drawing) angle(s string) int {
	if m := autoLink.FindStringSubmatch(s); m != nil {
		d.wrap(`<a href="`+html.EscapeString(m[1])+`">`, "</a>", func() { d.say(m[1]) })
		return len(m[0])
	}
	if m := reference.FindStringSubmatch(s); m != nil {
		kind := strings.TrimSuffix(m[1], "!")
		sign := kind[:1]
		name := d.name(kind, m[2])
		if name == "" {
			name = "unknown"
		}
		d.say(sign + name)
		return len(m[0])
	}
	if m := emoji.FindStringSubmatch(s); m != nil {
		d.say(":" + m[1] + ":")
		return len(m[0])
	}
	return 0
}

// span draws a pair of marks and returns how many bytes it took.
func (d *drawing) span(s string) int {
	for _, p := range spans {
		if !strings.HasPrefix(s, p.mark) {
			continue
		}
		end := closing(s[len(p.mark):], p.mark)
		if end < 0 {
			continue
		}
		inner := s[len(p.mark) : len(p.mark)+end]
		d.wrap(p.open, p.close, func() { d.inline(inner) })
		return end + 2*len(p.mark)
	}
	return 0
}

// closing returns where the closing mark is in s, -1 if there is none. A single star needs a text that does not begin
// or end with a space; an underscore closes only at the end of a word.
func closing(s, mark string) int {
	if s == "" || (mark == "*" && unicode.IsSpace(rune(s[0]))) {
		return -1
	}
	for at := 0; at < len(s); {
		switch {
		case s[at] == '\\' && at+1 < len(s):
			at += 2
			continue
		case s[at] == '`':
			at += codeLength(s[at:])
			continue
		case !strings.HasPrefix(s[at:], mark):
			at++
			continue
		}
		run := len(s[at:]) - len(strings.TrimLeft(s[at:], mark[:1]))
		after := s[at+len(mark):]
		switch {
		case at == 0,
			run > len(mark) && len(mark) == 1 && run%2 == 0, // the inner marks of another span
			mark == "*" && unicode.IsSpace(rune(s[at-1])),
			mark == "_" && after != "" && isWord(after[0]):
			at += run
		default:
			return at + run - min(run, len(mark))
		}
	}
	return -1
}

// codeLength returns the length of the code span at the beginning of s, or of its mark if it does not close.
func codeLength(s string) int {
	mark := codeSpan.FindString(s)
	if end := strings.Index(s[len(mark):], mark); end > 0 {
		return end + 2*len(mark)
	}
	return len(mark)
}

// unescape removes backslashes before punctuation.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
