package telegram

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

func TestParseHTMLRefuses(t *testing.T) {
	for _, c := range []struct{ source, problem string }{
		{"🏟&lt;<abac>", `Unsupported start tag "abac" at byte offset 8`},
		{"a <b>b</b> <table>", `Unsupported start tag "table" at byte offset 11`},
		{"1 < 2", `Unsupported start tag "" at byte offset 2`},
		{"1 <2", `Unclosed start tag at byte offset 2`},
		{"1 < 2 > 1", `Unsupported start tag "" at byte offset 2`},
		{"<b>bold", `Can't find end tag corresponding to start tag "b"`},
		{"<b><i>x</i>", `Can't find end tag corresponding to start tag "b"`},
		{"<b>x</i>", `Unmatched end tag at byte offset 4, expected "</b>", found "</i>"`},
		{"x</b>", `Unexpected end tag at byte offset 1`},
		{"<b>x</b", `Unclosed end tag at byte offset 4`},
		{"<i =x>", `Empty attribute name in the tag "i" at byte offset 0`},
		{"<a href=", `Unclosed start tag "a" at byte offset 0`},
		{`<a href="x>y</a>`, `Unclosed start tag at byte offset 0`},
		{"<a href=x/y>z</a>", `Unexpected end of name token at byte offset 8`},
		{`<span class="x">y</span>`, `Tag "span" must have class "tg-spoiler" at byte offset 0`},
	} {
		_, _, refused := parseHTML(c.source)
		want := "Bad Request: can't parse entities: " + c.problem
		if refused == nil || refused.description != want || refused.code != 400 {
			t.Errorf("%q: %v\nwant %s", c.source, refused, want)
		}
	}
}

func TestParseHTML(t *testing.T) {
	for _, c := range []struct {
		source, text string
		entities     []entity
	}{
		{"a &lt;b&gt; &amp; &quot;c&quot; &copy; &#65;&#x1F600; &", `a <b> & "c" &copy; A😀 &`, nil},
		{"😀<b>x</b>", "😀x", []entity{{Type: "bold", Offset: 2, Length: 1}}},
		{"<STRONG>a<em>b</em></strong>", "ab", []entity{{Type: "bold", Length: 2}, {Type: "italic", Offset: 1, Length: 1}}},
		{"<u>a</u><s>b</s><del>c</del><tg-spoiler>d</tg-spoiler><span class='tg-spoiler'>e</span>", "abcde", []entity{
			{Type: "underline", Length: 1},
			{Type: "strikethrough", Offset: 1, Length: 1},
			{Type: "strikethrough", Offset: 2, Length: 1},
			{Type: "spoiler", Offset: 3, Length: 1},
			{Type: "spoiler", Offset: 4, Length: 1},
		}},
		{`<a href="https://e.test/?a=1&amp;b=2">x</a>`, "x", []entity{{Type: "text_link", Length: 1, URL: "https://e.test/?a=1&b=2"}}},
		{`<a href="javascript:alert(1)">x</a>`, "x", nil},
		{"<a>https://e.test</a>", "https://e.test", []entity{{Type: "text_link", Length: 14, URL: "https://e.test"}}},
		{`<pre><code class="language-go">x := 1</code></pre>`, "x := 1", []entity{{Type: "pre", Length: 6, Language: "go"}}},
		{`<code class="language-go">x</code>`, "x", []entity{{Type: "code", Length: 1}}},
		{"<blockquote expandable>a</blockquote><blockquote>b</blockquote>", "ab", []entity{
			{Type: "expandable_blockquote", Length: 1}, {Type: "blockquote", Offset: 1, Length: 1},
		}},
		{"<b></b>x<i>y</>", "xy", []entity{{Type: "italic", Offset: 1, Length: 1}}},
	} {
		text, entities, refused := parseHTML(c.source)
		if refused != nil {
			t.Errorf("%q: %v", c.source, refused)
			continue
		}
		if diff := cmp.Diff(c.entities, entities); text != c.text || diff != "" {
			t.Errorf("%q: text %q, want %q; entities:\n%s", c.source, text, c.text, diff)
		}
	}
}

func TestFormatText(t *testing.T) {
	for _, c := range []struct{ name, source, mode, problem string }{
		{"4096 code points", strings.Repeat("😀", 4096), "", ""},
		{"4097 code points", strings.Repeat("😀", 4097), "", "message is too long"},
		{"the length counts after parsing", "<b>" + strings.Repeat("&lt;", 4096) + "</b>", "HTML", ""},
		{"32768 bytes of markup", strings.Repeat("<b>x</b>", 4096), "HTML", ""},
		{"more bytes of markup", strings.Repeat("<b>x</b>", 4096) + "x", "HTML", "text is too long"},
		{"empty", "", "", "message text is empty"},
		{"blank", " \n ", "", "text must be non-empty"},
		{"markup only", "<b> </b>", "HTML", "text must be non-empty"},
		{"no UTF-8", "\xff", "", "strings must be encoded in UTF-8"},
		{"unknown mode", "x", "BBCode", "unsupported parse_mode"},
		{"markup without a mode", "<nope>", "", ""},
	} {
		_, _, refused := formatText(c.source, c.mode)
		got := ""
		if refused != nil {
			got = strings.TrimPrefix(refused.description, "Bad Request: ")
		}
		if got != c.problem {
			t.Errorf("%s: %q, want %q", c.name, got, c.problem)
		}
	}
}

func TestTrimAndRecognise(t *testing.T) {
	text, entities, refused := formatText("  \n@ada_l see https://e.test/a_b, /help@talaria_bot or <code>@code /x</code> a@b.test <b>end </b>\n ", "HTML")
	if refused != nil {
		t.Fatal(refused)
	}
	if want := "@ada_l see https://e.test/a_b, /help@talaria_bot or @code /x a@b.test end"; text != want {
		t.Errorf("text is %q", text)
	}
	var found []string
	units := utf16.Encode([]rune(text))
	for _, e := range entities {
		found = append(found, e.Type+" "+string(utf16.Decode(units[e.Offset:e.Offset+e.Length])))
	}
	want := []string{"code @code /x", "bold end", "mention @ada_l", "url https://e.test/a_b,", "bot_command /help@talaria_bot"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func TestDrawHTML(t *testing.T) {
	for _, c := range []struct{ source, drawn string }{
		{"a &lt;script&gt;\n<b>b <i>c</i></b>", "a &lt;script&gt;<br><b>b <i>c</i></b>"},
		{`<pre><code class="language-go">a
b</code></pre>`, "<pre>a\nb</pre>"},
		{"<tg-spoiler>x</tg-spoiler><blockquote>y</blockquote>", `<span class="spoiler">x</span><blockquote>y</blockquote>`},
		{`<a href='https://e.test/"&lt;'>x</a>`, `<a rel="noopener noreferrer" target="_blank" href="https://e.test/&#34;&lt;">x</a>`},
		{"see https://e.test now", `see <a rel="noopener noreferrer" target="_blank" href="https://e.test">https://e.test</a> now`},
	} {
		text, entities, refused := formatText(c.source, "HTML")
		if refused != nil {
			t.Errorf("%q: %v", c.source, refused)
			continue
		}
		if got := drawHTML(text, entities); got != c.drawn {
			t.Errorf("%q draws as\n%s, want\n%s", c.source, got, c.drawn)
		}
	}
}

// FuzzFormatText looks for panics and for entities outside the text.
func FuzzFormatText(f *testing.F) {
	for _, s := range []string{"<b>x</b>", "&#x1F600;<a href='x'>", "<pre><code class=\"language-x\">y</code></pre> @me /cmd@bot", " <i> 😀 </i> "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		text, entities, refused := formatText(source, "HTML")
		if refused != nil {
			return
		}
		for _, e := range entities {
			if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > utf16Len(text) {
				t.Errorf("entity %+v is outside of %q", e, text)
			}
		}
		_ = drawHTML(text, entities)
	})
}
