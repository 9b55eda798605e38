package slack

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is written, the HTML is balanced, has only harmless tags, and says what the visible text says.
func TestDrawingIsSafe(t *testing.T) {
	pieces := []string{
		"*", "_", "~", "`", "```", "\n", "&gt; ", "> ", "&amp;", "&lt;", "<", ">", "|", "\"", "'", " ", "word", "é", "2",
		"<https://e.test/?q=\"x\"|label>", "<javascript:x|y>", "<@U1>", "<!here>", "<#C1>", "<!date^1^x|d>", "<script>",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 25).Draw(t, "pieces"), "")
		formatted := rapid.Bool().Draw(t, "formatted")
		d := New(Config{}).drawing()
		d.text(text, formatted)
		read, err := readHTML(d.html.String())
		if err != nil {
			t.Fatalf("%q is drawn as %s: %v", text, d.html.String(), err)
		}
		if visible := d.visible.String(); read != visible {
			t.Errorf("%q is drawn as %q, but visible is %q", text, read, visible)
		}
	})
}

// readHTML returns the text of what a drawing may produce.
func readHTML(s string) (string, error) {
	var text strings.Builder
	var open []string
	for s != "" {
		if s[0] != '<' {
			n := strings.IndexByte(s, '<')
			if n < 0 {
				n = len(s)
			}
			text.WriteString(html.UnescapeString(s[:n]))
			s = s[n:]
			continue
		}
		tag, rest, ok := strings.Cut(s[1:], ">")
		if !ok {
			return "", fmt.Errorf("an open tag")
		}
		s = rest
		switch name, attributes, _ := strings.Cut(tag, " "); {
		case tag == "br":
			text.WriteByte('\n')
		case strings.HasPrefix(tag, "/"):
			if len(open) == 0 || open[len(open)-1] != tag[1:] {
				return "", fmt.Errorf("%s closes %v", tag, open)
			}
			open = open[:len(open)-1]
		case name == "a" && (strings.HasPrefix(attributes, `href="https://`) || strings.HasPrefix(attributes, `href="http://`)) &&
			strings.Count(attributes, `"`) == 4:
			open = append(open, name)
		case attributes == "" && slices.Contains([]string{"b", "i", "s", "code", "pre", "blockquote"}, name):
			open = append(open, name)
		default:
			return "", fmt.Errorf("tag %s", tag)
		}
	}
	if len(open) > 0 {
		return "", fmt.Errorf("%v stay open", open)
	}
	return text.String(), nil
}
