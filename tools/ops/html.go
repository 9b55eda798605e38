package ops

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plainHTML returns the text of a page. It stands in the same lines as in the source, and headings are marked as Markdown
// does.
func plainHTML(source string) string {
	var out []byte
	tokens := html.NewTokenizer(strings.NewReader(source))
	silent := atom.Atom(0) // the element whose text is none
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return string(out)
		}
		raw := string(tokens.Raw())
		token := tokens.Token()
		switch {
		case kind == html.TextToken && silent == 0:
			out = append(out, token.Data...)
			continue
		case kind == html.StartTagToken && silent == 0 && isSilent(token.DataAtom):
			silent = token.DataAtom
		case kind == html.EndTagToken && token.DataAtom == silent:
			silent = 0
		case kind == html.StartTagToken && silent == 0 && headingDepth(token.DataAtom) > 0:
			line := out[bytes.LastIndexByte(out, '\n')+1:]
			if len(bytes.TrimSpace(line)) > 0 {
				break // behind text in the same line it would be none in Markdown
			}
			out = append(out[:len(out)-len(line)], strings.Repeat("#", headingDepth(token.DataAtom))+" "...)
		case silent == 0 && separates(token.DataAtom):
			out = append(out, ' ')
		}
		out = append(out, strings.Repeat("\n", strings.Count(raw, "\n"))...)
	}
}

func isSilent(a atom.Atom) bool {
	return a == atom.Script || a == atom.Style || a == atom.Template || a == atom.Svg
}

func headingDepth(a atom.Atom) int {
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return int(a.String()[1] - '0')
	}
	return 0
}

// separates tells whether words on both sides of a tag are two words.
func separates(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Br, atom.Div, atom.Li, atom.Td, atom.Th, atom.Tr, atom.Dt, atom.Dd, atom.Title, atom.Option, atom.Pre:
		return true
	}
	return headingDepth(a) > 0
}
