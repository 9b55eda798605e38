package slack

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/platforms/markup"
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

// Markers that a model escapes are shown and mean nothing, whatever stands around them.
func TestLiteralMarkersAreShown(t *testing.T) {
	pieces := []string{"*", "_", "~", "`", "``", "*", "_", " ", ", ", "word", "é", "2", "/", ".go"}
	escape := regexp.MustCompile("[*_~`]")
	rapid.Check(t, func(t *rapid.T) {
		text := "a " + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "") + " z"
		text = strings.Join(strings.Fields(text), " ")
		wire := markup.Slack().Render(escape.ReplaceAllString(text, `\$0`))
		d := New(Config{}).drawing()
		d.text(wire, true)
		if got := d.visible.String(); got != text || strings.Contains(d.html.String(), "<") {
			t.Errorf("%q is sent as %q and drawn as %s", text, wire, d.html.String())
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
