package files

import (
	"fmt"
	"strings"
	"testing"
)

func TestSearchContent(t *testing.T) {
	b := newBench(t, map[string]string{
		"a.go":         "package a\nfunc Run() {}\n// run\n",
		"docs/b.md":    "run it\nRUN\n",
		"docs/c.txt":   "nothing\n",
		"bin":          "run\x00",
		".git/config":  "run",
		"empty":        "",
		"deep/x/y/z.c": "run",
	})
	b.want("search_files", `{"pattern":"run"}`,
		"a.go:3:// run\ndeep/x/y/z.c:1:run\ndocs/b.md:1:run it\n[lines 1 to 3; that is all]")
	b.want("search_files", `{"pattern":"(?i)^run","path":"docs"}`, "docs/b.md:1:run it\ndocs/b.md:2:RUN\n[lines 1 to 2; that is all]")
	b.want("search_files", `{"pattern":"(?i)run","file_glob":"*.go"}`, "a.go:2:func Run() {}\na.go:3:// run\n[lines 1 to 2; that is all]")
	b.want("search_files", `{"pattern":"run","file_glob":"deep/**/*.c"}`, "deep/x/y/z.c:1:run\n[lines 1 to 1; that is all]")
	b.want("search_files", `{"pattern":"run","path":"docs/b.md"}`, "docs/b.md:1:run it\n[lines 1 to 1; that is all]")
	b.want("search_files", `{"pattern":"run","limit":2}`,
		"a.go:3:// run\ndeep/x/y/z.c:1:run\n[lines 1 to 2; there are more, go on with offset 2]")
	b.want("search_files", `{"pattern":"run","limit":2,"offset":2}`, "docs/b.md:1:run it\n[lines 3 to 3; that is all]")
	b.want("search_files", `{"pattern":"run","offset":9}`, "There are only 3 results; offset 9 is behind the last.")
	b.want("search_files", `{"pattern":"(?i)run","output_mode":"files"}`, "a.go\ndeep/x/y/z.c\ndocs/b.md\n[files 1 to 3; that is all]")
	b.want("search_files", `{"pattern":"(?i)run","output_mode":"count"}`, "a.go: 2\ndeep/x/y/z.c: 1\ndocs/b.md: 2\n[files 1 to 3; that is all]")
	b.want("search_files", `{"pattern":"absent"}`, "No line matches absent, in 5 text files.")
	b.fails("search_files", `{"pattern":"Run("}`, "RE2", `Run\(`)
	b.fails("search_files", `{"pattern":""}`, "between 1 and")
	b.fails("search_files", `{"pattern":"x","file_glob":"[a"}`, "without its ]")
}

func TestSearchNames(t *testing.T) {
	b := newBench(t, map[string]string{"a.go": "12", "src/b.go": "", "src/c.md": "1", ".hidden": "", ".git/HEAD": ""})
	b.want("search_files", `{"pattern":"*","target":"files"}`,
		".hidden (0 bytes)\na.go (2 bytes)\nsrc/\nsrc/b.go (0 bytes)\nsrc/c.md (1 byte)\n[files 1 to 5; that is all]")
	b.want("search_files", `{"pattern":"*.go","target":"files"}`, "a.go (2 bytes)\nsrc/b.go (0 bytes)\n[files 1 to 2; that is all]")
	b.want("search_files", `{"pattern":"C.m","target":"files"}`, "src/c.md (1 byte)\n[files 1 to 1; that is all]")
	b.want("search_files", `{"pattern":"*.{md,txt}","target":"files","path":"src"}`, "src/c.md (1 byte)\n[files 1 to 1; that is all]")
	b.want("search_files", `{"pattern":"src/*","target":"files","limit":1}`, "src/b.go (0 bytes)\n[files 1 to 1; there are more, go on with offset 1]")
	b.want("search_files", `{"pattern":"*.py","target":"files"}`, "No name matches *.py, of 5 looked at.")
	newBench(t, nil).want("search_files", `{"pattern":"*","target":"files"}`, "The folder is empty.")
}

func TestLongLinesInSearch(t *testing.T) {
	b := newBench(t, map[string]string{"min.js": strings.Repeat("é", 5000) + "NEEDLE" + strings.Repeat("é", 5000) + "\nNEEDLE\n"})
	got := b.call("search_files", `{"pattern":"NEEDLE"}`).Text
	if !strings.Contains(got, "NEEDLE") || len(got) > 2*maxHitBytes || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	b.put("far", strings.Repeat("z", searchedLine)+"BEHIND\nBEHIND\n")
	b.want("search_files", `{"pattern":"BEHIND"}`, "far:2:BEHIND\n[lines 1 to 1; that is all]")
}

func TestGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a/b.go", true},
		{"*.go", "a.gox", false},
		{"a/*.go", "a/b.go", true},
		{"a/*.go", "a/b/c.go", false},
		{"a/**", "a/b/c.go", true},
		{"**/c.go", "c.go", true},
		{"**/c.go", "a/b/c.go", true},
		{"**/c.go", "a/bc.go", false},
		{"./a.go", "a.go", true},
		{"?.go", "é.go", true},
		{"[!a].go", "a.go", false},
		{"[a-c].go", "b.go", true},
		{"x{1,2}", "x2", true},
		{"x{1,2}", "x3", false},
		{"a,b", "a,b", true},
		{"a+b(c).go", "a+b(c).go", true},
		{"é*", "éa", true},
	} {
		t.Run(fmt.Sprintf("%s %s", test.pattern, test.path), func(t *testing.T) {
			g, err := parseGlob(test.pattern, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := g.matches(test.path); got != test.want {
				t.Errorf("matches = %v as %v", got, g.pattern)
			}
		})
	}
	for _, broken := range []string{"[", "[]", "{a", "[z-a]"} {
		if _, err := parseGlob(broken, false); err == nil {
			t.Errorf("%q is accepted", broken)
		}
	}
}
