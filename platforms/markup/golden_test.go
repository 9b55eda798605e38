package markup

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

type goldenCase struct {
	name   string
	source string
	file   string
	ar     *txtar.Archive
}

// goldenCases reads testdata: one archive a case, with the source and what each dialect makes of it. A zero width space
// is written {zws}, a trailing space {sp}, and a marker that Slack is to show as it is {*}, so that they can be seen.
func goldenCases(t testing.TB) []goldenCase {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	var cases []goldenCase
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, goldenCase{
			name: strings.TrimSuffix(filepath.Base(file), ".txtar"), source: hide(section(ar, "source.md")), file: file, ar: ar,
		})
	}
	return cases
}

func section(ar *txtar.Archive, name string) string {
	for _, f := range ar.Files {
		if f.Name == name {
			return strings.TrimSuffix(string(f.Data), "\n")
		}
	}
	return ""
}

func hide(s string) string { return strings.NewReplacer("{zws}", zeroWidth, "{sp}", " ").Replace(s) }

func show(s string) string {
	for _, marker := range slackMarkers {
		s = strings.ReplaceAll(s, literally(marker), "{"+string(marker)+"}")
	}
	return strings.NewReplacer(zeroWidth, "{zws}", " \n", "{sp}\n").Replace(s)
}

func TestGolden(t *testing.T) {
	for _, c := range goldenCases(t) {
		t.Run(c.name, func(t *testing.T) {
			got := map[string]string{
				"telegram": Telegram().Render(c.source),
				"slack":    Slack().Render(c.source),
				"discord":  Discord().Render(c.source),
				"plain":    Plain(c.source),
			}
			if *update {
				writeGolden(t, c, got)
				return
			}
			for name, wire := range got {
				if diff := cmp.Diff(section(c.ar, name), show(wire)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if err := checkTelegramHTML(got["telegram"]); err != nil {
				t.Error(err)
			}
			checkPings(t, Slack(), got["slack"])
			checkPings(t, Discord(), got["discord"])
			// Written as Markdown again, as pieces are, it must look the same but for blank lines.
			again, _ := source(parse(c.source))
			for name, d := range dialects() {
				if diff := cmp.Diff(squeeze(got[name]), squeeze(d.Render(again))); diff != "" {
					t.Errorf("%s, by way of %q (-direct +again):\n%s", name, again, diff)
				}
			}
		})
	}
}

func writeGolden(t *testing.T, c goldenCase, got map[string]string) {
	t.Helper()
	ar := &txtar.Archive{Comment: c.ar.Comment, Files: []txtar.File{{Name: "source.md", Data: []byte(show(c.source) + "\n")}}}
	for _, name := range []string{"telegram", "slack", "discord", "plain"} {
		ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(show(got[name]) + "\n")})
	}
	if err := os.WriteFile(c.file, txtar.Format(ar), 0o644); err != nil {
		t.Fatal(err)
	}
}
