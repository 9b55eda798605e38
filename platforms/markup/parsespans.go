package markup

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// spans reads the text inside a node; active are the styles already on.
func (p parser) spans(parent ast.Node, active style) []span {
	var out []span
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, p.span(n, active)...)
	}
	return merged(out...)
}

func (p parser) span(n ast.Node, active style) []span {
	switch n := n.(type) {
	case *ast.Text:
		value := string(n.Value(p.source))
		if !n.IsRaw() {
			value = decode(value)
		}
		out := rawSpans(value)
		if n.SoftLineBreak() || n.HardLineBreak() {
			// A model that starts a new line means it, so both kinds of break are one.
			out = append(out, lineBreak{})
		}
		return out
	case *ast.String:
		return rawSpans(string(n.Value))
	case *ast.CodeSpan:
		if c := p.codeText(n); !blank(c) {
			return []span{codeSpan(c)}
		}
		return []span{text(" ")}
	case *ast.Emphasis:
		if n.Level > 1 {
			return p.styled(n, strong, active)
		}
		return p.styled(n, emphasis, active)
	case *east.Strikethrough:
		return p.styled(n, strike, active)
	case *ast.Link:
		return linked(oneLine(p.spans(n, active)), decode(string(n.Destination)))
	case *ast.Image:
		return linked([]span{text(flat(p.spans(n, active)))}, decode(string(n.Destination)))
	case *ast.AutoLink:
		address := string(n.URL(p.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
			address = "mailto:" + address
		}
		return autolinked(string(n.Label(p.source)), address)
	case *ast.RawHTML:
		return rawSpans(string(n.Segments.Value(p.source)))
	case *east.TaskCheckBox:
		return nil // the item has it
	default:
		return p.spans(n, active)
	}
}

// codeText leaves out a space that only sets a backtick apart from the marker, on whichever side it stands; CommonMark
// does so only if both sides have one, and models often write one alone.
func (p parser) codeText(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(p.source))
		}
	}
	code := oneLineText.Replace(b.String())
	if strings.HasSuffix(code, "` ") {
		code = code[:len(code)-1]
	}
	if strings.HasPrefix(code, " `") {
		code = code[1:]
	}
	return code
}

// styled puts a style around each line of a node, and white space outside of it.
func (p parser) styled(n ast.Node, s, active style) []span {
	inner := p.spans(n, active|s)
	if active&s != 0 {
		return inner
	}
	return restyle(s, inner)
}

func restyle(s style, inner []span) []span {
	var out, line []span
	flush := func() {
		raw := flat(line)
		if trimmed := trimSpans(line); len(trimmed) > 0 {
			line = []span{
				text(raw[:len(raw)-len(strings.TrimLeftFunc(raw, unicode.IsSpace))]),
				styled{s, trimmed},
				text(raw[len(strings.TrimRightFunc(raw, unicode.IsSpace)):]),
			}
		}
		out = append(out, line...)
		line = nil
	}
	for _, sp := range inner {
		if sp == (lineBreak{}) {
			flush()
			out = append(out, sp)
			continue
		}
		line = append(line, sp)
	}
	flush()
	return merged(out...)
}

// linked is a link if the address is one that a person can safely follow, and text with the address in it if not.
func linked(label []span, address string) []span {
	label = unlinked(trimSpans(label))
	safe, ok := safeURL(address)
	switch {
	case !ok && address == "":
		return label
	case blank(flat(label)) && !ok:
		return []span{text(address)}
	case blank(flat(label)):
		return []span{link{safe, []span{text(address)}}}
	case !ok:
		return merged(append(slices.Clip(label), text(" ("+address+")"))...)
	}
	return []span{link{safe, label}}
}

func autolinked(label, address string) []span {
	if safe, ok := safeURL(address); ok {
		return []span{link{safe, []span{text(label)}}}
	}
	return []span{text(label)}
}

// unlinked takes links out of a label: goldmark finds one there if an image is a link's label, or the reverse.
func unlinked(label []span) []span {
	var out []span
	for _, s := range label {
		switch s := s.(type) {
		case link:
			out = append(out, unlinked(s.spans)...)
		case styled:
			out = append(out, styled{s.style, unlinked(s.spans)})
		default:
			out = append(out, s)
		}
	}
	return merged(out...)
}

// safeURL accepts web, mail and Telegram addresses only, and escapes every character that means something in any
// dialect's link syntax. What is escaped here needs no escaping later.
func safeURL(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return "", false
		}
	case "mailto":
	case "tg":
		// tg://user?id=1 is a mention: the person would be notified.
		if where := strings.ToLower(u.Host + u.Opaque); strings.HasPrefix(where, "user") {
			return "", false
		}
	default:
		return "", false
	}
	var b strings.Builder
	for _, r := range address {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf) || strings.ContainsRune("<>\"`\\|^{}", r) {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String(), true
}
