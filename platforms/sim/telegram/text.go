package telegram

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of a text (core.telegram.org/bots/api#sendmessage; units from the sources of tdlib/td): code points after
// entities parsing, and bytes before it.
const (
	maxTextRunes = 4096
	maxTextBytes = 32768
)

// formatText turns the text of a request into what people see, or refuses it.
func formatText(source, parseMode string) (string, []entity, *refusal) {
	switch {
	case !utf8.ValidString(source):
		return "", nil, badRequest("strings must be encoded in UTF-8")
	case source == "":
		return "", nil, badRequest("message text is empty")
	case len(source) > maxTextBytes:
		return "", nil, badRequest("text is too long")
	}
	text, entities := source, []entity(nil)
	switch strings.ToLower(parseMode) {
	case "":
	case "html":
		var err *refusal
		if text, entities, err = parseHTML(source); err != nil {
			return "", nil, err
		}
	case "markdown", "markdownv2":
		return "", nil, badRequest("parse mode %s is not simulated", parseMode)
	default:
		return "", nil, badRequest("unsupported parse_mode")
	}
	text, entities = trim(text, entities)
	switch {
	case strings.TrimSpace(text) == "":
		return "", nil, badRequest("text must be non-empty")
	case utf8.RuneCountInString(text) > maxTextRunes:
		return "", nil, badRequest("message is too long")
	}
	return text, append(entities, recognise(text, entities)...), nil
}

// trim removes white space at the end, and at the beginning as far as it is not formatted.
func trim(text string, entities []entity) (string, []entity) {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	keep := len(utf16.Encode([]rune(text)))
	lead := len(utf16.Encode([]rune(text[:len(text)-len(strings.TrimLeftFunc(text, unicode.IsSpace))])))
	for _, e := range entities {
		lead = min(lead, e.Offset)
	}
	text = string(utf16.Decode(utf16.Encode([]rune(text))[lead:]))
	kept := entities[:0:0]
	for _, e := range entities {
		e.Length = min(e.Length, keep-e.Offset)
		e.Offset -= lead
		if e.Length > 0 {
			kept = append(kept, e)
		}
	}
	return text, kept
}

// autolinks are what Telegram recognises in any text: mentions, bot commands and web addresses.
var autolinks = regexp.MustCompile(`(?:^|[^\w/@])(?:(@\w{2,32})|(/\w{1,64}(?:@\w{3,32})?)|(https?://[^\s<>"]+))`)

// recognise finds mentions, commands and addresses outside code and links.
func recognise(text string, formatted []entity) []entity {
	formatted = slices.DeleteFunc(slices.Clone(formatted), func(f entity) bool {
		return f.Type != "code" && f.Type != "pre" && f.Type != "text_link"
	})
	var found []entity
	units, measured := 0, 0 // the length of the text up to the byte measured
	for _, m := range autolinks.FindAllStringSubmatchIndex(text, -1) {
		for group, kind := range []string{"mention", "bot_command", "url"} {
			from, to := m[2+2*group], m[3+2*group]
			if from < 0 {
				continue
			}
			units += utf16Len(text[measured:from])
			measured = from
			e := entity{Type: kind, Offset: units, Length: utf16Len(text[from:to])}
			if !slices.ContainsFunc(formatted, e.overlaps) {
				found = append(found, e)
			}
		}
	}
	return found
}

func (e entity) overlaps(f entity) bool {
	return e.Offset < f.Offset+f.Length && f.Offset < e.Offset+e.Length
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// drawHTML shows a text with its entities as safe HTML, for the lab page: b, i, s, u, code, pre, a, blockquote, br and
// span.spoiler.
func drawHTML(text string, entities []entity) string {
	units := utf16.Encode([]rune(text))
	var b strings.Builder
	draw(&b, units, 0, len(units), nested(entities), false)
	return b.String()
}

// nested leaves out what is not drawn and what would overlap without nesting.
func nested(entities []entity) []entity {
	sorted := slices.Clone(entities)
	slices.SortStableFunc(sorted, func(a, b entity) int {
		if a.Offset != b.Offset {
			return a.Offset - b.Offset
		}
		return b.Length - a.Length
	})
	var kept []entity
	var ends []int
	for _, e := range sorted {
		if drawn[e.Type] == "" && e.Type != "url" && e.Type != "text_link" {
			continue
		}
		for len(ends) > 0 && ends[len(ends)-1] <= e.Offset {
			ends = ends[:len(ends)-1]
		}
		end := e.Offset + e.Length
		if len(ends) > 0 && end > ends[len(ends)-1] {
			continue
		}
		ends = append(ends, end)
		kept = append(kept, e)
	}
	return kept
}

// drawn maps entity types to the HTML elements that show them.
var drawn = map[string]string{
	"bold": "b", "italic": "i", "underline": "u", "strikethrough": "s", "code": "code", "pre": "pre",
	"blockquote": "blockquote", "expandable_blockquote": "blockquote", "spoiler": `span class="spoiler"`,
}

// draw writes the units from..to; entities are those that begin in there, outer ones first.
func draw(b *strings.Builder, units []uint16, from, to int, entities []entity, verbatim bool) {
	plain := func(until int) {
		s := html.EscapeString(string(utf16.Decode(units[from:until])))
		if !verbatim {
			s = strings.ReplaceAll(s, "\n", "<br>")
		}
		b.WriteString(s)
		from = until
	}
	for len(entities) > 0 {
		e := entities[0]
		end := e.Offset + e.Length
		plain(e.Offset)
		inside := 1
		for inside < len(entities) && entities[inside].Offset < end {
			inside++
		}
		open := drawn[e.Type]
		if e.Type == "url" || e.Type == "text_link" {
			address := e.URL
			if address == "" {
				address = string(utf16.Decode(units[e.Offset:end]))
			}
			open = `a rel="noopener noreferrer" target="_blank" href="` + html.EscapeString(address) + `"`
		}
		name, _, _ := strings.Cut(open, " ")
		b.WriteString("<" + open + ">")
		draw(b, units, e.Offset, end, entities[1:inside], verbatim || e.Type == "pre")
		b.WriteString("</" + name + ">")
		from, entities = end, entities[inside:]
	}
	plain(to)
}
