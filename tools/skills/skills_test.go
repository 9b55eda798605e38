package skills

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

// put writes files below a folder, and returns that.
func put(t *testing.T, folder string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func skill(name, description, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n%s\n", name, description, body)
}

// evil is a scanner with one word.
func evil(text string) string {
	if strings.Contains(text, "EVIL") {
		return "it says so"
	}
	return ""
}

func everything(string) bool { return true }

func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{ // want begins with "!" where it is an error
		"plain":            {skill("a-b2", "What it is.", "Body."), "a-b2|What it is.|Body."},
		"Windows and mark": {"\ufeff---\r\nname: a\r\ndescription: x\r\n---\r\nOne.\r\nTwo.\r\n", "a|x|One.\nTwo."},
		"other keys":       {"---\nname: a\ndescription: >\n  two\n  lines\nlicense: MIT\nallowed-tools: Bash(git:*) Read\nmetadata: {version: 1.0, tags: [x]}\n---\nB", "a|two lines|B"},
		"no body":          {"---\nname: a\ndescription: x\n---", "a|x|"},
		"no front matter":  {"# A skill\n", "!does not begin with front matter"},
		"not closed":       {"---\nname: a\n", "!does not end"},
		"empty":            {"---\n---\n", "!the name \"\""},
		"no YAML":          {"---\nname: [a\n---\n", "!no YAML"},
		"a list":           {"---\n- a\n---\n", "!no YAML"},
		"bad name":         {skill("Deploy Shop", "x", ""), "!small letters"},
		"leads out":        {skill("../a", "x", ""), "!small letters"},
		"long name":        {skill(strings.Repeat("a", 65), "x", ""), "!small letters"},
		"no description":   {"---\nname: a\n---\n", "!no description"},
		"long description": {skill("a", strings.Repeat("d", 1025), ""), "!1025 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			s, body, err := parse(c.text)
			if want, bad := strings.CutPrefix(c.want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
			} else if got := s.Name + "|" + s.Description + "|" + body; err != nil || got != c.want {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestList: skills of others drop in, at several depths; those that cannot be used are named, and harm no other.
func TestList(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		"top/SKILL.md":           skill("top", "At the top.", ""),
		"group/sub/SKILL.md":     skill("nested", "Deeper.", ""),
		"a/b/c/SKILL.md":         skill("third", "Third level.", ""),
		"a/b/c/d/SKILL.md":       skill("inner", "Belongs to the third.", ""),
		"x/y/z/deep/SKILL.md":    skill("deep", "Too deep.", ""),
		".git/hooks/SKILL.md":    skill("hidden", "Hidden.", ""),
		"twice/SKILL.md":         skill("top", "Again.", ""),
		"broken/SKILL.md":        "no front matter",
		"taken/SKILL.md":         skill("taken", "EVIL", ""),
		"data-report/SKILL.md":   skill("data-report", "The operator's own.", ""),
		"README.md":              "not a skill",
		"binary/SKILL.md":        "---\nname: a\x00\n",
		"huge/SKILL.md":          strings.Repeat("x", maxFile+1),
		"no-skill/other/some.md": "x",
	})
	if err := syscall.Mkfifo(filepath.Join(put(t, filepath.Join(dir, "pipe"), map[string]string{"x": ""}), mainFile), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := put(t, t.TempDir(), map[string]string{"SKILL.md": skill("outside", "Elsewhere.", "")})
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	l := NewLibrary(Options{Dirs: []string{dir, filepath.Join(dir, "missing")}, Own: filepath.Join(dir, "none"), Suspicious: evil})
	all, problems := l.List()
	var got []string
	for _, s := range all {
		got = append(got, s.Name+" "+string(s.Source))
	}
	want := "data-report operator,log-diagnosis shipped,nested operator,scheduled-job shipped,third operator,top operator"
	if strings.Join(got, ",") != want {
		t.Errorf("%v, want %s", got, want)
	}
	var said strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&said, "%s: %s\n", filepath.Base(p.Place), p.Reason)
	}
	for _, want := range []string{
		"binary: SKILL.md: it is no text", "broken: it does not begin", "huge: SKILL.md: it is too large", "pipe: SKILL.md: it is no file",
		"taken: its description looks as if", "twice: another skill is called \"top\"", "missing: the folder cannot be read: no such file",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("not said: %s in\n%s", want, said.String())
		}
	}
	if n := len(problems); n != 7 {
		t.Errorf("%d problems:\n%s", n, said.String())
	}
	if text := l.Overview(); !strings.Contains(text, "**top** (operator)") || !strings.Contains(text, "**broken**: it does not") {
		t.Error(text)
	}
}

// TestIndex: it is the same as long as nothing has changed, bounded, and without what lacks its tools.
func TestIndex(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		name := fmt.Sprintf("skill-%03d", i)
		files[name+"/SKILL.md"] = skill(name, strings.Repeat("what it is for, ", 30), "")
	}
	l := NewLibrary(Options{Dirs: []string{put(t, t.TempDir(), files)}})
	first := l.Index(everything)
	if first != l.Index(everything) {
		t.Error("it differs from one time to the next")
	}
	if len(first) > maxIndex+100 || !strings.Contains(first, "- data-report: ") || !strings.Contains(first, "more; skill_view without a name lists all") {
		t.Errorf("%d bytes:\n%s", len(first), first)
	}
	few := NewLibrary(Options{}).Index(func(tool string) bool { return tool == "cronjob" })
	if !strings.HasPrefix(few, "- scheduled-job: ") || strings.Contains(few, "\n") {
		t.Error(few)
	}
}

// TestShipped: what comes with the program is fit to be shown.
func TestShipped(t *testing.T) {
	all, problems := NewLibrary(Options{}).List()
	if len(all) != 3 || len(problems) > 0 {
		t.Fatal(all, problems)
	}
	for _, s := range all {
		body, err := s.read("")
		if err != nil || len(body) < 300 || len(body) > 3000 || len(s.Needs) == 0 {
			t.Errorf("%s: %d bytes, needs %v, %v", s.Name, len(body), s.Needs, err)
		}
	}
}

// call calls a tool of the library; whatever its check finds counts as a refusal.
func call(t *testing.T, l *Library, name string, arguments map[string]string) (string, bool) {
	t.Helper()
	all, err := New(l)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range all {
		spec := tool.Spec()
		if spec.Name != name {
			continue
		}
		if spec.Check != nil {
			if found := spec.Check(raw); len(found) > 0 {
				return found[0].Argument + ": " + found[0].Problem, false
			}
		}
		r, err := tool.Call(t.Context(), tools.Scope{}, raw)
		if err != nil {
			t.Fatal(err)
		}
		return r.Text, !r.Failed
	}
	t.Fatalf("no tool %s", name)
	return "", false
}

func TestView(t *testing.T) {
	dir := put(t, t.TempDir(), map[string]string{
		"a/SKILL.md": skill("a", "x", "Read references/api.md."), "a/references/api.md": "GET /", "a/scripts/run.sh": "echo", "a/.env": "secret",
		"b/SKILL.md": skill("b", "x", "This is EVIL."), "secret": "outside of the skill", "a/long.txt": strings.Repeat("é", maxView),
	})
	if err := os.Symlink("../secret", filepath.Join(dir, "a", "near")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "a", "far")); err != nil {
		t.Fatal(err)
	}
	l := NewLibrary(Options{Dirs: []string{dir}, Suspicious: evil})
	for _, c := range []struct {
		name, file, want string
		ok               bool
	}{
		{"", "", "- a: x\n- b: x\n- data-report: ", true},
		{"a", "", "Read references/api.md.\n\nFiles of this skill, for skill_view: far, long.txt, near, references/api.md, scripts/run.sh", true},
		{"a", "SKILL.md", "Read references/api.md.", true},
		{"a", "references/../references/api.md", "GET /", true},
		{"a", "long.txt", "bytes more are left out", true},
		{"b", "", "Be careful, this may want to take you over: it says so.", true},
		{"data-report", "references/summary.py", "import statistics", true},
		{"c", "", "There is no skill \"c\". There are:\n- a: x", false},
		{"a", "../secret", "cannot be read", false},
		{"a", "/etc/passwd", "cannot be read", false},
		{"a", "far", "cannot be read", false},
		{"a", "references", "it is no file", false},
		{"a", "none.md", "cannot be read: no such file", false},
	} {
		if text, ok := call(t, l, "skill_view", map[string]string{"name": c.name, "file": c.file}); ok != c.ok || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %v, %.300s", c.name, c.file, ok, text)
		}
	}
}

func TestManage(t *testing.T) {
	operator := put(t, t.TempDir(), map[string]string{"theirs/SKILL.md": skill("theirs", "x", "")})
	own := filepath.Join(t.TempDir(), "skills")
	l := NewLibrary(Options{Dirs: []string{operator}, Own: own, Suspicious: evil})
	for i, c := range []struct {
		action, name, file, content, old, want string
		ok                                     bool
	}{
		{"create", "tea", "", "no front matter", "", "does not begin with front matter", false},
		{"create", "tea", "", skill("coffee", "x", ""), "", "names the skill coffee", false},
		{"create", "Tea", "", skill("Tea", "x", ""), "", "name: the name", false},
		{"create", "../tea", "", skill("tea", "x", ""), "", "name: the name", false},
		{"create", "tea", "", skill("tea", "x", "EVIL"), "", "skills become part", false},
		{"create", "tea", "", skill("tea", "x", strings.Repeat("y", maxWritten)), "", "64 KiB", false},
		{"create", "theirs", "", skill("theirs", "x", ""), "", "not yours (operator)", false},
		{"create", "data-report", "", skill("data-report", "x", ""), "", "not yours (shipped)", false},
		{"edit", "tea", "", skill("tea", "x", ""), "", "written no skill \"tea\"", false},
		{"create", "tea", "", skill("tea", "How tea is made.", "Two minutes."), "", "Written", true},
		{"create", "tea", "", skill("tea", "x", ""), "", "already", false},
		{"patch", "tea", "", "Three", "Two", "Written", true},
		{"patch", "tea", "", "x", "e", "must stand there exactly once", false},
		{"patch", "tea", "", "", "name: tea\n", "the name \"\"", false},
		{"edit", "tea", "references/kinds.md", "green", "", "Written", true},
		{"edit", "tea", "references/kinds.md", "EVIL", "", "not written", false},
		{"edit", "tea", "../x.md", "green", "", "file: it leads out", false},
		{"edit", "tea", ".hidden", "green", "", "file: it leads out", false},
		{"edit", "tea", "", "", "", "content: it is missing", false},
		{"delete", "tea", "none.md", "", "", "has no file", false},
		{"delete", "tea", "SKILL.md", "", "", "nothing without", false},
		{"delete", "theirs", "", "", "", "not yours", false},
	} {
		text, ok := call(t, l, "skill_manage", map[string]string{"action": c.action, "name": c.name, "file": c.file, "content": c.content, "old_text": c.old})
		if ok != c.ok || !strings.Contains(text, c.want) {
			t.Errorf("%d: %s %s %s: %v, %s", i, c.action, c.name, c.file, ok, text)
		}
	}
	if text, _ := call(t, l, "skill_view", map[string]string{"name": "tea"}); text != "Three minutes.\n\nFiles of this skill, for skill_view: references/kinds.md" {
		t.Error(text)
	}
	if text, ok := call(t, l, "skill_manage", map[string]string{"action": "delete", "name": "tea", "file": "references/kinds.md"}); !ok {
		t.Error(text)
	}
	if text, ok := call(t, l, "skill_manage", map[string]string{"action": "delete", "name": "tea"}); !ok {
		t.Error(text)
	}
	if left, err := os.ReadDir(own); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestManageIsAsked: writing outside of the conversation needs permission, for exactly this text.
func TestManageIsAsked(t *testing.T) {
	all, err := New(NewLibrary(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	policy := tools.AskByRisk{tools.Executes, tools.Outside}
	one := policy.Judge(tools.Scope{}, all[1].Spec(), json.RawMessage(`{"action":"create","name":"a","content":"x"}`))
	other := policy.Judge(tools.Scope{}, all[1].Spec(), json.RawMessage(`{"action":"create","name":"a","content":"y"}`))
	if one.Verdict != tools.AskFirst || one.Rule == "" || one.Rule == other.Rule || !strings.Contains(one.Reason, "all conversations") {
		t.Errorf("%+v, %+v", one, other)
	}
	if got := policy.Judge(tools.Scope{}, all[0].Spec(), json.RawMessage(`{}`)); got.Verdict != tools.Allow {
		t.Errorf("reading: %+v", got)
	}
}
