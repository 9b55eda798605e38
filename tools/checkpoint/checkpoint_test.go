package checkpoint

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/tools"
)

// bench is a work folder with a store of copies.
type bench struct {
	t     *testing.T
	work  string
	store *Store
	turns int
}

func newBench(t *testing.T, keep int) *bench {
	top := t.TempDir()
	b := &bench{t: t, work: filepath.Join(top, "work")}
	if err := os.Mkdir(b.work, 0o755); err != nil {
		t.Fatal(err)
	}
	b.store = New(Options{
		Folder: filepath.Join(top, "copies"), Keep: keep, Skip: []string{"results"}, Log: slog.New(slog.DiscardHandler),
		Secret: func(path string) bool { return path == ".env" },
	})
	return b
}

func (b *bench) put(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// turn plays a turn whose one call does something.
func (b *bench) turn(requester string, do func()) {
	b.t.Helper()
	b.turns++
	scope := tools.Scope{Conversation: "telegram/1/dm/7", Turn: fmt.Sprint("t", b.turns), Requester: requester, Work: b.work}
	spec := tools.Spec{Risk: tools.Executes}
	if _, err := b.store.Before(b.t.Context(), scope, spec, nil); err != nil {
		b.t.Fatal(err)
	}
	do()
	if _, err := b.store.After(b.t.Context(), scope, spec, nil, tools.Result{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) rollback(n int, force bool) (text, note string) {
	b.t.Helper()
	b.turns++
	text, note, err := b.store.Rollback(b.t.Context(), "telegram/1/dm/7", b.work, tools.Rollback{
		ID: fmt.Sprint("c", b.turns), N: n, Force: force, May: func(requester string) bool { return requester != "bob" },
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return text, note
}

func (b *bench) says(text string, words ...string) {
	b.t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			b.t.Errorf("%q does not say %q", text, w)
		}
	}
}

// tree returns all files with their permissions and contents.
func tree(t interface{ Fatal(...any) }, work string) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(work, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if link, err := os.Readlink(path); err == nil {
			all[name] = "-> " + link
			return nil
		}
		content, err := os.ReadFile(path)
		all[name] = fmt.Sprintf("%v %s", info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRollbackRestores takes back whatever commands do, links, permissions and folders included, and takes that back.
func TestRollbackRestores(t *testing.T) {
	b := newBench(t, 5)
	b.put("a", "1")
	b.put("dir/b", "2")
	b.put("file", "3")
	if err := os.Symlink("a", filepath.Join(b.work, "link")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, b.work)
	b.turn("alice", func() {
		os.RemoveAll(filepath.Join(b.work, "dir"))
		b.put("dir", "now a file")
		os.Remove(filepath.Join(b.work, "file"))
		b.put("file/x", "now a folder")
		os.Remove(filepath.Join(b.work, "link"))
		os.Symlink("/etc/passwd", filepath.Join(b.work, "link"))
		os.Chmod(filepath.Join(b.work, "a"), 0o755)
	})
	after := tree(t, b.work)
	text, note := b.rollback(1, false)
	b.says(text, "as they were", "`dir/b`", "`link`")
	b.says(note, "`a`")
	if diff := cmp.Diff(before, tree(t, b.work)); diff != "" {
		t.Error(diff)
	}
	b.rollback(1, false)
	if diff := cmp.Diff(after, tree(t, b.work)); diff != "" {
		t.Error(diff)
	}
}

func TestRollbackRefuses(t *testing.T) {
	b := newBench(t, 5)
	text, _ := b.rollback(1, false)
	b.says(text, "not changed any file")
	b.put("a", "1")
	b.turn("bob", func() { b.put("a", "2") })
	text, _ = b.rollback(1, false)
	b.says(text, "Somebody else asked")
	b.turn("alice", func() { b.put("a", "3") })
	text, _ = b.rollback(2, false)
	b.says(text, "Somebody else asked")
	b.put("a", "by hand")
	text, note := b.rollback(1, false)
	b.says(text, "took nothing back", "`a`", "force")
	if note != "" || tree(t, b.work)["a"] != "-rw-r--r-- by hand" {
		t.Errorf("note %q, %v", note, tree(t, b.work))
	}
	b.rollback(1, true)
	if got := tree(t, b.work)["a"]; got != "-rw-r--r-- 2" {
		t.Error(got)
	}
}

// TestRollbackOnce carries the same command out once, also if the process died in the middle of it.
func TestRollbackOnce(t *testing.T) {
	b := newBench(t, 5)
	b.put("a", "1")
	b.turn("alice", func() { b.put("a", "2") })
	order := tools.Rollback{ID: "same", N: 1, May: func(string) bool { return true }}
	for range 3 {
		if _, note, err := b.store.Rollback(t.Context(), "telegram/1/dm/7", b.work, order); err != nil || note == "" {
			t.Errorf("note %q, error %v", note, err)
		}
		if got := tree(t, b.work)["a"]; got != "-rw-r--r-- 1" {
			t.Error(got)
		}
	}
	all, err := b.store.points("telegram/1/dm/7")
	if err != nil || len(all) != 2 {
		t.Fatalf("%d points, error %v", len(all), err)
	}
	all[1].Left = nil // as it stands there until the files are restored
	if err := b.store.write("telegram/1/dm/7", all[1]); err != nil {
		t.Fatal(err)
	}
	b.put("a", "2")
	if _, _, err := b.store.Rollback(t.Context(), "telegram/1/dm/7", b.work, order); err != nil || tree(t, b.work)["a"] != "-rw-r--r-- 1" {
		t.Errorf("%v %v", tree(t, b.work), err)
	}
}

// TestBounds keeps no more than it may, and the oldest that there is can still be gone back to.
func TestBounds(t *testing.T) {
	b := newBench(t, 3)
	b.put("large", strings.Repeat("x", maxFile+1))
	b.put(".git/HEAD", "x")
	b.put("results/x.txt", "x")
	for i := range 6 {
		b.turn("alice", func() { b.put("a", fmt.Sprint(i)) })
	}
	entries, err := os.ReadDir(filepath.Join(b.store.folder("telegram/1/dm/7"), "contents"))
	if err != nil || len(entries) != 3 {
		t.Errorf("%d contents, error %v", len(entries), err)
	}
	text, _ := b.rollback(3, false)
	b.says(text, "as they were")
	if got := tree(t, b.work)["a"]; got != "-rw-r--r-- 2" {
		t.Error(got)
	}
	b.turn("alice", func() { b.put("large", strings.Repeat("y", maxFile+2)) })
	text, _ = b.rollback(1, false)
	b.says(text, "Not taken back", "`large`")
	for i := range maxFiles {
		b.put(fmt.Sprintf("many/%d", i), "")
	}
	if _, err := b.store.look(t.Context(), b.work, nil, nil); err != errLargeFolder {
		t.Errorf("error %v", err)
	}
}

func TestDiff(t *testing.T) {
	b := newBench(t, 5)
	b.put("a", "one\n")
	b.put(".env", "TOKEN=old\n")
	b.put("bin", "\x00")
	b.turn("alice", func() {
		b.put("a", "two\n```\n")
		b.put(".env", "TOKEN=new\n")
		b.put("bin", "\x00\x01")
		b.put("long", strings.Repeat("line\n", 3000))
	})
	text, err := b.store.Diff(t.Context(), "telegram/1/dm/7", b.work, 1)
	if err != nil {
		t.Fatal(err)
	}
	b.says(text, "-one\n+two\n+```\n", "````diff", "`.env`: changed; it holds credentials", "`bin`: changed\n", "Too long to show", "`long`")
	if strings.Contains(text, "TOKEN") {
		t.Errorf("a secret is shown: %s", text)
	}
	b.rollback(1, false)
	text, err = b.store.Diff(t.Context(), "telegram/1/dm/7", b.work, 2)
	if err != nil {
		t.Fatal(err)
	}
	b.says(text, "The files are as they were before my turn", "1. before the rollback", "2. before my turn")
}

// TestAnyChanges: whatever turns do to files, going back to a moment gives what was there then.
func TestAnyChanges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, 50)
		names := rapid.SampledFrom([]string{"a", "b", "d/a", "d/e/f", "g"})
		var states []map[string]string // before each turn
		for range rapid.IntRange(1, 5).Draw(rt, "turns") {
			states = append(states, tree(rt, b.work))
			b.turn("alice", func() {
				for range rapid.IntRange(0, 4).Draw(rt, "changes") {
					name := names.Draw(rt, "name")
					if rapid.Bool().Draw(rt, "delete") {
						os.Remove(filepath.Join(b.work, name))
					} else {
						b.put(name, rapid.SampledFrom([]string{"", "x", "yy"}).Draw(rt, "content"))
					}
				}
			})
		}
		states = append(states, tree(rt, b.work))
		n := rapid.IntRange(1, len(states)-1).Draw(rt, "n")
		_, note := b.rollback(n, false)
		if diff := cmp.Diff(states[len(states)-1-n], tree(rt, b.work)); diff != "" {
			rt.Fatal(diff)
		}
		if note != "" {
			b.rollback(1, false)
			if diff := cmp.Diff(states[len(states)-1], tree(rt, b.work)); diff != "" {
				rt.Fatal(diff)
			}
		}
	})
}

// TestForget: nothing of what was copied is left, and the same turn's next call is the beginning of new copies.
func TestForget(t *testing.T) {
	b := newBench(t, 5)
	b.put("a", "secret")
	b.turn("alice", func() { b.put("a", "1") })
	if err := b.store.Forget("telegram/1/dm/7"); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(b.store.options.Folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	b.turn("alice", func() { b.put("a", "2") })
	if all, err := b.store.points("telegram/1/dm/7"); err != nil || len(all) != 1 {
		t.Errorf("%d points, %v", len(all), err)
	}
}
