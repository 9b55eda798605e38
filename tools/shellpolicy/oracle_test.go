package shellpolicy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// genuine are the programs that the oracle lets bash really start, because they start others.
var genuine = []string{"env", "xargs", "find", "timeout", "nohup", "nice", "setsid", "stdbuf", "chronic"}

// oracle is a place with nothing in it but bash, wrappers and, under the names of all programs that the analyser knows,
// recorders that write down that they were reached.
type oracle struct {
	t        testing.TB
	programs string // folder of the recorders
}

func newOracle(t testing.TB) *oracle {
	t.Helper()
	if err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-all", "true").Run(); err != nil {
		t.Skip("the oracle needs bubblewrap, which does not work here:", err)
	}
	o := &oracle{t: t, programs: t.TempDir()}
	recorder := "#!/bin/bash\nprintf '%s\\0' \"${0##*/}\" >> /log/reached\n"
	if err := os.WriteFile(filepath.Join(o.programs, "recorder"), []byte(recorder), 0o755); err != nil {
		t.Fatal(err)
	}
	for name := range programs {
		target := "/recorders/recorder"
		if slices.Contains(genuine, name) {
			if _, err := exec.LookPath(name); err == nil {
				target = "/usr/bin/" + name
			}
		}
		if name == "bash" || name == "sh" {
			target = "/bin/bash"
		}
		if err := os.Symlink(target, filepath.Join(o.programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// run lets bash run a command, for two seconds at most, and returns the programs that it reached and the files that it
// made.
func (o *oracle) run(command string) (reached, made []string) {
	o.t.Helper()
	// A folder of its own for each, since a process in the background may write while it is being killed.
	log, work := o.t.TempDir(), o.t.TempDir()
	reachedFile := filepath.Join(log, "reached")
	if err := errors.Join(os.WriteFile(reachedFile, nil, 0o666), os.WriteFile(filepath.Join(work, "a.txt"), []byte(":\n"), 0o666)); err != nil {
		o.t.Fatal(err)
	}
	args := []string{
		"--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
		"--ro-bind", "/usr/lib", "/usr/lib", "--ro-bind", "/lib", "/lib", "--ro-bind-try", "/lib64", "/lib64",
		"--ro-bind", "/bin/bash", "/bin/bash", "--ro-bind", o.programs, "/recorders", "--bind", log, "/log",
		"--proc", "/proc", "--dev", "/dev", "--bind", work, "/data/work/a", "--chdir", "/data/work/a",
		"--setenv", "PATH", "/recorders", "--setenv", "HOME", "/data/work/a",
		"--setenv", "BASH_FUNC_command_not_found_handle%%", `() { printf '%s\0' "${1##*/}" >> /log/reached; }`,
	}
	for _, name := range genuine {
		if path, err := exec.LookPath(name); err == nil {
			args = append(args, "--ro-bind", path, "/usr/bin/"+name)
		}
	}
	ctx, cancel := context.WithTimeout(o.t.Context(), 2*time.Second)
	defer cancel()
	args = append(args, "/bin/bash", "-c", "ulimit -t 2 -f 100; exec /bin/bash -c \"$1\"", "bash", command)
	// It may end in any way; what counts is what it reached.
	_ = exec.CommandContext(ctx, "bwrap", args...).Run()
	text, err := os.ReadFile(reachedFile)
	if err != nil {
		o.t.Fatal(err)
	}
	for name := range strings.SplitSeq(string(text), "\x00") {
		if name != "" {
			reached = append(reached, name)
		}
	}
	err = filepath.WalkDir(work, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(path) != "a.txt" {
			made = append(made, "/data/work/a"+strings.TrimPrefix(path, work))
		}
		return nil
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return reached, made
}

// check runs a command that was judged to be safe and compares.
func (o *oracle) check(command string) {
	o.t.Helper()
	if strings.ContainsRune(command, 0) {
		return
	}
	j := Judge(command, place())
	if j.Verdict != tools.Allow {
		return
	}
	var expected []string
	for _, p := range j.Programs {
		expected = append(expected, filepath.Base(p))
	}
	reached, made := o.run(command)
	for _, p := range reached {
		if p == "bash" && (slices.Contains(expected, ".") || slices.Contains(expected, "source")) {
			continue // a recorder that was read instead of run does not know its name
		}
		if !slices.Contains(expected, p) {
			o.t.Errorf("%q reached %q; the analyser knew of %q", command, p, expected)
		}
	}
	for _, p := range made {
		if !slices.ContainsFunc(j.Writes, func(w string) bool { return w == p || globMatch(w, p) }) {
			o.t.Errorf("%q made %q; the analyser knew of %q", command, p, j.Writes)
		}
	}
}

// TestOracle lets bash run what the table has, to see whether the analyser knew all that it would start.
func TestOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a shell for each command")
	}
	o := newOracle(t)
	for _, command := range tableCommands(t) {
		o.check(command)
	}
}

// TestOracleSees makes sure that the oracle sees what is started in its several ways.
func TestOracleSees(t *testing.T) {
	o := newOracle(t)
	for command, want := range map[string]string{
		"ls": "ls", "nosuchprogram": "nosuchprogram", "env rm x": "rm", "x=r; ${x}m": "rm", "find . -exec cat {} +": "cat",
		"echo a | xargs touch": "touch", "bash -c 'bash -c mkdir'": "mkdir", "x='a[$(curl)]'; echo $((x))": "curl",
	} {
		if got, _ := o.run(command); !slices.Contains(got, want) {
			t.Errorf("%s: reached %q, want %s", command, got, want)
		}
	}
	if _, made := o.run("echo > made"); !slices.Equal(made, []string{"/data/work/a/made"}) {
		t.Errorf("made %q", made)
	}
}

// FuzzOracle changes the commands of the table.
func FuzzOracle(f *testing.F) {
	for _, command := range tableCommands(f) {
		f.Add(command)
	}
	if testing.Short() {
		f.Skip("it starts a shell for each command")
	}
	o := newOracle(f)
	f.Fuzz(func(t *testing.T, command string) {
		mine := *o
		mine.t = t
		mine.check(command)
	})
}

func tableCommands(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "== ") {
			all = append(all, strings.ReplaceAll(line, "⏎", "\n"))
		}
	}
	return all
}
