package markup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// words is a text of n words that can be told apart.
func words(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return strings.TrimSpace(b.String())
}

func TestSplitPrefersParagraphs(t *testing.T) {
	a, b, c := words(150), words(150), words(90)
	want := []string{a, b + "\n\n" + c}
	if diff := cmp.Diff(want, Discord().Split(a+"\n\n"+b+"\n\n"+c)); diff != "" {
		t.Error(diff)
	}
}

func TestSplitKeepsHeadingsWithTheirText(t *testing.T) {
	pieces := checkSplit(t, Discord(), words(200)+"\n\n# A title\n\n## And another\n\n"+words(200))
	if len(pieces) != 2 || !strings.HasPrefix(pieces[1], "# A title") {
		t.Errorf("got %d pieces, the second begins with %.40q", len(pieces), pieces[1])
	}
}

func TestSplitFillsUpAfterAShortBeginning(t *testing.T) {
	pieces := checkSplit(t, Discord(), "Here it is:\n\n```go\n"+strings.Repeat("x := 1\n", 600)+"```")
	if !strings.HasPrefix(pieces[0], "Here it is:\n\n```go\nx := 1\n") {
		t.Errorf("the first piece is %.60q", pieces[0])
	}
}

func TestSplitFillsUpAfterAnAnnouncement(t *testing.T) {
	pieces := checkSplit(t, Discord(), "Intro.\n\n# Code\n\nHere:\n\n```go\n"+strings.Repeat("x := 1\n", 600)+"```")
	if !strings.HasPrefix(pieces[0], "Intro.\n\n# Code\n\nHere:\n\n```go\nx := 1\n") {
		t.Errorf("the first piece is %.60q", pieces[0])
	}
	pieces = checkSplit(t, Discord(), words(150)+"\n\nIn short:\n\n- "+words(150))
	if len(pieces) != 2 || !strings.HasPrefix(pieces[1], "In short:\n\n- word0") {
		t.Errorf("%d pieces, the last is %.60q", len(pieces), pieces[len(pieces)-1])
	}
}

func TestSplitOfCodePrefersBlankLines(t *testing.T) {
	function := strings.Repeat("x := 1\n", 30)
	for i, piece := range checkSplit(t, Discord(), "```go\n"+strings.Repeat(function+"\n", 20)+"```") {
		lines := strings.Count(piece, "x := 1")
		if lines%30 != 0 {
			t.Errorf("piece %d has %d lines, want whole functions of 30", i, lines)
		}
	}
}

func TestSplitCutsAtSentencesThenSpaces(t *testing.T) {
	for _, piece := range checkSplit(t, Discord(), strings.Repeat("This is one sentence of some length. ", 200)) {
		if !strings.HasSuffix(piece, "length.") || !strings.HasPrefix(piece, "This") {
			t.Errorf("cut inside a sentence: %.20q ... %q", piece, piece[len(piece)-20:])
		}
	}
	for _, piece := range checkSplit(t, Discord(), words(2000)) {
		if !strings.HasPrefix(piece, "word") || strings.HasSuffix(piece, "word") {
			t.Errorf("cut inside a word: %.20q ... %q", piece, piece[len(piece)-20:])
		}
	}
}

func TestSplitCutsBetweenGraphemes(t *testing.T) {
	const family = "👩‍👩‍👧‍👦"
	for name, d := range dialects() {
		for i, piece := range checkSplit(t, d, strings.Repeat(family, 2000)) {
			if strings.Trim(strings.ReplaceAll(piece, family, ""), " ") != "" {
				t.Errorf("%s: piece %d has a part of a family", name, i)
			}
		}
	}
}

// A character as people see it can be longer than a message.
func TestSplitOfOneEndlessGrapheme(t *testing.T) {
	for _, d := range dialects() {
		checkSplit(t, d, "a"+strings.Repeat("\u0301", 9000))
	}
}

func TestSplitKeepsLinksAndStylesWhole(t *testing.T) {
	source := strings.TrimSpace(strings.Repeat("some text and [a label of words](http://e.test/some/where) **and bold words** `some code here` ", 60))
	for i, piece := range checkSplit(t, Discord(), source) {
		for mark, n := range map[string]int{
			"](": strings.Count(piece, "[a label of words](<http://e.test/some/where>)"),
			"**": 2 * strings.Count(piece, "**and bold words**"), "`": 2 * strings.Count(piece, "`some code here`"),
		} {
			if strings.Count(piece, mark) != n {
				t.Errorf("piece %d has a part of a span marked %q: %q", i, mark, piece)
			}
		}
	}
}

func TestSplitReopensStyles(t *testing.T) {
	for i, piece := range checkSplit(t, Discord(), "**"+words(600)+"**") {
		if !strings.HasPrefix(piece, "**") || !strings.HasSuffix(piece, "**") {
			t.Errorf("piece %d is not bold", i)
		}
	}
}

// A label longer than a message becomes text, with the address shown once.
func TestSplitOfALongLabel(t *testing.T) {
	for name, d := range dialects() {
		pieces := checkSplit(t, d, "["+words(1500)+"](http://e.test/x)")
		if n := strings.Count(strings.Join(pieces, ""), "e.test/x"); n != 1 {
			t.Errorf("%s: the address is there %d times", name, n)
		}
	}
}

func TestSplitOfALongAddress(t *testing.T) {
	for _, d := range dialects() {
		checkSplit(t, d, "see [x](http://e.test/"+strings.Repeat("a/", 20_000)+") there")
	}
}

func TestSplitGoesOnCounting(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "%d. %s\n", i+7, words(10))
	}
	next := 7
	for _, piece := range checkSplit(t, Discord(), b.String()) {
		for line := range strings.Lines(Discord().Render(piece)) {
			if want := fmt.Sprintf("%d. word0", next); !strings.HasPrefix(line, want) {
				t.Fatalf("got %.20q, want %q", line, want)
			}
			next++
		}
	}
	if next != 107 {
		t.Errorf("counted up to %d", next)
	}
}

func TestSplitInsideAnItem(t *testing.T) {
	pieces := checkSplit(t, Discord(), "3. short\n4. "+words(400)+"\n\n   "+words(100)+"\n5. last")
	wire := Discord().Render(pieces[len(pieces)-1])
	if !strings.HasSuffix(wire, "5. last") {
		t.Errorf("the last piece ends in %q", wire[len(wire)-20:])
	}
}

func TestSplitInsideAQuote(t *testing.T) {
	source := "> " + strings.Repeat("A quoted sentence. ", 300)
	for i, piece := range checkSplit(t, Telegram(), source) {
		if wire := Telegram().Render(piece); !strings.HasPrefix(wire, "<blockquote>") || checkTelegramHTML(wire) != nil {
			t.Errorf("piece %d is no quote: %.40q", i, wire)
		}
	}
}

func TestSplitCarriesReferences(t *testing.T) {
	source := words(300) + "\n\n[far][1] away\n\n[1]: http://e.test/far"
	pieces := checkSplit(t, Discord(), source)
	if got := Discord().Render(pieces[len(pieces)-1]); !strings.HasSuffix(got, "[far](http://e.test/far) away") {
		t.Errorf("the reference is lost: %q", got)
	}
}

func TestSplitOfATableWithAHugeRow(t *testing.T) {
	for _, d := range dialects() {
		checkSplit(t, d, "| a | b |\n|---|---|\n| 1 | 2 |\n| "+words(1500)+" | x |\n| 3 | 4 |")
	}
}

func TestDeepNestingEnds(t *testing.T) {
	for _, d := range dialects() {
		checkSplit(t, d, strings.Repeat("> ", 300)+"x")
		checkSplit(t, d, strings.Repeat("- ", 300)+words(1000))
		checkSplit(t, d, strings.Repeat(">", 300)+" "+words(2000))
	}
}

// fragments are what models write, and where the seams between them hurt.
var fragments = []string{
	"word", "Some sentence. ", "**bold**", "*it*", "~~s~~", "`code`", "``a`b``", "[l](http://e.test/a_(b))", "http://e.test/x_y", "\n",
	"\n\n", "  \n", "\n- ", "\n  - ", "\n1. ", "\n99. ", "\n- [ ] ", "\n> ", "\n> > ", "\n# ", "\n```go\n", "\n```\n", "\n\n| a | b |\n|---|:-:|\n| c | d |\n",
	"\n---\n", "\n***\n", "*", "**", "_", "__", "~", "`", "[", "]", "(", ")", "<b>", "<@1>", "@everyone", "<!here>", "&lt;", "&amp;", "\\", "\\*", "|",
	"👩‍👩‍👧", "日本語。", "שלום", "\t", "    ", "!", "![i](http://e.test/i.png)", "[r]", "\n[r]: http://e.test/r\n", "\u00a0", "\u200b", "1.", "2)", "+ ", "=", ":", "www.e.test", "a@e.test",
}

// TestSplitProperties puts fragments together at random: every split ends, fits, and keeps the text.
func TestSplitProperties(t *testing.T) {
	for name, d := range dialects() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 1, 60).Draw(r, "fragments"), "")
				source = strings.Repeat(source, rapid.IntRange(1, 30).Draw(r, "times"))
				if isTelegram := name == "telegram"; isTelegram {
					if err := checkTelegramHTML(d.Render(source)); err != nil {
						r.Fatal(err)
					}
				}
				checkSplit(r, d, source)
			})
		})
	}
}
