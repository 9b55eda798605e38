package markup

import (
	"strings"
	"sync"
	"testing"
)

func dialects() map[string]Dialect {
	return map[string]Dialect{"telegram": Telegram(), "slack": Slack(), "discord": Discord()}
}

// TestSplitOfWhatFits holds that a source is left alone where nothing has to be done.
func TestSplitOfWhatFits(t *testing.T) {
	for name, d := range dialects() {
		if got := d.Split("a_b *c*  \nd"); len(got) != 1 || got[0] != "a_b *c*  \nd" {
			t.Errorf("%s: split of a short text is %q", name, got)
		}
		for _, empty := range []string{"", " \n\t\n", "\u200b", "```\n```", "[a]: http://e.test"} {
			if got := d.Split(empty); got != nil {
				t.Errorf("%s: split of %q is %q, want nothing", name, empty, got)
			}
		}
	}
}

// TestConcurrentUse is for the race detector: one parser serves all.
func TestConcurrentUse(t *testing.T) {
	const source = "# a\n\n| b | c |\n|---|---|\n| [d](http://e.test) | `e` |"
	want := Telegram().Render(source)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if got := Telegram().Render(source); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
	wait.Wait()
}

// reporter is a *testing.T or a *rapid.T.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkSplit holds what every split promises: each piece fits, and together they say what the source said.
func checkSplit(t reporter, d Dialect, source string) []string {
	t.Helper()
	pieces := d.Split(source)
	rest := squeeze(Plain(source))
	for i, piece := range pieces {
		if wire := d.Render(piece); !d.Fits(piece) || wire == "" {
			t.Fatalf("piece %d does not fit (%.2f):\n%q\nrendered:\n%q", i, d.fill(wire), piece, wire)
		}
		said := squeeze(Plain(piece))
		if !strings.HasPrefix(rest, said) {
			said = strings.TrimPrefix(said, squeeze(repeatedHeader(parse(piece))))
		}
		if !strings.HasPrefix(rest, said) || said == "" {
			t.Fatalf("piece %d says\n%q\nwant the beginning of\n%q", i, said, rest)
		}
		rest = rest[len(said):]
	}
	if !blank(rest) {
		t.Fatalf("lost: %q", rest)
	}
	return pieces
}

// repeatedHeader is the header of the table that a piece begins with, if it does.
func repeatedHeader(blocks []block) string {
	if len(blocks) == 0 {
		return ""
	}
	switch b := blocks[0].(type) {
	case quote:
		return repeatedHeader(b.blocks)
	case table:
		return spelledFlat(joinCells(b.header))
	}
	return ""
}
