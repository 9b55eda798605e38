package files

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSearchIgnores(t *testing.T) {
	b := newBench(t, map[string]string{
		".gitignore": "*.log\n/build/\n!keep.log\n", "a.log": "x", "keep.log": "x", "a.txt": "x", "build/b.txt": "x", "sub/build/c.txt": "x",
		"sub/.gitignore": "*.txt\n", "sub/.ignore": "!d.txt\n", "sub/d.txt": "x", "sub/e.txt": "x",
	})
	b.want("search_files", `{"pattern":"^x"}`, "a.txt:1:x\nkeep.log:1:x\nsub/d.txt:1:x\n[lines 1 to 3; that is all]")
	b.want("search_files", `{"pattern":"^x","ignored":true,"output_mode":"files"}`,
		"a.log\na.txt\nbuild/b.txt\nkeep.log\nsub/build/c.txt\nsub/d.txt\nsub/e.txt\n[files 1 to 7; that is all]")
	b.want("search_files", `{"pattern":"*.txt","target":"files"}`, "a.txt (1 byte)\nsub/d.txt (1 byte)\n[files 1 to 2; that is all]")
}

func TestSearchContext(t *testing.T) {
	b := newBench(t, map[string]string{"f": "1\n2\nhit 3\n4\n5\n6\n7\nhit 8\nhit 9\n10\n", "g": "hit\n"})
	b.want("search_files", `{"pattern":"hit","context":1}`,
		"f-2-2\nf:3:hit 3\nf-4-4\n--\nf-7-7\nf:8:hit 8\nf:9:hit 9\nf-10-10\n--\ng:1:hit\n[lines 1 to 4; that is all]")
	b.want("search_files", `{"pattern":"hit","context":2,"offset":1,"limit":1}`,
		"f-6-6\nf-7-7\nf:8:hit 8\n[lines 2 to 2; there are more, go on with offset 2]")
}

// TestIgnoreLikeGit asks git whether it would ignore the same files.
func TestIgnoreLikeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	names := []string{"a", "b.log", "d/a", "d/b.log", "d/e/a", "d/e/f/c.txt", "x{y}", "#h", "!i", "e/f/a"}
	line := rapid.SampledFrom([]string{
		"a", "/a", "*.log", "!b.log", "d/", "d/e", "/d/*", "**/a", "d/**", "d/**/a", "e/f", "!d/a", "# a", `\#h`, `\!i`, "x{y}", "?", "[a-c]",
		"[!a]", "*", "!*/", "f/", "*.txt ", "", "/e/", "d/e/f/", "!a",
	})
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, nil)
		if out, err := exec.Command("git", "-C", b.work, "init", "-q").CombinedOutput(); err != nil {
			t.Skipf("git init: %s", out)
		}
		for _, name := range names {
			b.put(name, "x")
		}
		text := strings.Join(rapid.SliceOfN(line, 0, 5).Draw(rt, "top"), "\n")
		below := strings.Join(rapid.SliceOfN(line, 0, 3).Draw(rt, "below"), "\n")
		b.put(".gitignore", text)
		b.put("d/.gitignore", below)
		cmd := exec.Command("git", "-C", b.work, "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore")
		out, err := cmd.Output()
		if err != nil {
			rt.Fatal(err)
		}
		want := map[string]bool{}
		for _, name := range strings.Split(strings.Trim(string(out), "\x00"), "\x00") {
			want[name] = true
		}
		got := b.call("search_files", `{"pattern":"^x","output_mode":"files"}`).Text
		for _, name := range names {
			if shown := strings.Contains("\n"+got, "\n"+name+"\n"); shown != want[name] {
				rt.Errorf("%s: shown %v, by git %v\n%s\n-- d\n%s", name, shown, want[name], text, below)
			}
		}
	})
}
