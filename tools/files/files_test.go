package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a work folder, beside which lies something that must stay out of reach, and the tools on it.
type bench struct {
	t       *testing.T
	work    string
	secret  string // the path of the file outside
	toolset map[string]tools.Tool
}

func newBench(t *testing.T, contents map[string]string) *bench {
	t.Helper()
	top := t.TempDir()
	b := &bench{t: t, work: filepath.Join(top, "work"), secret: filepath.Join(top, "secret.txt"), toolset: map[string]tools.Tool{}}
	if err := os.Mkdir(b.work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.secret, []byte("do not show"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, content := range contents {
		b.put(name, content)
	}
	set, err := New(testSecrets(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range set {
		b.toolset[tool.Spec().Name] = tool
	}
	return b
}

func testSecrets(t *testing.T) *Secrets {
	t.Helper()
	s, err := NewSecrets(DefaultSecrets())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b *bench) put(name, content string) {
	b.t.Helper()
	full := filepath.Join(b.work, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get(name string) string {
	b.t.Helper()
	content, err := os.ReadFile(filepath.Join(b.work, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(content)
}

// call runs a tool with arguments in JSON.
func (b *bench) call(tool, arguments string) tools.Result {
	b.t.Helper()
	result, err := b.toolset[tool].Call(b.t.Context(), tools.Scope{Work: b.work}, json.RawMessage(arguments))
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

func (b *bench) want(tool, arguments, want string) {
	b.t.Helper()
	got := b.call(tool, arguments)
	if got.Failed {
		b.t.Errorf("%s %s failed: %s", tool, arguments, got.Text)
	} else if diff := cmp.Diff(want, got.Text); diff != "" {
		b.t.Errorf("%s %s: %s", tool, arguments, diff)
	}
}

// fails wants a failure that says all of the words.
func (b *bench) fails(tool, arguments string, words ...string) {
	b.t.Helper()
	got := b.call(tool, arguments)
	if !got.Failed {
		b.t.Errorf("%s %s did not fail: %s", tool, arguments, got.Text)
	}
	for _, word := range words {
		if !strings.Contains(got.Text, word) {
			b.t.Errorf("%s %s: %q does not say %q", tool, arguments, got.Text, word)
		}
	}
	if strings.Contains(got.Text, filepath.Dir(b.work)) && !strings.Contains(arguments, filepath.Dir(b.work)) {
		b.t.Errorf("%s %s gives away where the folder is: %s", tool, arguments, got.Text)
	}
}

func TestRead(t *testing.T) {
	b := newBench(t, map[string]string{
		"a.txt":      "one\ntwo\nthree\n",
		"no-end":     "one\ntwo",
		"crlf":       "one\r\ntwo\r\n",
		"empty":      "",
		"latin":      "caf\xe9\n",
		"long":       strings.Repeat("x", 1999) + "äöü\nnext\n",
		"picture":    "\x89PNG\r\n\x1a\n\x00\x00",
		"utf16":      "\xff\xfe\xe4\x00a\x00\n\x00b\x00",
		"utf16be":    "\xfe\xff\x00\xe4\x00a\x00\n",
		"utf32":      "\xff\xfe\x00\x00a\x00\x00\x00",
		"marked":     "\xef\xbb\xbfä\n",
		"broken":     "äöü \xff\n",
		"sub/b.txt":  "b\n",
		"one-line":   "the end",
		"gap":        "a\n\nb",
		"very-long":  strings.Repeat("y", 200_000) + "\nend\n",
		"many-lines": strings.Repeat("line\n", 600),
	})
	b.want("read_file", `{"path":"a.txt"}`, "1|one\n2|two\n3|three\n[the whole file: 3 lines, 14 bytes]")
	b.want("read_file", `{"path":"./sub/../a.txt","offset":2}`, "2|two\n3|three\n[lines 2 to 3 of 3; this is the end]")
	b.want("read_file", `{"path":"a.txt","offset":2,"limit":1}`, "2|two\n[lines 2 to 2 of 3; read on with offset 3]")
	b.want("read_file", `{"path":"a.txt","offset":-5,"limit":-1}`, "1|one\n2|two\n3|three\n[the whole file: 3 lines, 14 bytes]")
	b.want("read_file", `{"path":"no-end"}`, "1|one\n2|two\n[the whole file: 2 lines, 7 bytes]")
	b.want("read_file", `{"path":"crlf"}`, "1|one\n2|two\n[the whole file: 2 lines, 10 bytes]")
	b.want("read_file", `{"path":"empty"}`, "empty is empty.")
	b.want("read_file", `{"path":"latin"}`, "1|café\n[the whole file: 1 line, 5 bytes; stored as Windows-1252]")
	b.want("read_file", `{"path":"utf16"}`, "1|äa\n2|b\n[the whole file: 2 lines, 10 bytes; stored as UTF-16]")
	b.want("read_file", `{"path":"utf16be"}`, "1|äa\n[the whole file: 1 line, 8 bytes; stored as UTF-16]")
	b.want("read_file", `{"path":"marked"}`, "1|ä\n[the whole file: 1 line, 6 bytes; stored as UTF-8 with a byte order mark]")
	b.want("read_file", `{"path":"broken"}`, "1|äöü \uFFFD\n[the whole file: 1 line, 9 bytes]")
	b.want("read_file", `{"path":"long"}`, "1|"+strings.Repeat("x", 1999)+" … [6 bytes more in this line; read on with offset 1, byte 1999]\n2|next\n[the whole file: 2 lines, 2011 bytes]")
	b.want("read_file", `{"path":"long","offset":1,"byte":1999}`, "1|äöü\n2|next\n[lines 1 to 2 of 2; this is the end]")
	b.want("read_file", `{"path":"very-long"}`, "1|"+strings.Repeat("y", 2000)+" … [198000 bytes more in this line; read on with offset 1, byte 2000]\n2|end\n[the whole file: 2 lines, 200005 bytes]")
	b.want("read_file", `{"path":"very-long","byte":100000,"limit":1}`,
		"1|"+strings.Repeat("y", 20_000)+" … [80000 bytes more in this line; read on with offset 1, byte 120000]\n[lines 1 to 1 of 2; read on with offset 2]")
	b.want("read_file", `{"path":"very-long","byte":190000}`, "1|"+strings.Repeat("y", 10_000)+"\n2|end\n[lines 1 to 2 of 2; this is the end]")
	b.want("read_file", `{"path":"one-line","byte":4}`, "1|end\n[lines 1 to 1 of 1; this is the end]")
	b.fails("read_file", `{"path":"one-line","byte":8}`, "line 1 of one-line has only 7 bytes")
	b.fails("read_file", `{"path":"gap","offset":2,"byte":1}`, "line 2 of gap has only 0 bytes")
	b.want("read_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(b.work, "sub/b.txt")), "1|b\n[the whole file: 1 line, 2 bytes]")
	b.fails("read_file", `{"path":"a.txt","offset":4}`, "only 3 lines")
	b.fails("read_file", `{"path":"picture"}`, "binary", "image/png", "10 bytes")
	b.fails("read_file", `{"path":"utf32"}`, "binary")
	b.fails("read_file", `{"path":"sub"}`, "folder", "search_files")
	if got := b.call("read_file", `{"path":"many-lines"}`).Text; !strings.HasSuffix(got, "500|line\n[lines 1 to 500 of 600; read on with offset 501]") {
		t.Errorf("a page ends with %q", got[len(got)-80:])
	}
}

func TestReadHugeFile(t *testing.T) {
	b := newBench(t, map[string]string{"huge": strings.Repeat("0123456789abcde\n", 1000)})
	if err := os.Truncate(filepath.Join(b.work, "huge"), 1<<40); err != nil { // sparse: 1 TiB of zeroes behind the text
		t.Skip(err)
	}
	b.want("read_file", `{"path":"huge","offset":2,"limit":1}`,
		"2|0123456789abcde\n[lines 2 to 2 of a file of 1099511627776 bytes; read on with offset 3]")
}

func TestPageIsBounded(t *testing.T) {
	b := newBench(t, map[string]string{"wide": strings.Repeat(strings.Repeat("w", 1000)+"\n", 300)})
	got := b.call("read_file", `{"path":"wide"}`)
	if len(got.Text) > maxPageBytes+maxLineBytes || !strings.Contains(got.Text, "read on with offset 101]") {
		t.Errorf("%d bytes: %s", len(got.Text), got.Text[len(got.Text)-80:])
	}
}

func TestNearMisses(t *testing.T) {
	b := newBench(t, map[string]string{"docs/README.md": "x", "main.go": "x", "config.toml": "x", "notes-2024.txt": "x"})
	b.fails("read_file", `{"path":"readme.md"}`, "docs/README.md")
	b.fails("read_file", `{"path":"src/mian.go"}`, "main.go")
	b.fails("read_file", `{"path":"notes.txt"}`, "notes-2024.txt")
	b.fails("read_file", `{"path":"entirely-different"}`, "search_files")
	b.fails("search_files", `{"pattern":"x","path":"doc"}`, "docs")
}

func TestWrite(t *testing.T) {
	b := newBench(t, map[string]string{"old.sh": "old", "folder/x": ""})
	if err := os.Chmod(filepath.Join(b.work, "old.sh"), 0o777); err != nil {
		t.Fatal(err)
	}
	b.want("write_file", `{"path":"new/deep/a.txt","content":"ä\nb"}`, "Created new/deep/a.txt: 2 lines, 4 bytes.")
	b.want("write_file", `{"path":"old.sh","content":"new\n"}`, "Replaced old.sh: 1 line, 4 bytes; it had 3 bytes before.")
	b.want("write_file", `{"path":"nothing","content":""}`, "Created nothing: 0 lines, 0 bytes.")
	if b.get("new/deep/a.txt") != "ä\nb" || b.get("old.sh") != "new\n" || b.get("nothing") != "" {
		t.Error("the files do not hold what was written")
	}
	info, err := os.Stat(filepath.Join(b.work, "old.sh"))
	if err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("mode = %v, error = %v", info.Mode(), err)
	}
	b.fails("write_file", `{"path":"folder","content":"x"}`, "folder")
	b.fails("write_file", `{"path":"old.sh/x","content":"x"}`, "could not be written")
	b.fails("write_file", `{"path":".","content":"x"}`, "folder")
	b.fails("write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, strings.Repeat("n", 300)), "name too long")
	for _, dir := range []string{".", "new/deep"} {
		entries, err := os.ReadDir(filepath.Join(b.work, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".draft-") {
				t.Errorf("%s was left over", e.Name())
			}
		}
	}
}

// TestConfinement tries to get out of the work folder in every way that is known.
func TestConfinement(t *testing.T) {
	b := newBench(t, map[string]string{"in.txt": "inside\n", "dir/x": "x"})
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(b.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(b.secret, "absolute")
	link("../secret.txt", "relative")
	link("..", "up")
	link("/", "root")
	link("in.txt", "friendly")
	link("loop", "loop")
	for _, path := range []string{
		"../secret.txt", "dir/../../secret.txt", "absolute", "relative", "up/secret.txt", "root" + b.secret, b.secret,
		"/etc/passwd", "..", "/", "//etc/passwd", "loop", "up/work/../secret.txt",
	} {
		for tool, arguments := range map[string]string{
			"read_file":    fmt.Sprintf(`{"path":%q}`, path),
			"write_file":   fmt.Sprintf(`{"path":%q,"content":"overwritten"}`, path),
			"search_files": fmt.Sprintf(`{"pattern":"show|root","path":%q}`, path),
		} {
			if got := b.call(tool, arguments); !got.Failed || strings.Contains(got.Text, "do not show") {
				t.Errorf("%s %s: %s", tool, path, got.Text)
			}
		}
	}
	b.fails("write_file", `{"path":"up/new.txt","content":"x"}`, "outside of the work folder")
	b.fails("read_file", `{"path":"../secret.txt"}`, "outside of the work folder")
	b.want("read_file", `{"path":"friendly"}`, "1|inside\n[the whole file: 1 line, 7 bytes]")
	b.fails("write_file", `{"path":"friendly","content":"x"}`, "symbolic link")
	b.want("search_files", `{"pattern":"show|inside"}`, "in.txt:1:inside\n[lines 1 to 1; that is all]")
	if got := b.call("search_files", `{"pattern":"*","target":"files"}`).Text; strings.Contains(got, "secret") {
		t.Errorf("the listing shows what is outside: %s", got)
	}
	if outside, err := os.ReadFile(b.secret); err != nil || string(outside) != "do not show" {
		t.Errorf("the file outside: %q, %v", outside, err)
	}
}

// TestPipes would hang if a pipe were opened.
func TestPipes(t *testing.T) {
	b := newBench(t, map[string]string{"a": "x"})
	if err := syscall.Mkfifo(filepath.Join(b.work, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	b.fails("read_file", `{"path":"pipe"}`, "pipe")
	b.fails("write_file", `{"path":"pipe","content":"x"}`, "pipe")
	b.fails("search_files", `{"path":"pipe","pattern":"x"}`, "pipe")
	b.want("search_files", `{"pattern":"x"}`, "a:1:x\n[lines 1 to 1; that is all]")
	b.want("search_files", `{"pattern":"","target":"files"}`, "a (1 byte)\npipe (no regular file)\n[files 1 to 2; that is all]")
}

func TestContextAndInfrastructure(t *testing.T) {
	b := newBench(t, map[string]string{"a": strings.Repeat("x\n", 5000)})
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	for tool, arguments := range map[string]string{
		"read_file": `{"path":"a"}`, "write_file": `{"path":"a","content":""}`, "search_files": `{"pattern":"y"}`,
	} {
		if _, err := b.toolset[tool].Call(ctx, tools.Scope{Work: b.work}, json.RawMessage(arguments)); !errors.Is(err, stopped) {
			t.Errorf("%s with an ended context: %v", tool, err)
		}
		if _, err := b.toolset[tool].Call(t.Context(), tools.Scope{Work: b.work + "-gone"}, json.RawMessage(arguments)); err == nil {
			t.Errorf("%s without a work folder: no error", tool)
		}
	}
	if b.get("a") == "" {
		t.Error("written although the context had ended")
	}
}

func TestSpecs(t *testing.T) {
	set, err := New(testSecrets(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range set {
		spec := tool.Spec()
		if spec.Description == "" || spec.Toolset != "files" || !spec.Parallel {
			t.Errorf("%s: %+v", spec.Name, spec)
		}
		if _, err := spec.Schema.Resolve(nil); err != nil {
			t.Errorf("%s: %v", spec.Name, err)
		}
	}
	read := set[0].Spec()
	if diff := cmp.Diff([]string{"a/b"}, read.Paths(json.RawMessage(`{"path":"./a//b"}`))); diff != "" {
		t.Error(diff)
	}
	if read.Paths(json.RawMessage(`{`)) != nil || read.Preview(json.RawMessage(`[]`)) != "" {
		t.Error("broken arguments have a path")
	}
	if got := set[3].Spec().Preview(json.RawMessage(`{"pattern":"x","path":"docs"}`)); got != "x docs" {
		t.Errorf("preview = %q", got)
	}
}

// TestInsideNeverLeads checks that no path at all leads out.
func TestInsideNeverLeads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"..", ".", "a", "b", "", "work", "/"}), 1, 8).Draw(t, "parts")
		name := strings.Join(parts, "/")
		got, err := inside("/top/work", name)
		if err != nil {
			return
		}
		if full := filepath.Join("/top/work", got); full != "/top/work" && !strings.HasPrefix(full, "/top/work/") {
			t.Errorf("inside(%q) = %q", name, got)
		}
	})
}
