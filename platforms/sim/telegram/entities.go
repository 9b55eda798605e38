package telegram

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// entity is a formatted or recognised stretch of a text; offset and length are UTF-16 code units.
type entity struct {
	Type     string    `json:"type"`
	Offset   int       `json:"offset"`
	Length   int       `json:"length"`
	URL      string    `json:"url,omitempty"`
	Language string    `json:"language,omitempty"`
	User     *wireUser `json:"user,omitempty"`
}

// htmlTags maps the tags that Telegram accepts to the types of their entities.
var htmlTags = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "span": "spoiler",
	"a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote", "tg-emoji": "custom_emoji",
	"tg-time": "date_time",
}

// parseHTML reads parse mode HTML as TDLib does, with its errors and their byte offsets: unknown tags and unbalanced
// ones are refused, unknown entities and attributes stay or are ignored, an impossible link loses its link.
func parseHTML(source string) (string, []entity, *refusal) {
	p := htmlParser{source: source}
	for p.at < len(source) {
		var err *refusal
		switch {
		case source[p.at] == '<' && strings.HasPrefix(source[p.at:], "</"):
			err = p.endTag()
		case source[p.at] == '<':
			err = p.startTag()
		case source[p.at] == '&':
			r, size := htmlEntity(source[p.at:])
			p.write(r)
			p.at += size
		default:
			r, size := utf8.DecodeRuneInString(source[p.at:])
			p.write(r)
			p.at += size
		}
		if err != nil {
			return "", nil, err
		}
	}
	if len(p.open) > 0 {
		return "", nil, unparsable("Can't find end tag corresponding to start tag %q", p.open[len(p.open)-1].tag)
	}
	slices.SortStableFunc(p.entities, func(a, b entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	return p.text.String(), p.entities, nil
}

// unparsable refuses a text as the real service does: with a capital letter after the colon.
func unparsable(format string, args ...any) *refusal {
	return badRequest("can't parse entities: "+format, args...)
}

type htmlParser struct {
	source   string
	at       int
	text     strings.Builder
	units    int // length of the text in UTF-16 units
	open     []openTag
	entities []entity
}

type openTag struct {
	tag, argument string
	start         int // in UTF-16 units
	textStart     int // in bytes of the text
}

func (p *htmlParser) write(r rune) {
	p.text.WriteRune(r)
	p.units += utf16.RuneLen(r)
}

func (p *htmlParser) skipSpace() {
	for p.at < len(p.source) && isSpace(p.source[p.at]) {
		p.at++
	}
}

// upTo moves to the next space or one of the stop bytes and returns what was passed.
func (p *htmlParser) upTo(stop string) string {
	from := p.at
	for p.at < len(p.source) && !isSpace(p.source[p.at]) && strings.IndexByte(stop, p.source[p.at]) < 0 {
		p.at++
	}
	return p.source[from:p.at]
}

func (p *htmlParser) startTag() *refusal {
	begin := p.at
	p.at++
	tag := strings.ToLower(p.upTo(">"))
	if p.at >= len(p.source) {
		return unparsable("Unclosed start tag at byte offset %d", begin)
	}
	if htmlTags[tag] == "" {
		return unparsable("Unsupported start tag \"%s\" at byte offset %d", tag, begin)
	}
	argument := ""
	for {
		p.skipSpace()
		if p.at >= len(p.source) {
			return unparsable("Unclosed start tag at byte offset %d", begin)
		}
		if p.source[p.at] == '>' {
			break
		}
		name, value, err := p.attribute(tag, begin)
		if err != nil {
			return err
		}
		argument = tagArgument(tag, strings.ToLower(name), value, argument)
	}
	p.at++
	if tag == "span" && argument != "spoiler" {
		return unparsable("Tag \"span\" must have class \"tg-spoiler\" at byte offset %d", begin)
	}
	p.open = append(p.open, openTag{tag: tag, argument: argument, start: p.units, textStart: p.text.Len()})
	return nil
}

// attribute reads name, name=value, name="value" or name='value'.
func (p *htmlParser) attribute(tag string, begin int) (name, value string, err *refusal) {
	name = p.upTo("=>")
	if name == "" {
		return "", "", unparsable("Empty attribute name in the tag \"%s\" at byte offset %d", tag, begin)
	}
	p.skipSpace()
	if p.at < len(p.source) && p.source[p.at] != '=' {
		return name, "", nil
	}
	p.at++
	p.skipSpace()
	if p.at >= len(p.source) {
		return "", "", unparsable("Unclosed start tag \"%s\" at byte offset %d", tag, begin)
	}
	quote := p.source[p.at]
	if quote != '"' && quote != '\'' {
		token := p.at
		for p.at < len(p.source) && isToken(p.source[p.at]) {
			p.at++
		}
		if p.at < len(p.source) && !isSpace(p.source[p.at]) && p.source[p.at] != '>' {
			return "", "", unparsable("Unexpected end of name token at byte offset %d", token)
		}
		return name, strings.ToLower(p.source[token:p.at]), nil
	}
	var b strings.Builder
	for p.at++; p.at < len(p.source) && p.source[p.at] != quote; {
		r, size := htmlEntity(p.source[p.at:])
		b.WriteRune(r)
		p.at += size
	}
	p.at++
	return name, b.String(), nil
}

// tagArgument picks the one attribute that means something in a tag.
func tagArgument(tag, name, value, before string) string {
	switch {
	case tag == "a" && name == "href":
		return value
	case tag == "code" && name == "class" && strings.HasPrefix(value, "language-"):
		return strings.TrimPrefix(value, "language-")
	case tag == "span" && name == "class" && strings.HasPrefix(value, "tg-"):
		return strings.TrimPrefix(value, "tg-")
	case tag == "blockquote" && name == "expandable":
		return "expandable"
	}
	return before
}

func (p *htmlParser) endTag() *refusal {
	begin := p.at
	if len(p.open) == 0 {
		return unparsable("Unexpected end tag at byte offset %d", begin)
	}
	p.at += len("</")
	name := strings.ToLower(p.upTo(">"))
	p.skipSpace()
	if p.at >= len(p.source) || p.source[p.at] != '>' {
		return unparsable("Unclosed end tag at byte offset %d", begin)
	}
	p.at++
	o := p.open[len(p.open)-1]
	if name != "" && name != o.tag {
		return unparsable("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", begin, o.tag, name)
	}
	p.open = p.open[:len(p.open)-1]
	if p.units > o.start {
		p.close(o)
	}
	return nil
}

// close turns an element that has ended into an entity.
func (p *htmlParser) close(o openTag) {
	e := entity{Type: htmlTags[o.tag], Offset: o.start, Length: p.units - o.start}
	switch {
	case o.tag == "a":
		e.URL = o.argument
		if e.URL == "" {
			e.URL = p.text.String()[o.textStart:]
		}
		if !linkable(e.URL) {
			return
		}
	case o.tag == "blockquote" && o.argument == "expandable":
		e.Type = "expandable_blockquote"
	case o.tag == "code":
		e.Language = o.argument
	case o.tag == "pre" && len(p.entities) > 0:
		// <pre><code class="language-x"> is one entity with a language.
		if last := p.entities[len(p.entities)-1]; last.Type == "code" && last.Offset == e.Offset && last.Length == e.Length {
			e.Language = last.Language
			p.entities = p.entities[:len(p.entities)-1]
		}
	}
	if e.Type == "code" && (len(p.open) == 0 || p.open[len(p.open)-1].tag != "pre") {
		e.Language = "" // only meaningful inside pre
	}
	p.entities = append(p.entities, e)
}

func linkable(address string) bool {
	if !strings.Contains(address, "://") && !strings.HasPrefix(address, "mailto:") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	return slices.Contains([]string{"http", "https", "tg", "ton", "tonsite"}, strings.ToLower(u.Scheme))
}

// htmlEntity decodes what stands at the start of the text: one of the four named entities or a numeric one, and
// otherwise one character as it stands.
func htmlEntity(s string) (rune, int) {
	for name, r := range map[string]rune{"&lt;": '<', "&gt;": '>', "&amp;": '&', "&quot;": '"'} {
		if strings.HasPrefix(s, name) {
			return r, len(name)
		}
	}
	if end := strings.IndexByte(s, ';'); strings.HasPrefix(s, "&#") && end > 0 && end < 12 {
		digits, base := s[2:end], 10
		if strings.HasPrefix(digits, "x") {
			digits, base = digits[1:], 16
		}
		if n, err := strconv.ParseUint(digits, base, 32); err == nil && n > 0 && n <= unicode.MaxRune && utf8.ValidRune(rune(n)) {
			return rune(n), end + 1
		}
	}
	return utf8.DecodeRuneInString(s)
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0 || c == '\v'
}

func isToken(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.' || c == '-'
}
