package fulltext

import (
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
		if d := cmp.Diff(want, Words(text)); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
}

func TestAround(t *testing.T) {
	text := strings.Repeat("before ", 100) + "NEEDLE " + strings.Repeat("after ", 100)
	got := Around(text, []string{"missing", "needle"}, 60)
	if !strings.Contains(got, "NEEDLE") || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") || len([]rune(got)) != 62 {
		t.Errorf("%q", got)
	}
	if got := Around("short\n text", nil, 60); got != "short text" {
		t.Errorf("%q", got)
	}
}

func TestIndex(t *testing.T) {
	x := New()
	texts := []string{"the pool of connections is exhausted", "the pool is green", "连接池耗尽时重启数据库", "nothing of the kind"}
	for i, text := range texts {
		if n := x.Add(text); n != i {
			t.Fatalf("text %d has the number %d", i, n)
		}
	}
	best := func(query string) (found int) {
		found = -1
		scores := x.Scores(query)
		for n, score := range scores {
			if found < 0 || score > scores[found] {
				found = n
			}
		}
		return found
	}
	for query, want := range map[string]int{"pool exhausted": 0, "green pool": 1, "数据库": 2, "耗": 2, "conn": 0, "absent": -1} {
		if got := best(query); got != want {
			t.Errorf("%q finds %d, want %d", query, got, want)
		}
	}
	x.Remove(0, texts[0])
	x.Remove(0, texts[0])
	if got := best("pool exhausted"); got != 1 {
		t.Errorf("after the removal %d is found", got)
	}
	for i, text := range texts {
		x.Remove(i, text)
	}
	if len(x.postings) != 0 || x.words != 0 {
		t.Errorf("an empty index holds %v, %d words", x.postings, x.words)
	}
	if n := x.Add("again"); n != len(texts) {
		t.Errorf("a number was given twice: %d", n)
	}
}

// FuzzWords: words never fail, and a text is found by each of its own words until it is removed.
func FuzzWords(f *testing.F) {
	f.Add("Hello 世界, データ 회의 42")
	f.Fuzz(func(t *testing.T, text string) {
		x := New()
		n := x.Add(text)
		for _, w := range Words(text) {
			if x.Scores(w)[n] <= 0 {
				t.Fatalf("%q is not found by %q", text, w)
			}
		}
		x.Remove(n, text)
		if len(x.postings) != 0 {
			t.Fatalf("%q left %v", text, x.postings)
		}
	})
}
