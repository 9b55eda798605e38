package markup

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// The tests here hold faults that other chat gateways had, each with the input that showed it.

// Underscores in addresses and in words are not emphasis, and no later step looks at produced HTML.
func TestUnderscoresInAddresses(t *testing.T) {
	const source = "http://e.test/a_b http://e.test/c_d [x](http://e.test/?t=_ab_cd) some_file_name.go"
	want := `<a href="http://e.test/a_b">http://e.test/a_b</a> <a href="http://e.test/c_d">http://e.test/c_d</a> ` +
		`<a href="http://e.test/?t=_ab_cd">x</a> some_file_name.go`
	if got := Telegram().Render(source); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, d := range dialects() {
		for _, address := range []string{"http://e.test/a_b", "http://e.test/c_d", "http://e.test/?t=_ab_cd"} {
			if !strings.Contains(d.Render(source), address) {
				t.Errorf("%s lost %s", name, address)
			}
		}
	}
}

// A list whose bullets are stars is a list, and what is sent is well-formed; the plain text is the way out if the platform
// refuses it all the same.
func TestStarBullets(t *testing.T) {
	const source = "*   **Topic**: text"
	if got, want := Telegram().Render(source), "• <b>Topic</b>: text"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Plain(source), "• Topic: text"; got != want {
		t.Errorf("plain: got %q, want %q", got, want)
	}
}

// A fence with one endless line is cut inside the line, reopened with its language, and the splitter ends.
func TestFenceWithOneLongLine(t *testing.T) {
	code := " " + strings.Repeat("x", 9000)
	for name, d := range dialects() {
		pieces := checkSplit(t, d, "```go\n"+code+"\n```")
		var joined string
		for i, piece := range pieces {
			if !strings.HasPrefix(piece, "```go\n") || !strings.HasSuffix(piece, "\n```") {
				t.Errorf("%s: piece %d is no fence of its own: %.20q...", name, i, piece)
			}
			joined += strings.TrimSuffix(strings.TrimPrefix(piece, "```go\n"), "\n```")
		}
		if joined != code {
			t.Errorf("%s: the code changed", name)
		}
	}
}

// An opening line longer than a message is no reason to loop or to lose the code.
func TestFenceLineLongerThanAMessage(t *testing.T) {
	source := "```" + strings.Repeat("language", 1000) + "\n" + strings.Repeat("code\n", 2000) + "```"
	for _, d := range dialects() {
		checkSplit(t, d, source)
	}
}

// A fence on one line is code in the text; its content is not an info string.
func TestFenceOnOneLine(t *testing.T) {
	const source = "```echo hi```"
	for name, want := range map[string]string{"telegram": "<code>echo hi</code>", "slack": "`echo hi`", "discord": "`echo hi`"} {
		if got := dialects()[name].Render(source); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// An info string ends at the end of its line, whatever is in it.
func TestOddInfoStrings(t *testing.T) {
	for _, info := range []string{"c++", "c#", "objective-c++", "go title=\"x\"", "{.py}", "<b>", "\"", "日本語"} {
		source := "```" + info + "\nint main;\n```"
		for name, d := range dialects() {
			wire := d.Render(source)
			if strings.Count(wire, "int main;") != 1 {
				t.Errorf("%s: info %q: code lost in %q", name, info, wire)
			}
		}
		if err := checkTelegramHTML(Telegram().Render(source)); err != nil {
			t.Errorf("info %q: %v", info, err)
		}
	}
	if got, want := Telegram().Render("```c++\nx\n```"), `<pre><code class="language-c++">x</code></pre>`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Discord().Render("```{.py}\nx\n```"), "```\nx\n```"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A table is aligned; one inside a fence is code and left alone.
func TestTableAndTableInFence(t *testing.T) {
	const table = "| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n| 1 | 2 | 3 | 4 | 5 | 66 |"
	for name, d := range dialects() {
		if wire := d.Render(table); strings.Contains(wire, "|") || !strings.Contains(wire, "1  2  3  4  5  66") {
			t.Errorf("%s: not aligned: %q", name, wire)
		}
		if wire := d.Render("```\n" + table + "\n```"); !strings.Contains(wire, table) {
			t.Errorf("%s: changed inside a fence: %q", name, wire)
		}
	}
}

// The header of a table is repeated in every piece.
func TestTableHeaderIsRepeated(t *testing.T) {
	source := "| Name | Value |\n|---|---|\n" + strings.Repeat("| some name | some value |\n", 600)
	for name, d := range dialects() {
		pieces := checkSplit(t, d, source)
		if len(pieces) < 2 {
			t.Errorf("%s: %d pieces", name, len(pieces))
		}
		for i, piece := range pieces {
			if !strings.HasPrefix(piece, "| Name | Value |\n|---|---|\n") {
				t.Errorf("%s: piece %d has no header: %.60q", name, i, piece)
			}
		}
	}
}

// One function measures in every path: a text of emoji must not come out twice too long.
func TestEmojiAreMeasuredInThePlatformsUnit(t *testing.T) {
	source := strings.Repeat("😀", 5000)
	for _, piece := range checkSplit(t, Telegram(), source) {
		if n := len(utf16.Encode([]rune(Telegram().Render(piece)))); n > 4096 {
			t.Errorf("telegram: %d UTF-16 units", n)
		}
	}
	for _, piece := range checkSplit(t, Discord(), source) {
		if n := utf8.RuneCountInString(Discord().Render(piece)); n > 2000 {
			t.Errorf("discord: %d code points", n)
		}
	}
	for _, piece := range checkSplit(t, Slack(), source) {
		if n := len(Slack().Render(piece)); n > 4000 {
			t.Errorf("slack: %d bytes", n)
		}
	}
}

// Discord holds 2,000 code points of the escaped text, Slack 4,000 bytes of it.
func TestEscapesCountTowardsTheLimit(t *testing.T) {
	if d := Discord(); d.Fits(strings.Repeat("\\*", 1001)) || !d.Fits(strings.Repeat("\\*", 1000)) {
		t.Error("discord: an escaped star is two code points")
	}
	if d := Slack(); d.Fits(strings.Repeat("a&lt;", 900)) || !d.Fits(strings.Repeat("a&lt;", 700)) {
		t.Error("slack: &lt; is four bytes")
	}
	if d := Telegram(); !d.Fits(strings.Repeat("&lt;", 4096)) || d.Fits(strings.Repeat("&lt;", 4097)) {
		t.Error("telegram: &lt; is one unit")
	}
	if d := Telegram(); d.Fits(strings.Repeat("[a](http://e.test/"+strings.Repeat("x", 200)+") ", 150)) {
		t.Error("telegram: 32,768 bytes are the most before parsing")
	}
	checkSplit(t, Discord(), strings.Repeat("word ", 520))
	checkSplit(t, Slack(), strings.Repeat("word ", 2680))
}

// The references that a platform resolves are written once, not twice.
func TestEscapingHappensOnce(t *testing.T) {
	const source = "cpu > 80% && ok, and \\&amp;lt; as such"
	const want = "cpu &gt; 80% &amp;&amp; ok, and &amp;amp;lt; as such"
	if got := Slack().Render(source); got != want {
		t.Errorf("slack: got %q, want %q", got, want)
	}
	if got := Telegram().Render(source); got != want {
		t.Errorf("telegram: got %q, want %q", got, want)
	}
}
