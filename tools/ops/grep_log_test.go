package ops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const appLog = `2026-05-01T12:00:00Z INFO started
2026-05-01T12:01:00Z WARN pool 80% used
2026-05-01T12:02:00Z ERROR pool exhausted after 31 ms
	at pool.go:17
2026-05-01T12:03:00Z INFO retry 7
2026-05-01T12:04:00Z ERROR pool exhausted after 45 ms
`

func TestGrep(t *testing.T) {
	b := newBench(t, Options{Logs: []string{"app/*.log"}})
	b.put("app/app.log", appLog)
	b.put("app/web.log", "no times here\nERROR x\n")
	b.put("app/binary.log", "a\x00b")
	b.put("app/secret.txt", "ERROR hidden")
	b.want("grep_log", `{"level":"error"}`, `/x/app/app.log
3:2026-05-01T12:02:00Z ERROR pool exhausted after 31 ms
4:	at pool.go:17
6:2026-05-01T12:04:00Z ERROR pool exhausted after 45 ms
/x/app/web.log
2:ERROR x
[matches 1 to 4, that is all, 2026-05-01T12:02:00Z to 2026-05-01T12:04:00Z; by level: error 4; searched 8 lines in 2 files; not read: /x/app/binary.log: it is not text]`)
	b.want("grep_log", `{"pattern":"exhausted","files":["app.log"],"context":1,"limit":1}`, `/x/app/app.log
2-2026-05-01T12:01:00Z WARN pool 80% used
3:2026-05-01T12:02:00Z ERROR pool exhausted after 31 ms
4-	at pool.go:17
[matches 1 to 1 of 2, 2026-05-01T12:02:00Z to 2026-05-01T12:04:00Z; go on with offset 1, or narrow the search; by level: error 2; searched 6 lines in 1 file]`)
	b.has("grep_log", `{"pattern":"exhausted","files":["/x/app/app.log"],"limit":1,"offset":1}`, "6:2026", "[matches 2 to 2 of 2")
	b.has("grep_log", `{"pattern":"exhausted","files":["app.log"],"newest":true,"limit":1,"context":1}`, "5-2026", "6:2026", "[matches 2 to 2 of 2", "for those before add offset 1")
	b.has("grep_log", `{"pattern":"exhausted","files":["app.log"],"newest":true,"limit":1,"offset":1}`, "3:2026", "[matches 1 to 1 of 2")
	b.want("grep_log", `{"files":["*"],"since":"2026-05-01T14:01:00+02:00","until":"2026-05-01T12:02:00Z"}`, `/x/app/app.log
2:2026-05-01T12:01:00Z WARN pool 80% used
[matches 1 to 1, that is all, at 2026-05-01T12:01:00Z; by level: warn 1; searched 8 lines in 2 files; 1 file without any time in a known form, so nothing of it is in the window; not read: /x/app/binary.log: it is not text]`)
	b.want("grep_log", `{"count":true,"level":"warn","files":["app.log"],"pattern":"pool [e8]"}`, `2 × ERROR pool exhausted after <n> ms
    2026-05-01T12:02:00Z to 2026-05-01T12:04:00Z, first in /x/app/app.log:3
1 × WARN pool <n>% used
    at 2026-05-01T12:01:00Z, in /x/app/app.log:2
[3 lines in all; by level: warn 1, error 2; searched 6 lines in 1 file]`)
	b.has("grep_log", `{"pattern":"absent"}`, "[nothing matches; searched 8 lines")
	b.has("grep_log", `{"pattern":"x","offset":9}`, "offset 9 is behind the last of")

	b.fails("grep_log", `{"since":"yesterday"}`, "not a point in time", `\"2h\"`)
	b.fails("grep_log", `{"since":"2026-05-02T00:00:00Z","until":"2026-05-01T00:00:00Z"}`, "swap the two")
	b.fails("grep_log", `{"since":"1h","until":"2h"}`, "is not before until")
	b.fails("grep_log", `{"pattern":"pool("}`, "RE2", `pool\\\\(`)
	b.fails("grep_log", `{"files":["/x/app/secret.txt"]}`, "not among the logs", "*.log")
	b.fails("grep_log", `{"files":["/etc/app.log"]}`, "not among the logs", `write \"/x/app/app.log\"`)
	b.fails("grep_log", `{"files":["../app.log"]}`, "leads out")
	b.fails("grep_log", `{"files":["ap.log"]}`, "Did you mean app.log?", "/x/app/web.log")
}

func TestGrepRotated(t *testing.T) {
	b := newBench(t, Options{Logs: []string{"app.log", "deep/*/x-*.log"}})
	b.put("app.log", "2026-05-01T12:04:00Z four\n")
	b.put("app.log.1", "2026-05-01T12:03:00Z three\n")
	b.put("app.log.2.gz", "2026-05-01T12:02:00Z two\n")
	b.put("app.log.10.gz", "2026-05-01T12:01:00Z one\n")
	b.put("app.log.bak", "2026-05-01T12:00:00Z none\n")
	b.put("deep/a/x-1.log", "2026-05-01T12:05:00Z five\n")
	b.put("deep/a/b/x-1.log", "2026-05-01T12:05:00Z none\n")
	b.want("grep_log", `{}`, `/x/app.log.10.gz
1:2026-05-01T12:01:00Z one
/x/app.log.2.gz
1:2026-05-01T12:02:00Z two
/x/app.log.1
1:2026-05-01T12:03:00Z three
/x/app.log
1:2026-05-01T12:04:00Z four
/x/deep/a/x-1.log
1:2026-05-01T12:05:00Z five
[matches 1 to 5, that is all, 2026-05-01T12:01:00Z to 2026-05-01T12:05:00Z; searched 5 lines in 5 files]`)
	b.put("app.log.1", "2026-05-01T12:06:00Z six\n") // the newest match is not in the last file
	b.has("grep_log", `{"newest":true,"limit":2}`, "/x/deep/a/x-1.log\n1:2026-05-01T12:05:00Z five\n/x/app.log.1\n1:2026-05-01T12:06:00Z six\n[matches 4 to 5 of 5")
	b.put("app.log.1", "2026-05-01T12:03:00Z three\n")
	b.has("grep_log", `{"files":["app.log"],"newest":true,"limit":2}`, "three", "four", "matches 3 to 4 of 4")
}

// TestGrepStaysInside: what the operator did not name cannot be reached, by whatever link.
func TestGrepStaysInside(t *testing.T) {
	b := newBench(t, Options{Logs: []string{"app/*.log"}, Secret: func(name string) bool { return filepath.Base(name) == ".env" }})
	b.put("app/app.log", "fine\n")
	secret := b.put("secret", "PASSWORD\n")
	for _, link := range []string{filepath.Join(b.dir, "app/link.log"), filepath.Join(b.scope.Work, "link.log"), filepath.Join(b.scope.Work, "folder")} {
		target := secret
		if filepath.Base(link) == "folder" {
			target = b.dir
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{".env": "PASSWORD\n", "own.log": "mine\n"} {
		if err := os.WriteFile(filepath.Join(b.scope.Work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".env", filepath.Join(b.scope.Work, "env.log")); err != nil {
		t.Fatal(err)
	}
	b.has("grep_log", `{"files":["own.log"]}`, "1:mine")
	b.has("grep_log", `{}`, "1:fine", "1 line in 1 file")
	for _, name := range []string{"link.log", ".env", "env.log", "folder/secret", "*/secret", "/x/app/../secret", "/x/secret"} {
		if got, ok := b.call("grep_log", fmt.Sprintf(`{"files":[%q]}`, name)); ok || strings.Contains(got, "PASSWORD") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestGrepIsBounded(t *testing.T) {
	b := newBench(t, Options{Logs: []string{"*.log"}})
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "2026-05-01T12:00:00Z ERROR %d %s\n", i, strings.Repeat("é", 400))
	}
	text.WriteString(strings.Repeat("z", 100_000) + "\nERROR end\n")
	b.put("big.log", text.String())
	for _, arguments := range []string{`{"limit":500}`, `{"limit":500,"newest":true}`, `{"limit":500,"context":20,"pattern":"[05]0 "}`} {
		got, ok := b.call("grep_log", arguments)
		if !ok || len(got) > 2*maxOutput {
			t.Errorf("%s: %d bytes", arguments, len(got))
		}
		if strings.Contains(got, "\uFFFD") {
			t.Errorf("%s: a character was cut", arguments)
		}
	}
	b.has("grep_log", `{"newest":true,"limit":1}`, "3002:ERROR end", "of 3002")
}

func TestGrepJournal(t *testing.T) {
	b := newBench(t, Options{})
	if b.tools["grep_log"] != nil {
		t.Fatal("there is a tool with nothing to look at")
	}
	program := b.put("journalctl", `#!/bin/sh
[ "$1$2$3$4" = "--no-pager--quiet--output=json--unit=app.service" ] || { echo "unknown: $*" >&2; exit 1; }
[ -z "$SECRET" ] || exit 2
printf '%s\n' '{"__REALTIME_TIMESTAMP":"1777636800000000","MESSAGE":"started","PRIORITY":"6"}'
printf '%s\n' '{"__REALTIME_TIMESTAMP":"1777636860000000","MESSAGE":"ERROR pool exhausted\nat pool.go","PRIORITY":"6"}'
printf '%s\n' '{"__REALTIME_TIMESTAMP":"1777636920000000","MESSAGE":[104,105],"PRIORITY":"3"}'
echo broken
`)
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET", "canary")
	b = newBench(t, Options{Units: []string{"app", "worker@*.service"}, Journalctl: program})
	b.want("grep_log", `{"unit":"app","level":"error","since":"2026-05-01T00:00:00Z"}`, `journal of app.service
2:2026-05-01T12:01:00Z ERROR pool exhausted
3:at pool.go
4:2026-05-01T12:02:00Z hi
[matches 1 to 3, that is all, 2026-05-01T12:01:00Z to 2026-05-01T12:02:00Z; by level: error 3; searched 4 lines in 1 file]`)
	b.fails("grep_log", `{"unit":"worker@1","since":"2026-05-01T00:00:00Z"}`, "journalctl", "unknown: ")
	b.fails("grep_log", `{"unit":"apq"}`, "not a unit", `write \"app\"`)
	b.fails("grep_log", `{"unit":"worker@*"}`, "not a unit")
	b.fails("grep_log", `{"unit":"--root"}`, "not a unit")
	b.fails("grep_log", `{"unit":"app","files":["x"]}`, "one of the two")
}
