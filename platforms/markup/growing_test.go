package markup

import (
	"strings"
	"testing"
)

func TestGrowing(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"nothing", " \n", ""},
		{"text", "Hello wor", "Hello wor▌"},
		{"bold", "This is **very impo", "This is **very impo▌**"},
		{"nested", "a **b _c", "a **b _c▌_**"},
		{"closed", "a **b** c", "a **b** c▌"},
		{"half a closer", "a **b*", "a **b▌**"},
		{"an opener alone", "see **", "see▌"},
		{"a bullet", "* one\n* two **x", "* one\n* two **x▌**"},
		{"multiplication", "2 * 3", "2 * 3▌"},
		{"snake case", "the file_name_of it", "the file_name_of it▌"},
		{"code", "run `go te", "run `go te▌`"},
		{"a backtick alone", "run `", "run▌"},
		{"code with stars", "run `a **b` and", "run `a **b` and▌"},
		{"a label", "see [the docs", "see the docs▌"},
		{"half a link", "see [the docs](https://exa", "see the docs▌"},
		{"a link", "see [it](https://x.io) and", "see [it](https://x.io) and▌"},
		{"brackets", "a[1] is", "a[1] is▌"},
		{"a fence begins", "Look:\n\n```go", "Look:\n\n▌"},
		{"a fence", "Look:\n\n```go\nfunc **x", "Look:\n\n```go\nfunc **x▌\n```"},
		{"a fence ends", "```\na\n``", "```\na▌\n```"},
		{"a fence in a list", "1. ~~~\n   a", "1. ~~~\n   a▌\n   ~~~"},
		{"after a fence", "```\na\n```\nso *it", "```\na\n```\nso *it▌*"},
		{"two markers of a fence", "Look:\n``", "Look:▌"},
		{"a heading to come", "Text\n-", "Text▌"},
		{"a table to come", "So:\n\n| a | b |", "So:\n\n▌"},
		{"a table", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3", "| a | b |\n|---|---|\n| 1 | 2 |▌"},
		{"an escape", `a \`, "a ▌"},
	} {
		got := Growing(test.source, "▌")
		if strings.TrimSpace(got) != strings.TrimSpace(test.want) {
			t.Errorf("%s: %q grows as %q, want %q", test.name, test.source, got, test.want)
		}
	}
}

// TestGrowingStepByStep: at no step does a person see a marker of the formatting that is about to come.
func TestGrowingStepByStep(t *testing.T) {
	const source = "# Title\n\nThis is **bold with _nested_ parts** and `code`, see [the docs](https://example.com/a_b).\n\n" +
		"```go\nx := a[1]\n```\n\n| n | m |\n|---|---|\n| 1 | 2 |\n\n- item **one**\n- item ~~two~~\n"
	for i := range len(source) + 1 {
		plain := Plain(Growing(source[:i], ""))
		for _, marker := range []string{"**", "_nested", "`", "](", "~~", "|--", "# "} {
			if strings.Contains(plain, marker) {
				t.Fatalf("after %q a person reads %q", source[:i], plain)
			}
		}
	}
}

func FuzzGrowing(f *testing.F) {
	f.Add("a **b `c\n\n```\n| x |\n[l](u")
	f.Fuzz(func(t *testing.T, source string) {
		grown := Growing(source, "▌")
		for _, d := range []Dialect{Telegram(), Slack(), Discord()} {
			d.Render(grown)
		}
		if n := strings.Count(source, "▌"); grown != "" && strings.Count(grown, "▌") > n+1 {
			t.Errorf("%q grows as %q", source, grown)
		}
	})
}
