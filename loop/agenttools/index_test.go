package agenttools

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          nil,
		"Hello, WORLD-wide 42!":     {"hello", "world", "wide", "42"},
		"Straße naïve":              {"straße", "naïve"},
		"数据库":                       {"数据", "据库"},
		"用 Go 写":                    {"用", "go", "写"},
		"データを":                      {"デー", "ータ", "タを"},
		"회의를":                       {"회의", "의를"},
		strings.Repeat("a", 50):     {strings.Repeat("a", 40)},
		"v1.2\x00\xff and \u200bme": {"v1", "2", "and", "me"},
	} {
		if d := cmp.Diff(want, words(text)); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
}

func TestIndexForgetsTheOldest(t *testing.T) {
	x := newIndex()
	x.limit = 500_000
	body := strings.Repeat("filler ", maxDocument/7-10)
	n := 2 * x.limit / len(body)
	for i := range n {
		x.add(document{text: fmt.Sprintf("number%d %s", i, body)})
	}
	if x.size > x.limit || len(x.docs) < n/4 {
		t.Errorf("%d bytes in %d documents", x.size, len(x.docs))
	}
	if len(x.find("number0", "")) != 0 {
		t.Error("the oldest is still there")
	}
	for _, i := range []int{n - 1, n - 2, n - n/4} {
		hits := x.find(fmt.Sprintf("number%d", i), "")
		if len(hits) == 0 || !strings.HasPrefix(x.docs[hits[0]].text, fmt.Sprintf("number%d ", i)) {
			t.Errorf("number %d is not found first: %v", i, hits)
		}
	}
	size := 0
	for _, d := range x.docs {
		size += len(d.text)
	}
	if size != x.size || !slices.IsSortedFunc(x.postings["filler"], func(a, b posting) int { return a.doc - b.doc }) {
		t.Errorf("the index counts %d bytes and has %d", x.size, size)
	}
}

func TestAround(t *testing.T) {
	text := strings.Repeat("before ", 100) + "NEEDLE " + strings.Repeat("after ", 100)
	got := around(text, []string{"missing", "needle"}, 60)
	if !strings.Contains(got, "NEEDLE") || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") || len([]rune(got)) != 62 {
		t.Errorf("%q", got)
	}
	if got := around("short\n text", nil, 60); got != "short text" {
		t.Errorf("%q", got)
	}
}

// FuzzWords: words never fail, and a text is found by each of its own words.
func FuzzWords(f *testing.F) {
	f.Add("Hello 世界, データ 회의 42")
	f.Fuzz(func(t *testing.T, text string) {
		x := newIndex()
		x.add(document{text: text})
		for _, w := range words(text) {
			if len(x.docs) > 0 && len(x.docs[0].text) == len(text) && len(x.find(w, "")) != 1 {
				t.Fatalf("%q is not found by %q", text, w)
			}
		}
	})
}
