package telegram

import (
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// A long text arrives as several messages, in order, each with an update of its own.
func TestLongTextIsSeveralMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer()
		asked := mustSend(t, s, "chat_id", "100", "text", "How was it?")
		text := strings.Repeat("é", 4000) + "\n" + strings.Repeat("word ", 1500) + "end"
		first, err := s.Say(sim.Say{User: "100", Chat: "100", Text: text, ReplyTo: asked, File: "notes.txt"})
		if err != nil {
			t.Fatal(err)
		}
		shown := s.Visible("100")[1:]
		if len(shown) != 3 || shown[0].ID != first || shown[0].ReplyTo != asked || shown[0].File != "notes.txt" {
			t.Fatalf("%d messages, the first one is %.200v", len(shown), shown[0])
		}
		if shown[1].ReplyTo != "" || shown[1].File != "" {
			t.Errorf("the second is a reply to %q with the file %q", shown[1].ReplyTo, shown[1].File)
		}
		if shown[0].Visible != strings.Repeat("é", 4000) || !strings.HasSuffix(shown[1].Visible, " word") || !strings.HasSuffix(shown[2].Visible, " end") {
			t.Errorf("cut elsewhere: %.20q, %.20q, %.20q", shown[0].Visible, shown[1].Visible, shown[2].Visible)
		}
		if got := updateIDs(t, s); len(got) != 3 {
			t.Errorf("updates %v, want 3", got)
		}
	})
}

func TestSplitTyped(t *testing.T) {
	pieces := []string{"a", " ", "\n", "😀", strings.Repeat("x", 1500), strings.Repeat("é ", 900), strings.Repeat(" ", 5000)}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), "") + "z"
		parts := splitTyped(text)
		for _, part := range parts {
			if n := utf8.RuneCountInString(part); n > maxTextRunes || n == 0 {
				t.Fatalf("a part of %d characters", n)
			}
		}
		if got, want := strings.Fields(strings.Join(parts, "")), strings.Fields(text); strings.Join(got, "") != strings.Join(want, "") {
			t.Error("the words changed")
		}
	})
}
