package markup

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	telegramTag       = regexp.MustCompile(`^<(/?)(b|i|s|pre|code|blockquote|a)( (href|class)="([^"<>]*)")?>`)
	telegramReference = regexp.MustCompile(`^&(lt|gt|amp|quot);`)
)

// checkTelegramHTML is a parser stricter than Telegram's own: only the tags that Telegram documents, each with the
// attributes it may have, closed in order, no entity inside code, no quote inside a quote, and four references.
func checkTelegramHTML(wire string) error {
	var open []string
	for rest := wire; rest != ""; {
		switch rest[0] {
		case '>':
			return fmt.Errorf("bare > before %.20q", rest)
		case '&':
			m := telegramReference.FindString(rest)
			if m == "" {
				return fmt.Errorf("bare & before %.20q", rest)
			}
			rest = rest[len(m):]
		case '<':
			m := telegramTag.FindStringSubmatch(rest)
			if m == nil {
				return fmt.Errorf("no tag at %.20q", rest)
			}
			rest = rest[len(m[0]):]
			if m[1] == "/" {
				if len(open) == 0 || open[len(open)-1] != m[2] || m[3] != "" {
					return fmt.Errorf("</%s> closes %v", m[2], open)
				}
				open = open[:len(open)-1]
				continue
			}
			if err := checkTelegramTag(m[2], m[4], m[5], open); err != nil {
				return err
			}
			open = append(open, m[2])
		default:
			n := strings.IndexAny(rest, "<>&")
			if n < 0 {
				n = len(rest)
			}
			rest = rest[n:]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("not closed: %v", open)
	}
	return nil
}

func checkTelegramTag(tag, attribute, value string, open []string) error {
	inner := ""
	if len(open) > 0 {
		inner = open[len(open)-1]
	}
	for rest := value; strings.Contains(rest, "&"); {
		rest = rest[strings.IndexByte(rest, '&'):]
		m := telegramReference.FindString(rest)
		if m == "" {
			return fmt.Errorf("bare & in the attribute %q", value)
		}
		rest = rest[len(m):]
	}
	switch {
	case inner == "code" || inner == "pre" && tag != "code":
		return fmt.Errorf("<%s> inside <%s>", tag, inner)
	case slices.Contains(open, tag):
		return fmt.Errorf("<%s> inside itself", tag)
	case tag == "a" && (attribute != "href" || value == ""):
		return errors.New("a link without an address")
	case tag != "a" && attribute == "href":
		return fmt.Errorf("an address in <%s>", tag)
	case attribute == "class" && (tag != "code" || inner != "pre" || !strings.HasPrefix(value, "language-")):
		return fmt.Errorf("class %q in <%s>", value, tag)
	}
	return nil
}

// TestTelegramHTMLChecker shows that the checker can fail.
func TestTelegramHTMLChecker(t *testing.T) {
	for _, wrong := range []string{
		"a < b", "a > b", "a & b", "&nbsp;", "&#39;", "<u>x</u>", "<b>x", "x</b>", "<b><i>x</b></i>", "<b><b>x</b></b>",
		"<code><b>x</b></code>", "<pre><b>x</b></pre>", "<a>x</a>", `<a href="">x</a>`, `<b class="x">x</b>`,
		`<code class="language-go">x</code>`, `<a href="a&b">x</a>`, "<blockquote><blockquote>x</blockquote></blockquote>",
		`<a href='x'>x</a>`, "</b >",
	} {
		if checkTelegramHTML(wrong) == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
	right := `<b>a &lt;&gt;&amp;&quot; " <i><s>b</s></i></b><blockquote><pre><code class="language-c++">x</code></pre></blockquote><a href="http://e.test/?a&amp;b">c</a>`
	if err := checkTelegramHTML(right); err != nil {
		t.Errorf("%v", err)
	}
}
