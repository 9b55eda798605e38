package discord

import (
	"testing"
	"testing/quick"
)

func TestResolve(t *testing.T) {
	name := func(kind, id string) string { return map[string]string{"@1": "Ann", "#2": "general"}[kind+id] }
	for _, c := range []struct{ source, visible, page string }{
		{"plain", "plain", "plain"},
		{"**bold** and *it* _it_ __under__ ~~gone~~", "bold and it it under gone", "<b>bold</b> and <i>it</i> <i>it</i> <u>under</u> <s>gone</s>"},
		{"***both***", "both", "<b><i>both</i></b>"},
		{"**a *b* c**", "a b c", "<b>a <i>b</i> c</b>"},
		{"||secret||", "secret", `<span class="spoiler">secret</span>`},
		{"2 * 3 * 4", "2 * 3 * 4", "2 * 3 * 4"},
		{"snake_case_name", "snake_case_name", "snake_case_name"},
		{`\*not bold\* \_x\_`, "*not bold* _x_", "*not bold* _x_"},
		{"`a*b*` ``x`y``", "a*b* x`y", "<code>a*b*</code> <code>x`y</code>"},
		{"```go\nif a < b {}\n```\nafter", "if a < b {}\nafter", "<pre>if a &lt; b {}</pre>after"},
		{"before\n```\ncode\n```", "before\ncode", "before<br><pre>code</pre>"},
		{"# Head\ntext", "Head\ntext", "<b>Head</b><br>text"},
		{"- one\n- two", "• one\n• two", "• one<br>• two"},
		{"> q1\n> q2\nrest", "q1\nq2\nrest", "<blockquote>q1<br>q2</blockquote>rest"},
		{"[x](https://a.b/c) https://d.e", "x https://d.e", `<a href="https://a.b/c">x</a> <a href="https://d.e">https://d.e</a>`},
		{"<https://d.e>", "https://d.e", `<a href="https://d.e">https://d.e</a>`},
		{"hi <@1> <@!1> <#2> <@9> <:ok:12>", "hi @Ann @Ann #general @unknown :ok:", "hi @Ann @Ann #general @unknown :ok:"},
		{"<script>alert(1)</script>", "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
		{"**open", "**open", "**open"},
		{"[x](javascript:alert)", "[x](javascript:alert)", "[x](javascript:alert)"},
	} {
		visible, page := resolve(c.source, name)
		if visible != c.visible || page != c.page {
			t.Errorf("resolve(%q)\n got %q, %q\nwant %q, %q", c.source, visible, page, c.visible, c.page)
		}
	}
}

func TestResolveEnds(t *testing.T) {
	if err := quick.Check(func(s string) bool {
		resolve(s, func(string, string) string { return "" })
		return true
	}, nil); err != nil {
		t.Error(err)
	}
}
