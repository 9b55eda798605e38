package markup

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxDepth bounds the nesting of quotes and lists. What lies deeper is kept, at this depth; without a bound the marks that
// start a line could outgrow a whole message.
const maxDepth = 6

// address is a web address in text. Unlike the rule of GitHub it takes hosts without a dot, such as localhost, which
// models write often. It stops at brackets, quotes and everything that is not ASCII: more often than not those belong to
// the text around.
var address = regexp.MustCompile(`^https?://(?:\[[0-9a-fA-F:]+\])?[-a-zA-Z0-9@:%._+~=]*(?:[/?#][-a-zA-Z0-9@:%_+.~#$!?&/=();,]*)?`)

// commonMark is CommonMark with GitHub's tables, strikethrough, task lists and autolinks.
var commonMark = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList,
	extension.NewLinkify(extension.WithLinkifyURLRegexp(address)))).Parser()

func parse(source string) []block {
	p := parser{source: []byte(clean(source))}
	return p.blocks(commonMark.Parse(gtext.NewReader(p.source)), 0)
}

// parser turns goldmark's tree, which points into the source, into one that stands alone.
type parser struct{ source []byte }

func (p parser) blocks(parent ast.Node, depth int) []block {
	var out []block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, p.block(n, depth)...)
	}
	return out
}

// block returns nothing for a node that shows nothing, and several blocks for one nested too deeply.
func (p parser) block(n ast.Node, depth int) []block {
	switch n := n.(type) {
	case *ast.Heading:
		if spans := oneLine(trimSpans(p.spans(n, 0))); len(spans) > 0 {
			return []block{heading{n.Level, spans}}
		}
	case *ast.Paragraph, *ast.TextBlock:
		return textBlock(p.spans(n, 0))
	case *ast.HTMLBlock:
		raw := p.lines(n)
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(p.source))
		}
		return textBlock(rawSpans(raw))
	case *ast.FencedCodeBlock:
		var info string
		if n.Info != nil {
			info = decode(string(n.Info.Value(p.source)))
		}
		return code(info, p.lines(n))
	case *ast.CodeBlock:
		return code("", p.lines(n))
	case *ast.ThematicBreak:
		return []block{rule{}}
	case *ast.Blockquote:
		inner := p.blocks(n, depth+1)
		if depth >= maxDepth || len(inner) == 0 {
			return inner
		}
		return []block{quote{inner}}
	case *ast.List:
		return p.list(n, depth)
	case *east.Table:
		return []block{p.table(n)}
	case *ast.LinkReferenceDefinition:
	default:
		return p.blocks(n, depth)
	}
	return nil
}

func (p parser) list(n *ast.List, depth int) []block {
	l := list{ordered: n.IsOrdered(), start: n.Start, loose: !n.IsTight}
	var inner []block
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		it := p.item(c, depth)
		inner = append(inner, it.blocks...)
		l.items = append(l.items, it)
	}
	if depth >= maxDepth {
		return inner
	}
	return []block{l}
}

// item keeps the box of a task that has no text to stand before as text.
func (p parser) item(n ast.Node, depth int) item {
	it := item{taskOf(n), p.blocks(n, depth+1)}
	if it.task == noTask || len(it.blocks) == 0 {
		return it
	}
	if _, ok := it.blocks[0].(paragraph); ok {
		return it
	}
	box := paragraph{[]span{text(strings.TrimSpace(boxes[it.task]))}}
	return item{noTask, append([]block{box}, it.blocks...)}
}

func taskOf(item ast.Node) task {
	first := item.FirstChild()
	if first == nil {
		return noTask
	}
	box, ok := first.FirstChild().(*east.TaskCheckBox)
	switch {
	case !ok:
		return noTask
	case box.IsChecked:
		return doneTask
	}
	return openTask
}

func (p parser) table(n *east.Table) table {
	var t table
	for _, a := range n.Alignments {
		switch a {
		case east.AlignRight:
			t.aligns = append(t.aligns, alignRight)
		case east.AlignCenter:
			t.aligns = append(t.aligns, alignCenter)
		default:
			t.aligns = append(t.aligns, alignLeft)
		}
	}
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		row := make([]cell, len(t.aligns))
		i := 0
		for c := r.FirstChild(); c != nil && i < len(row); c = c.NextSibling() {
			row[i] = oneLine(trimSpans(p.spans(c, 0)))
			i++
		}
		if _, ok := r.(*east.TableHeader); ok {
			t.header = row
		} else {
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// lines is the raw text of a leaf block.
func (p parser) lines(n ast.Node) string {
	return string(n.Lines().Value(p.source))
}

// code keeps the first word of an info string, if it is short enough to be a language's name.
func code(info, source string) []block {
	source = strings.TrimSuffix(source, "\n")
	if blank(source) {
		return nil
	}
	var language string
	if words := strings.Fields(info); len(words) > 0 && len(words[0]) <= 40 && !strings.Contains(words[0], "`") {
		language = words[0]
	}
	return []block{codeBlock{language, source}}
}

// textBlock is a paragraph without blank lines in it, or nothing.
func textBlock(spans []span) []block {
	var lines []span
	for len(spans) > 0 {
		n := 0
		for n < len(spans) && spans[n] != (lineBreak{}) {
			n++
		}
		line := trimSpans(spans[:n:n])
		if !blank(flat(line)) {
			if len(lines) > 0 {
				lines = append(lines, lineBreak{})
			}
			lines = append(lines, line...)
		}
		spans = spans[min(n+1, len(spans)):]
	}
	if len(lines) == 0 {
		return nil
	}
	return []block{paragraph{lines}}
}

// oneLine replaces line breaks by spaces.
func oneLine(spans []span) []span {
	var out []span
	for _, s := range spans {
		if s == (lineBreak{}) {
			s = text(" ")
		}
		out = append(out, s)
	}
	return merged(out...)
}

// rawSpans is text as it stands, with its line breaks.
func rawSpans(raw string) []span {
	var out []span
	for i, line := range strings.Split(raw, "\n") {
		if i > 0 {
			out = append(out, lineBreak{})
		}
		out = append(out, text(strings.ReplaceAll(line, "\t", " ")))
	}
	return merged(out...)
}

// decode resolves backslash escapes and character references, each once and in one pass, so that an escaped reference
// stays text. What they name joins the line: a line end or a tab becomes a space.
func decode(s string) string {
	if !strings.ContainsAny(s, "\\&\t") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		i := strings.IndexAny(s, "\\&")
		if i < 0 || i+1 == len(s) {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		s = s[i:]
		if s[0] == '\\' && isPunct(s[1]) {
			s = s[1:]
		} else if r, n := reference(s); n > 0 {
			b.WriteString(r)
			s = s[n:]
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return strings.ReplaceAll(clean(oneLineText.Replace(b.String())), "\n", " ")
}

// oneLineText turns what ends or breaks a line into spaces.
var oneLineText = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")

// reference resolves the character reference that s begins with, and tells how many bytes it takes.
func reference(s string) (string, int) {
	n := 1
	for n < len(s) && n < 40 && (s[n] == '#' || !isPunct(s[n]) && s[n] > ' ') {
		n++
	}
	if s[0] != '&' || n == len(s) || s[n] != ';' {
		return "", 0
	}
	n++
	resolve := util.ResolveEntityNames
	if s[1] == '#' {
		resolve = util.ResolveNumericReferences
	}
	if r := string(resolve([]byte(s[:n]))); r != s[:n] {
		return r, n
	}
	return "", 0
}

func isPunct(c byte) bool {
	return '!' <= c && c <= '/' || ':' <= c && c <= '@' || '[' <= c && c <= '`' || '{' <= c && c <= '~'
}
