package ops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

const runbook = `# Database

How it is run.

## Pool exhausted

All connections are taken. Usual cause: a leak.

` + "```sh\n# not a heading\npsql -c 'select 1'\n```" + `

## Backups

Every night.
`

func TestKnowledge(t *testing.T) {
	b := newBench(t, Options{Documents: []string{"docs"}})
	b.fails("search_knowledge_base", `{"query":"pool"}`, "There are no documents", "cannot be opened")
	b.put("docs/db/runbook.md", runbook)
	b.put("docs/数据库.txt", "连接池耗尽时，先重启数据库。\n")
	b.put("docs/page.html", "<html><head><title>Mail</title><style>pool {}</style></head>\n<body>\n  <h1>Mail &amp; more</h1>\n<p>The spam<br>filter\nhas a pool.</p></body></html>")
	b.put("docs/.git/x.md", "pool exhausted")
	b.put("docs/x.bin", "pool exhausted")
	b.want("search_knowledge_base", `{"query":"pool exhausted","limit":2}`, `1. /x/docs/db/runbook.md:5 (Database > Pool exhausted)
   5|## Pool exhausted
   7|All connections are taken. Usual cause: a leak.
   9|`+"```sh"+`
   10|# not a heading
   11|psql -c 'select 1'
   12|`+"```"+`
2. /x/docs/page.html:3 (Mail & more)
   3|# Mail & more
   4| The spam filter
   5|has a pool.
[2 passages of 3 documents; 2 shown, the best first]`)
	b.has("search_knowledge_base", `{"query":"连接池"}`, "/x/docs/数据库.txt:1", "1|连接池耗尽时")
	b.has("search_knowledge_base", `{"query":"absent"}`, "Nothing was found in 3 documents")
	b.want("search_knowledge_base", `{"path":"/x/docs/db/runbook.md","line":14}`, "14|## Backups\n15|\n16|Every night.\n[lines 14 to 16 of 16; this is the end]")
	b.fails("search_knowledge_base", `{"path":"/x/docs/runbook.md"}`, "did you mean /x/docs/db/runbook.md?")
	b.fails("search_knowledge_base", `{"path":"/etc/passwd"}`, "no document")
	b.fails("search_knowledge_base", `{}`, "must be given")
	b.fails("search_knowledge_base", `{"query":"?!"}`, "no word")

	// What changes is seen at the next search, what is removed is gone, and links lead nowhere.
	path := b.put("docs/db/runbook.md", "# New\n\nPool drained.\n")
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	b.put("secret.md", "pool exhausted")
	if err := os.Symlink(filepath.Join(b.dir, "secret.md"), filepath.Join(b.dir, "docs/link.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.dir, "docs/page.html")); err != nil {
		t.Fatal(err)
	}
	b.has("search_knowledge_base", `{"query":"pool exhausted"}`, "/x/docs/db/runbook.md:1 (New)", "[1 passage of 2 documents")
}

// TestLibraryForgets: after documents came and went, nothing of them is left.
func TestLibraryForgets(t *testing.T) {
	l := newLibrary(nil)
	info, err := fstest.MapFS{"x": {}}.Stat("x")
	if err != nil {
		t.Fatal(err)
	}
	l.take("/a.md", runbook, info)
	l.take("/b.html", "<p>x", info)
	l.forget("/a.md")
	l.forget("/b.html")
	if len(l.passages)+len(l.documents) != 0 || len(l.index.Scores("pool exhausted x")) != 0 || l.size != 0 {
		t.Errorf("%+v", l)
	}
}

// FuzzSplit: every line of a document is in one passage, under its own number, and an HTML page keeps its lines.
func FuzzSplit(f *testing.F) {
	f.Add(runbook)
	f.Add("<h1>a</h1>\n<script>\nx\n</script><!-- \n --> b")
	f.Fuzz(func(t *testing.T, text string) {
		var lines []string
		for _, p := range split("x.md", text) {
			if p.line != len(lines)+1 {
				t.Fatalf("a passage begins at %d after %d lines", p.line, len(lines))
			}
			lines = append(lines, p.lines...)
		}
		want := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d", len(lines), len(want))
		}
		for i, line := range want {
			if strings.TrimRight(line, "\r") != lines[i] {
				t.Fatalf("line %d is %q, not %q", i+1, lines[i], line)
			}
		}
		plainHTML(text)
	})
}
