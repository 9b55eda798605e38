package slack

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// drawing turns mrkdwn into what a person reads and into safe HTML for the lab page: bold, italics, strikes, code,
// fences, quotes, links, mentions and the three entities. What does not form a mark stays as it is.
type drawing struct {
	visible, html strings.Builder
	name          func(user string) string
	channel       func(id string) string
}

// drawing starts one. The lock is held, also while it draws.
func (s *Server) drawing() *drawing {
	return &drawing{
		name: s.nameOf,
		channel: func(id string) string {
			if c := s.chats[id]; c != nil && c.Title != "" {
				return c.Title
			}
			return id
		},
	}
}

// put writes plain text.
func (d *drawing) put(s string) {
	d.visible.WriteString(s)
	d.html.WriteString(strings.ReplaceAll(html.EscapeString(s), "\n", "<br>"))
}

// wrap writes an HTML element around what write draws.
func (d *drawing) wrap(tag string, write func()) {
	name, _, _ := strings.Cut(tag, " ")
	d.html.WriteString("<" + tag + ">")
	write()
	d.html.WriteString("</" + name + ">")
}

// text draws a text object.
func (d *drawing) text(s string, formatted bool) {
	if !formatted {
		d.literal(s)
		return
	}
	for s != "" {
		before, rest, found := strings.Cut(s, "```")
		code, after, closed := strings.Cut(rest, "```")
		if !found || !closed || strings.TrimSpace(code) == "" {
			d.lines(s)
			return
		}
		d.lines(before)
		code = strings.TrimSuffix(strings.TrimPrefix(code, "\n"), "\n")
		d.wrap("pre", func() { d.pre(code) })
		s = after
	}
}

// pre draws the content of a fence: line breaks stay line breaks.
func (d *drawing) pre(code string) {
	inner := &drawing{name: d.name, channel: d.channel}
	inner.literal(code)
	d.visible.WriteString(inner.visible.String())
	d.html.WriteString(html.EscapeString(inner.visible.String()))
}

// lines draws text outside fences; lines that begin with > are quotes.
func (d *drawing) lines(s string) {
	all := strings.Split(s, "\n")
	for i := 0; i < len(all); i++ {
		if i > 0 {
			d.put("\n")
		}
		line, quoted := unquote(all[i])
		if !quoted {
			d.spans(line)
			continue
		}
		d.wrap("blockquote", func() {
			d.spans(line)
			for i+1 < len(all) {
				next, ok := unquote(all[i+1])
				if !ok {
					return
				}
				i++
				d.put("\n")
				d.spans(next)
			}
		})
	}
}

func unquote(line string) (string, bool) {
	for _, mark := range []string{"&gt;", ">"} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimPrefix(rest, " "), true
		}
	}
	return line, false
}

// styleOf is the HTML element of a style mark, empty for other characters.
func styleOf(mark byte) string {
	switch mark {
	case '*':
		return "b"
	case '_':
		return "i"
	case '~':
		return "s"
	}
	return ""
}

// spans draws one line.
func (d *drawing) spans(s string) {
	last := ' '
	for s != "" {
		if n := d.special(s); n > 0 {
			last, s = 'x', s[n:]
			continue
		}
		if tag := styleOf(s[0]); tag != "" && boundary(last) {
			if inner, n := styled(s); n > 0 {
				d.wrap(tag, func() { d.spans(inner) })
				last, s = ' ', s[n:]
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(s)
		d.put(s[:n])
		last, s = r, s[n:]
	}
}

// special draws a code span, a token in angle brackets or an entity at the start of s, and returns its length.
func (d *drawing) special(s string) int {
	switch s[0] {
	case '`':
		if end := strings.IndexByte(s[1:], '`'); end > 0 && strings.TrimSpace(s[1:1+end]) != "" {
			d.wrap("code", func() { d.literal(s[1 : 1+end]) })
			return end + 2
		}
	case '<':
		if end := strings.IndexByte(s, '>'); end > 1 {
			d.token(s[1:end])
			return end + 1
		}
	case '&':
		for entity, r := range map[string]string{"&amp;": "&", "&lt;": "<", "&gt;": ">"} {
			if strings.HasPrefix(s, entity) {
				d.put(r)
				return len(entity)
			}
		}
	}
	return 0
}

// literal draws text without styles; tokens and entities are resolved everywhere.
func (d *drawing) literal(s string) {
	for s != "" {
		if s[0] != '`' {
			if n := d.special(s); n > 0 {
				s = s[n:]
				continue
			}
		}
		_, n := utf8.DecodeRuneInString(s)
		d.put(s[:n])
		s = s[n:]
	}
}

// styled returns what a style mark at the start of s encloses, and the length with both marks; 0 if nothing closes it.
func styled(s string) (inner string, length int) {
	mark := s[0]
	first, _ := utf8.DecodeRuneInString(s[1:])
	if len(s) < 3 || unicode.IsSpace(first) || s[1] == mark {
		return "", 0
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '`', '<': // marks inside code and links do not close
			end := map[byte]byte{'`': '`', '<': '>'}[s[i]]
			if n := strings.IndexByte(s[i+1:], end); n >= 0 {
				i += n + 1
			}
		case mark:
			before, _ := utf8.DecodeLastRuneInString(s[:i])
			after, _ := utf8.DecodeRuneInString(s[i+1:])
			if i > 1 && !unicode.IsSpace(before) && (i+1 == len(s) || boundary(after)) {
				return s[1:i], i + 1
			}
		}
	}
	return "", 0
}

// boundary tells whether a mark may stand next to a character.
func boundary(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }

var dateToken = regexp.MustCompile(`^!date\^[^|]*\|(.*)$`)

// token draws what stands in angle brackets: a mention, a channel, a broadcast, a date, or a link.
func (d *drawing) token(s string) {
	target, label, labelled := strings.Cut(s, "|")
	switch {
	case strings.HasPrefix(s, "@"):
		d.wrap("b", func() { d.put("@" + d.name(target[1:])) })
	case strings.HasPrefix(s, "#"):
		if label == "" {
			label = d.channel(target[1:])
		}
		d.wrap("b", func() { d.put("#" + label) })
	case dateToken.MatchString(s):
		d.literal(dateToken.FindStringSubmatch(s)[1])
	case strings.HasPrefix(s, "!"):
		if !labelled {
			label = "@" + target[1:]
		}
		d.wrap("b", func() { d.put(label) })
	default:
		if !labelled {
			label = target
		}
		address := (&drawing{name: d.name, channel: d.channel}).plainText(target)
		if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "mailto:") {
			d.wrap(`a href="`+html.EscapeString(address)+`" rel="noopener noreferrer"`, func() { d.literal(label) })
			return
		}
		d.literal(label)
	}
}

func (d *drawing) plainText(s string) string {
	d.literal(s)
	return d.visible.String()
}
