package fulltext

import (
	"slices"
	"strings"
	"unicode"
)

const maxWord = 40 // runes; longer ones are hashes and the like, of which the beginning is enough

// cjk are the scripts that write no spaces between words, or, as Korean, append endings to them. Their texts are indexed
// by pairs of neighbouring characters.
var cjk = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

// isCJK also takes the mark of long vowels and of repetition, which belong to no script of their own.
func isCJK(r rune) bool { return unicode.In(r, cjk...) || r == 'ー' || r == '々' }

// Words takes a text apart for the index: lower-case words of letters and digits, and pairs of neighbouring Chinese,
// Japanese and Korean characters; one that stands alone is a word by itself.
func Words(text string) (out []string) {
	var run []rune // of one kind
	var wide bool
	flush := func() {
		switch {
		case len(run) == 0:
		case wide && len(run) > 1:
			for i := range len(run) - 1 {
				out = append(out, string(run[i:i+2]))
			}
		default:
			out = append(out, string(run[:min(len(run), maxWord)]))
		}
		run = run[:0]
	}
	for _, r := range text {
		switch {
		case isCJK(r):
			if !wide {
				flush()
			}
			wide = true
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if wide {
				flush()
			}
			wide = false
			r = unicode.ToLower(r)
		default:
			flush()
			continue
		}
		run = append(run, r)
	}
	flush()
	return out
}

// matches tells whether a word of the index is meant by a word of a query: a longer word that begins with it, or a pair
// that a single character stands in.
func matches(query, indexed string) bool {
	q := []rune(query)
	if len(q) == 1 && isCJK(q[0]) {
		return strings.ContainsRune(indexed, q[0])
	}
	return len(q) >= 4 && !isCJK(q[0]) && strings.HasPrefix(indexed, query)
}

// Around returns at most n runes of a text, around the first place where one of the words stands.
func Around(text string, query []string, n int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= n {
		return string(runes)
	}
	lower := make([]rune, len(runes))
	for i, r := range runes {
		lower[i] = unicode.ToLower(r)
	}
	from := 0
	for _, word := range query {
		if at := strings.Index(string(lower), word); at >= 0 {
			from = len([]rune(string(lower)[:at]))
			break
		}
	}
	from = max(0, min(from-n/3, len(runes)-n))
	out := string(runes[from:min(len(runes), from+n)])
	if from > 0 {
		out = "…" + out
	}
	if from+n < len(runes) {
		out += "…"
	}
	return out
}

// Distinct returns the words without repetitions, in order.
func Distinct(all []string) (out []string) {
	for _, w := range all {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
