package markup

import (
	"regexp"
	"strings"
	"testing"
)

func FuzzTelegram(f *testing.F) { fuzz(f, Telegram()) }
func FuzzSlack(f *testing.F)    { fuzz(f, Slack()) }
func FuzzDiscord(f *testing.F)  { fuzz(f, Discord()) }

// fuzz feeds a source, and the same source many times over, so that short inputs reach the splitter too.
func fuzz(f *testing.F, d Dialect) {
	for _, c := range goldenCases(f) {
		f.Add(c.source, uint16(1))
		f.Add(c.source, uint16(10))
	}
	_, isTelegram := d.syntax.(telegram)
	f.Fuzz(func(t *testing.T, source string, times uint16) {
		source = strings.Repeat(source, int(times)%100+1)
		if len(source) > 10_000 {
			t.Skip("long inputs only slow the search")
		}
		wire := d.Render(source)
		if isTelegram {
			if err := checkTelegramHTML(wire); err != nil {
				t.Fatalf("%v in\n%q", err, wire)
			}
		}
		checkPings(t, d, wire)
		for _, piece := range checkSplit(t, d, source) {
			if err := checkTelegramHTML(d.Render(piece)); isTelegram && err != nil {
				t.Fatalf("%v in a piece of\n%q", err, source)
			}
		}
	})
}

// checkPings holds that no text of a model becomes a mention.
func checkPings(t *testing.T, d Dialect, wire string) {
	t.Helper()
	ping := map[syntax]*regexp.Regexp{
		discord{}:  regexp.MustCompile(`@everyone|@here|<@[!&]?\d`),
		slack{}:    regexp.MustCompile(`<[!@#]`),
		telegram{}: regexp.MustCompile(`(?i)href="tg:(//)?user`),
	}[d.syntax]
	if d.syntax == (slack{}) {
		for _, marker := range slackMarkers {
			wire = strings.ReplaceAll(wire, literally(marker), "")
		}
	}
	if m := ping.FindString(wire); m != "" {
		t.Fatalf("%q in\n%.2000q", m, wire)
	}
}
