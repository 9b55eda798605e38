package web

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// article is a page, or what matters of it, as Markdown.
type article struct {
	title  string
	byline string // who wrote it and when; may be empty
	text   string
}

// readHTML turns a page into Markdown: its article without menus, advertisements and the like, or all of it if it has none
// or full is set. What a person does not see on the page is left out.
func readHTML(source string, at *url.URL, full bool) (article, error) {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return article{}, fmt.Errorf("parse the page: %w", err)
	}
	clean(doc)
	parser := readability.NewParser()
	readable := parser.CheckDocument(doc)
	found, err := parser.ParseDocument(doc, at) // works on a copy
	a := article{title: oneLine(found.Title())}
	node := doc
	if err == nil && found.Node != nil && readable && !full {
		node, a.byline = found.Node, byline(found)
	}
	markdown, err := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin())).
		ConvertNode(node, converter.WithDomain(at.String()))
	if err != nil {
		return article{}, fmt.Errorf("convert the page: %w", err)
	}
	a.text = strings.TrimSpace(string(markdown))
	return a, nil
}

func byline(a readability.Article) string {
	var parts []string
	if by := oneLine(a.Byline()); by != "" {
		parts = append(parts, "by "+by)
	}
	if at, err := a.PublishedTime(); err == nil {
		parts = append(parts, "published "+at.Format("2006-01-02"))
	}
	return strings.Join(parts, ", ")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// hidden is a style by which people do not see an element.
var hidden = regexp.MustCompile(`(?i)(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0|opacity\s*:\s*0(?:\.0*)?\s*(?:;|$|!))`)

// noScheme are the schemes of links and pictures that are of no use outside of the page, or do harm.
var noScheme = regexp.MustCompile(`(?i)^\s*(?:data|javascript|vbscript|blob):`)

// clean takes out of a page what people do not see or cannot use without a browser: hidden elements, comments, frames,
// buttons, and addresses that are scripts or hold their content in themselves.
func clean(node *html.Node) {
	for child := node.FirstChild; child != nil; {
		next := child.NextSibling
		if useless(child) {
			node.RemoveChild(child)
		} else {
			clean(child)
		}
		child = next
	}
	if node.Type != html.ElementNode {
		return
	}
	node.Attr = slices.DeleteFunc(node.Attr, func(a html.Attribute) bool {
		// A cell that claims to be a thousand wide would be written as a thousand cells.
		return a.Key == "href" && noScheme.MatchString(a.Val) || a.Key == "colspan" || a.Key == "rowspan"
	})
	if node.Data == "a" && !slices.ContainsFunc(node.Attr, func(a html.Attribute) bool { return a.Key == "href" }) {
		node.Data, node.DataAtom = "span", atom.Span // or it would become a link to the page itself
	}
}

// useless tells whether clean takes a node out.
func useless(node *html.Node) bool {
	if node.Type == html.CommentNode {
		return true
	}
	if node.Type != html.ElementNode {
		return false
	}
	switch node.Data {
	case "iframe", "frame", "object", "embed", "template", "noscript", "svg", "canvas", "button", "input", "select", "textarea":
		return true
	}
	for _, a := range node.Attr {
		switch {
		case a.Key == "hidden", a.Key == "style" && hidden.MatchString(a.Val):
			return true
		case a.Key == "src" && node.Data == "img" && noScheme.MatchString(a.Val):
			return true
		}
	}
	return false
}
