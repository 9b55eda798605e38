package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/diff"
	"pgregory.net/rapid"
)

// edits writes the arguments of a call with edits: path, old and new for each.
func edits(all ...string) string {
	var a patchArguments
	for i := 0; i < len(all); i += 3 {
		a.Edits = append(a.Edits, edit{Path: all[i], OldString: all[i+1], NewString: all[i+2]})
	}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func diffCall(text string) string {
	arguments, err := json.Marshal(patchArguments{Diff: text})
	if err != nil {
		panic(err)
	}
	return string(arguments)
}

func (b *bench) holds(name, want string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.get(name)); diff != "" {
		b.t.Errorf("%s: %s", name, diff)
	}
}

func TestPatchEdits(t *testing.T) {
	b := newBench(t, map[string]string{"a.go": "one\ntwo\nthree\ntwo\n", "b.go": "x = 1\n"})
	b.want("patch", edits("a.go", "one\ntwo", "1\n2", "a.go", "2\nthree", "2\n3", "./b.go", "1", "2"), "Patched a.go: 2 changes.\nPatched b.go: 1 change.")
	b.holds("a.go", "1\n2\n3\ntwo\n")
	b.holds("b.go", "x = 2\n")
	b.want("patch", `{"edits":[{"path":"a.go","old_string":"\n","new_string":";","replace_all":true}]}`, "Patched a.go: 4 changes.")
	b.holds("a.go", "1;2;3;two;")
	b.want("patch", edits("b.go", "x = 2\n", ""), "Patched b.go: 1 change.")
	b.holds("b.go", "")
	b.fails("patch", edits("c.go", "x", "y"), "c.go is not there", "No file was changed")
	b.fails("patch", edits("a.go", ";", ","), "4 times", "lines 1, 1, 1, 1;")
}

// TestPatchKeeps checks that what is not changed stays as it is: line ends, also mixed ones, mark, encoding, permissions.
func TestPatchKeeps(t *testing.T) {
	b := newBench(t, map[string]string{
		"crlf":   "one\r\ntwo\r\nthree\r\n",
		"mixed":  "one\r\ntwo\nthree\r\nfour\r\n",
		"marked": "\xef\xbb\xbfone\r\ntwo",
		"utf16":  "\xff\xfea\x00\r\x00\n\x00b\x00",
		"latin":  "caf\xe9 \x93x\x94\n",
		"bytes":  "äöü \xff\none\n",
		"lone":   "a\rb\r\nc\n",
	})
	if err := os.Chmod(filepath.Join(b.work, "crlf"), 0o751); err != nil {
		t.Fatal(err)
	}
	b.want("patch", edits(
		"crlf", "one\ntwo\n", "1\n2\n2½\n", "mixed", "one\ntwo\nthree", "one\ntwo\nand\n3", "marked", "one\r\ntwo", "1\n2",
		"utf16", "a\nb", "ä\n\nb", "latin", "“x”", "né", "bytes", "one", "1", "lone", "b\nc", "B\nc",
	), "Patched crlf: 1 change.\nPatched mixed: 1 change.\nPatched marked: 1 change.\nPatched utf16: 1 change.\n"+
		"Patched latin: 1 change.\nPatched bytes: 1 change.\nPatched lone: 1 change.")
	b.holds("crlf", "1\r\n2\r\n2½\r\nthree\r\n")
	b.holds("mixed", "one\r\ntwo\nand\r\n3\r\nfour\r\n")
	b.holds("marked", "\xef\xbb\xbf1\r\n2")
	b.holds("utf16", "\xff\xfe\xe4\x00\r\x00\n\x00\r\x00\n\x00b\x00")
	b.holds("latin", "caf\xe9 n\xe9\n")
	b.holds("bytes", "äöü \xff\n1\n")
	b.holds("lone", "a\rB\nc\n")
	if info, err := os.Stat(filepath.Join(b.work, "crlf")); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	b.fails("patch", edits("latin", "né", "日本"), "Windows-1252", "lacks a character")
	b.want("patch", diffCall("--- a/crlf\n+++ b/crlf\n@@ -1,2 +1,2 @@\n 1\n-2\n+zwei\n"), "Patched crlf: 1 change.")
	b.holds("crlf", "1\r\nzwei\r\n2½\r\nthree\r\n")
}

func TestPatchAllOrNothing(t *testing.T) {
	b := newBench(t, map[string]string{"a": "1\n", "b": "1\n", "folder/x": "", "bin": "\x00"})
	for _, second := range []string{"b", "folder", "missing", "bin", "../secret.txt"} {
		b.fails("patch", edits("a", "1", "2", second, "nothing like it", "2"), "No file was changed")
		b.holds("a", "1\n")
	}
	// A folder that cannot be written makes the second of two writes fail after the first was prepared.
	b.put("shut/c", "1\n")
	if err := os.Chmod(filepath.Join(b.work, "shut"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(b.work, "shut"), 0o755) })
	if os.Getuid() != 0 {
		b.fails("patch", edits("a", "1", "2", "shut/c", "1", "2"), "shut/c", "No file was changed")
		b.holds("a", "1\n")
	}
}

// TestCommitUndoes makes the last of several writes fail when the others are done.
func TestCommitUndoes(t *testing.T) {
	b := newBench(t, map[string]string{"a": "old a", "gone": "old gone", "z": "old z"})
	root, err := os.OpenRoot(b.work)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f := folder{Root: root, secrets: testSecrets(t)}
	var all batch
	for _, name := range []string{"a", "gone", "new", "z"} {
		was, err := f.writable(name)
		if err != nil {
			t.Fatal(err)
		}
		w := rewrite{name: name, content: "new", was: was, remove: name == "gone"}
		if was != nil {
			w.before = []byte(b.get(name))
		}
		all = append(all, w)
	}
	b.put("z", "by somebody else") // after it was read
	if name, err := f.commit(all); name != "z" || err == nil || !strings.Contains(err.Error(), "changed by something else") {
		t.Errorf("commit: %q, %v", name, err)
	}
	b.holds("a", "old a")
	b.holds("gone", "old gone")
	b.holds("z", "by somebody else")
	entries, err := os.ReadDir(b.work)
	if err != nil || len(entries) != 3 {
		t.Errorf("left: %v %v", entries, err)
	}
}

func TestPatchHints(t *testing.T) {
	b := newBench(t, map[string]string{"a.py": "def run():\n\tname = \"x\"\n\treturn name  \n\nclass Other:\n    pass\n"})
	for _, test := range []struct{ old, what, quoted, line string }{
		{"def run():\n    name = \"x\"", "differs in indentation", `Line 2 is "\tname = \"x\"", not "    name = \"x\""`, "1|def run():\n2|\tname"},
		{"\treturn name\n\n", "differs in spaces at the end", `Line 3 is "\treturn name  ", not "\treturn name"`, "3|\treturn name"},
		{"name='x'", "differs in quotes", `Line 2 is "\tname = \"x\"", not "name='x'"`, "2|\tname"},
		{"class other:", "differs in upper and lower case", `not "class other:"`, "5|class Other:"},
		{"name = \"x\"\nreturn nome", "nearest is other text", `Line 2 is "\tname = \"x\"", not "name = \"x\""`, "2|\tname"},
		{"clas Othr:", "nearest is other text", `Line 5 is "class Other:", not "clas Othr:"`, "5|class Other:"},
		{"entirely different words", "nor anything like it", "", "read the file"},
	} {
		b.fails("patch", edits("a.py", test.old, "new"), "a.py", test.what, test.quoted, test.line)
	}
}

const gitDiff = `Here is the change:
` + "```diff" + `
diff --git a/a.txt b/a.txt
index 83db48f..bf269f4 100644
--- a/a.txt
+++ b/a.txt
@@ -2,3 +2,3 @@ def context():
 two
-three
+3
 four
@@ -8,2 +8,1 @@
 eight
-nine
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+hello
+world
\ No newline at end of file
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
` + "```\n"

func TestPatchDiff(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", "old.txt": "bye\n"})
	b.want("patch", diffCall(gitDiff), "Patched a.txt: 2 changes.\nCreated new.txt: 2 lines.\nDeleted old.txt.")
	b.holds("a.txt", "one\ntwo\n3\nfour\nfive\nsix\nseven\neight\nten\n")
	b.holds("new.txt", "hello\nworld")
	if _, err := os.Stat(filepath.Join(b.work, "old.txt")); !os.IsNotExist(err) {
		t.Error("old.txt is still there")
	}
	b.fails("patch", diffCall(gitDiff), "Change 1 of a.txt", "The nearest is other text. Line 3 is \"3\", not \"three\"", "No file was changed")
}

// TestSloppyDiffs are diffs as models write them.
func TestSloppyDiffs(t *testing.T) {
	const before = "a\n\nb\n\nc\na\n\nb\n\nd\n-- x\n"
	for name, test := range map[string]struct{ diff, want string }{
		"wrong counts":         {"--- f\n+++ f\n@@ -1,9 +1,9 @@\n b\n \n-c\n+C\n", strings.Replace(before, "c", "C", 1)},
		"too small counts":     {"--- f\n+++ f\n@@ -3,1 +3,1 @@\n b\n \n-c\n+C\n a\n", strings.Replace(before, "c", "C", 1)},
		"no numbers":           {"--- f\n+++ f\n@@ @@\n \n-d\n+D\n", strings.Replace(before, "d", "D", 1)},
		"wrong line":           {"--- f\n+++ f\n@@ -1,3 +1,3 @@\n b\n \n-d\n+D\n", strings.Replace(before, "d", "D", 1)},
		"lost spaces":          {"--- f\n+++ f\n@@ -3,3 +3,3 @@\n b\n\n-c\n+C\n\n\n", strings.Replace(before, "c", "C", 1)},
		"the nearest of two":   {"--- f\n+++ f\n@@ -6,3 +6,4 @@\n a\n \n+new\n b\n", "a\n\nb\n\nc\na\n\nnew\nb\n\nd\n-- x\n"},
		"new lines alone":      {"--- f\n+++ f\n@@ -5,0 +6 @@\n+new\n", "a\n\nb\n\nc\nnew\na\n\nb\n\nd\n-- x\n"},
		"like a header":        {"--- f\n+++ f\n@@ -10,2 +10,2 @@\n d\n--- x\n+++ y\n", "a\n\nb\n\nc\na\n\nb\n\nd\n++ y\n"},
		"shifted second":       {"--- f\n+++ f\n@@ -1,1 +1,3 @@\n+x\n+y\n a\n@@ -6,1 +8,1 @@\n-a\n+A\n", "x\ny\na\n\nb\n\nc\nA\n\nb\n\nd\n-- x\n"},
		"times and quotes":     {"--- \"f\"\t2026-01-01\n+++ f\t2026-01-02\n@@ -5 +5 @@\n-c\n+C\n", strings.Replace(before, "c", "C", 1)},
		"line ends of Windows": {"--- f\r\n+++ f\r\n@@ -5 +5 @@\r\n-c\r\n+C\r\n", strings.Replace(before, "c", "C", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"f": before})
			if got := b.call("patch", diffCall(test.diff)); got.Failed {
				t.Error(got.Text)
			}
			b.holds("f", test.want)
		})
	}
	b := newBench(t, map[string]string{"f": "a\nb"})
	b.want("patch", diffCall("--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c\n"), "Patched f: 1 change.")
	b.holds("f", "a\nB\nc")
	for diff, word := range map[string]string{
		"some text":                                                        "no line",
		"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b":                            "cannot become",
		"--- x\n+++ x\n":                                                   "no hunk",
		"--- x\n+++ x\n@@ -1 +1 @@\n a\n":                                  "changes nothing",
		"--- x\n+++ x\n@@ @@\n+a\n":                                        "where they belong",
		"--- /dev/null\n+++ x\n@@ -1 +1 @@\n-a\n+b\n":                      "only new lines",
		"--- x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n":                      "only old lines",
		"--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n--- x\n+++ x\n@@ -1 +1 @@\n-b": "twice",
	} {
		if found := checkPatch(json.RawMessage(diffCall(diff))); len(found) != 1 || !strings.Contains(found[0].Problem, word) {
			t.Errorf("%q: %v", diff, found)
		}
	}
	b.fails("patch", diffCall("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"), "there already")
	b.fails("patch", diffCall("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"), "more lines than the diff deletes")
	b.fails("patch", diffCall("--- a/../secret.txt\n+++ b/../secret.txt\n@@ -1 +1 @@\n-do not show\n+x\n"), "outside of the work folder")
}

func TestPatchChecks(t *testing.T) {
	for arguments, word := range map[string]string{
		`{}`:                              "either edits or a diff",
		`{"edits":[],"diff":""}`:          "either edits or a diff",
		edits("a", "", "x"):               "empty",
		edits("a", "x", "x"):              "same as old_string",
		edits("a", "x", "y", "a", "", ""): "edits[1].old_string",
	} {
		found := checkPatch(json.RawMessage(arguments))
		if len(found) != 1 || !strings.Contains(found[0].Argument+" "+found[0].Problem, word) {
			t.Errorf("%s: %v", arguments, found)
		}
	}
	both, _ := json.Marshal(patchArguments{Diff: "x", Edits: []edit{{"a", "b", "c", false}}})
	if len(checkPatch(both)) != 1 {
		t.Error("edits and a diff together are accepted")
	}
}

// TestDiffRoundTrip: a diff of two texts turns the first into the second.
func TestDiffRoundTrip(t *testing.T) {
	b := newBench(t, nil)
	line := rapid.SampledFrom([]string{"", "a", "b", "-", "--", "-- x", "++ y", "- a", "+", "@@ -1 +1 @@", " ", "\t", "ä", `\ No newline`, "diff --git", "```"})
	rapid.Check(t, func(rt *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "line end")
		text := func(name string) string {
			s := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(rt, name), end)
			if rapid.Bool().Draw(rt, name+" ends") && s != "" {
				s += end
			}
			return s
		}
		before, after := text("before"), text("after")
		patch := string(diff.Diff("a/f", []byte(strings.ReplaceAll(before, "\r\n", "\n")), "b/f", []byte(strings.ReplaceAll(after, "\r\n", "\n"))))
		if patch == "" {
			return
		}
		if !strings.Contains(before, "\n") && end == "\r\n" {
			return // what such a file's lines end in cannot be known
		}
		b.put("f", before)
		if got := b.call("patch", diffCall(patch)); got.Failed {
			rt.Fatalf("%s\nof\n%s", got.Text, patch)
		}
		if got := b.get("f"); got != after {
			rt.Fatalf("got %q, want %q, by\n%s", got, after, patch)
		}
	})
}

// FuzzParseDiff looks that no text makes the parser or what comes behind it fail, and that what was understood can be
// told apart from nothing.
func FuzzParseDiff(f *testing.F) {
	f.Add(gitDiff, "one\ntwo\nthree\nfour\n")
	f.Add("--- f\n+++ f\n@@ -1,9 +1,9 @@\n b\n \n-c\n+C\n\\ No newline", "b\n\nc")
	f.Add("--- f\n+++ f\n@@ @@\n-a\n\n\n+b\n--- g\n+++ g\n@@ -0,0 +1 @@\n+x", "a\r\n")
	f.Fuzz(func(t *testing.T, text, file string) {
		all, err := parseDiff(text)
		if (err == nil) == (len(all) == 0) {
			t.Fatalf("%d files, error %v", len(all), err)
		}
		for _, d := range all {
			s := newSource(file)
			from := 0
			for _, c := range d.changes() {
				if c.old == c.fresh {
					t.Fatalf("a change of nothing: %+v", c)
				}
				end, times, err := s.apply(c, from)
				if err != nil {
					break
				}
				if times != 1 || end < from || end > len(s.plain) {
					t.Fatalf("%d times, end %d of %d, from %d: %+v", times, end, len(s.plain), from, c)
				}
				from = end
			}
			if got := newSource(s.raw).plain; got != s.plain {
				t.Fatalf("raw and plain part: %q %q", got, s.plain)
			}
		}
	})
}
