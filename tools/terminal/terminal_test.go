package terminal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// bench is a work folder and the tool on it.
type bench struct {
	t    *testing.T
	work string
	tool tools.Tool
}

func newBench(t *testing.T) *bench { return newBenchWithin(t, DefaultTimeout, MaxTimeout) }

func newBenchWithin(t *testing.T, timeout, maximum time.Duration) *bench {
	t.Helper()
	tool, err := newTerminal(Options{}, timeout, maximum)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, work: t.TempDir(), tool: tool}
}

func (b *bench) start(ctx context.Context, a arguments) (tools.Result, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		b.t.Error(err)
	}
	return b.tool.Call(ctx, tools.Scope{Work: b.work, CallID: "call/1"}, raw)
}

func (b *bench) call(command string) tools.Result {
	b.t.Helper()
	result, err := b.start(b.t.Context(), arguments{Command: command})
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// output returns what the command said, without the line about its end.
func (b *bench) output(command string) string {
	b.t.Helper()
	text := b.call(command).Text
	return text[:strings.LastIndexByte(text, '\n')+1]
}

// pipe makes a named pipe in the work folder.
func (b *bench) pipe(name string) string {
	b.t.Helper()
	full := filepath.Join(b.work, name)
	if err := syscall.Mkfifo(full, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return full
}

// readPIDs waits until a command has written a line into a named pipe, and returns the process numbers in it.
func (b *bench) readPIDs(pipe string) []int {
	b.t.Helper()
	f, err := os.Open(pipe)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		b.t.Fatal(err)
	}
	var pids []int
	for _, word := range strings.Fields(line) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			b.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// gone wants processes to be dead. What counts is that they do not run; init reaps those that were orphans.
func (b *bench) gone(pids []int) {
	b.t.Helper()
	if len(pids) == 0 {
		b.t.Error("there were no processes")
	}
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			b.t.Errorf("process %d still runs: %s", pid, stat)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestOutcomes(t *testing.T) {
	b := newBench(t)
	for _, test := range []struct {
		command, output, end string
		failed               bool
	}{
		{"echo hello", "hello\n", "exit code 0", false},
		{"printf 'no end'", "no end\n", "exit code 0", false},
		{"true", "[no output]\n", "exit code 0", false},
		{"echo out; echo err >&2; exit 3", "out\nerr\n", "exit code 3", true},
		{"no-such-program-at-all 2>/dev/null", "[no output]\n", "exit code 127", true},
		{"echo x; kill -TERM $$", "x\n", "killed by signal 15, terminated,", true},
		{"cat", "[no output]\n", "exit code 0", false}, // there is no input
		{"printf '\\033[31mred\\033[0m \\377\\0|a\\r\\nb'", "red \uFFFD\uFFFD|a\nb\n", "exit code 0", false},
		{"echo ${BASH_VERSION:+bash}", "bash\n", "exit code 0", false},
	} {
		got := b.call(test.command)
		want := test.output + "[" + test.end + " after "
		if got.Failed != test.failed || !strings.HasPrefix(got.Text, want) {
			t.Errorf("%s: failed = %v, %q; want %q", test.command, got.Failed, got.Text, want)
		}
	}
	for _, command := range []string{"", " \n", "a\x00b"} {
		if got := b.call(command); !got.Failed || !strings.Contains(got.Text, "no command") {
			t.Errorf("%q: %+v", command, got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-secret")
	t.Setenv("LANG", "")
	t.Setenv("LC_ALL", "C")
	b := newBench(t)
	allowed := map[string]bool{"PATH": true, "PWD": true, "SHLVL": true, "_": true, marker: true}
	want := map[string]string{
		"HOME": b.work, "TMPDIR": filepath.Join(b.work, scratch), "TERM": "dumb", "LANG": "C.UTF-8", "LC_ALL": "C",
	}
	for line := range strings.Lines(b.output("env")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if expected, ok := want[name]; ok {
			if value != expected {
				t.Errorf("%s = %q, want %q", name, value, expected)
			}
			delete(want, name)
		} else if !allowed[name] {
			t.Errorf("the command sees %s=%s", name, value)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if got := b.output("touch ~/mark $TMPDIR/mark && ls -A"); got != ".tmp\nmark\n" {
		t.Errorf("the folder holds %q", got)
	}
	if b.output("rm .tmp/mark mark"); len(entries(t, b.work)) > 0 {
		t.Errorf("left over: %v", entries(t, b.work))
	}
	t.Setenv("PATH", "")
	if got := b.output("echo $PATH"); !strings.Contains(got, "/usr/bin") {
		t.Errorf("PATH = %q", got)
	}
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOpenFilesAreNotInherited(t *testing.T) {
	secret, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	if got := newBench(t).output("ls -l /proc/$$/fd"); !strings.Contains(got, "-> /dev/null") || strings.Contains(got, os.Args[0]) {
		t.Errorf("the command has these files open: %s", got)
	}
}

func TestWorkdir(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(filepath.Join(b.work, "sub/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"out": "..", "in": "sub"} {
		if err := os.Symlink(target, filepath.Join(b.work, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(b.work, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"": b.work, ".": b.work, "sub/deep": b.work + "/sub/deep", "in/deep": b.work + "/sub/deep", b.work + "/sub": b.work + "/sub",
	} {
		got, err := b.start(t.Context(), arguments{Command: "pwd", Workdir: dir})
		if err != nil || !strings.HasPrefix(got.Text, want+"\n") {
			t.Errorf("in %q: %+v, %v; want %s", dir, got, err, want)
		}
	}
	for dir, want := range map[string]string{
		"..": "outside", "out": "outside", "/": "outside", "/etc": "outside", "sub/../..": "outside", "file": "no folder", "absent": "not there",
	} {
		got, err := b.start(t.Context(), arguments{Command: "pwd", Workdir: dir})
		if err != nil || !got.Failed || !strings.Contains(got.Text, want) {
			t.Errorf("in %q: %+v, %v; want %q", dir, got, err, want)
		}
	}
}

// family starts, in the background and in the foreground, every kind of process that is hard to get rid of, and writes
// all their numbers into the pipe "pids".
const family = `
sleep 1000 & a=$!
(trap '' TERM INT HUP; sleep 1000) & b=$!
nohup sleep 1000 >/dev/null 2>&1 & c=$!
setsid sleep 1000 & d=$!
setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 & e=$!
echo begun
echo $$ $a $b $c $d $e > pids
`

func TestCancelKillsTheWholeFamily(t *testing.T) {
	b := newBench(t)
	pipe := b.pipe("pids")
	stopped := errors.New("a person said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	var result tools.Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = b.start(ctx, arguments{Command: family + "sleep 1000"})
	}()
	pids := b.readPIDs(pipe)
	cancel(stopped)
	<-done
	b.gone(pids)
	if err != stopped || !strings.HasPrefix(result.Text, "begun\n[stopped") {
		t.Errorf("result = %+v, error = %v", result, err)
	}
}

func TestEndKillsTheBackground(t *testing.T) {
	b := newBench(t)
	pipe := b.pipe("pids")
	var result tools.Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = b.start(t.Context(), arguments{Command: family})
	}()
	pids := b.readPIDs(pipe)
	<-done
	b.gone(pids)
	if err != nil || !strings.HasPrefix(result.Text, "begun\n[exit code 0") {
		t.Errorf("result = %+v, error = %v", result, err)
	}
}

func TestTimeout(t *testing.T) {
	b := newBenchWithin(t, 50*time.Millisecond, 100*time.Millisecond)
	for timeout, want := range map[int]string{0: "killed after 50ms", 7: "killed after 100ms"} {
		got, err := b.start(t.Context(), arguments{Command: "echo begun; sleep 1000", Timeout: timeout})
		if err != nil || !got.Failed || !strings.Contains(got.Text, want) {
			t.Errorf("timeout %d: %+v, %v; want %q", timeout, got, err, want)
		}
	}
}

func TestLimit(t *testing.T) {
	terminal := &terminal{timeout: DefaultTimeout, maximum: MaxTimeout}
	for seconds, want := range map[int]time.Duration{
		-1: DefaultTimeout, 0: DefaultTimeout, 1: time.Second, 600: MaxTimeout, 601: MaxTimeout, math.MaxInt: MaxTimeout,
	} {
		if got := terminal.limit(seconds); got != want {
			t.Errorf("limit(%d) = %v, want %v", seconds, got, want)
		}
	}
}

func TestEndedContext(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	b := newBench(t)
	if _, err := b.start(ctx, arguments{Command: "touch ran"}); err != stopped {
		t.Errorf("error = %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.work, "ran")); err == nil {
		t.Error("the command ran")
	}
	b.work += "-gone"
	if _, err := b.start(t.Context(), arguments{Command: "true"}); err == nil {
		t.Error("no error without a work folder")
	}
}

func TestLongOutput(t *testing.T) {
	b := newBench(t)
	got := b.call("seq 1 200000")
	const size = 1288895
	left := size - headBytes - tailBytes
	where := fmt.Sprintf("[%d bytes left out here; the whole output is in results/terminal-call1.txt]\n", left)
	if len(got.Text) > headBytes+tailBytes+300 || !strings.HasPrefix(got.Text, "1\n2\n3\n") || !strings.Contains(got.Text, where) ||
		!strings.Contains(got.Text, "\n200000\n[exit code 0") {
		t.Errorf("%d bytes, %q ... %q", len(got.Text), got.Text[:20], got.Text[len(got.Text)-60:])
	}
	whole, err := os.ReadFile(filepath.Join(b.work, "results/terminal-call1.txt"))
	if err != nil || len(whole) != size {
		t.Errorf("the file has %d bytes: %v", len(whole), err)
	}
}

func TestLongOutputCannotLeaveTheFolder(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(b.work, results)); err != nil {
		t.Fatal(err)
	}
	got := b.call("seq 1 20000")
	if !strings.Contains(got.Text, "the rest could not be kept") || !strings.Contains(got.Text, "\n20000\n[exit code 0") {
		t.Errorf("%q", got.Text[len(got.Text)-100:])
	}
	if left := entries(t, outside); len(left) > 0 {
		t.Errorf("outside: %v", left)
	}
}

func TestSpec(t *testing.T) {
	set, err := New(Options{})
	if err != nil || len(set) != 1 {
		t.Fatal(set, err)
	}
	spec := set[0].Spec()
	if spec.Name != "terminal" || spec.Risk != tools.Executes || spec.Parallel || spec.Description == "" {
		t.Errorf("%+v", spec)
	}
	limits := fmt.Sprintf("default %.0f, at most %.0f", DefaultTimeout.Seconds(), MaxTimeout.Seconds())
	if got := spec.Schema.Properties["timeout"].Description; !strings.Contains(got, limits) {
		t.Errorf("timeout: %s", got)
	}
	for raw, want := range map[string]string{
		`{"command":"ls -l\nrm x"}`:            "ls -l\nrm x",
		`{"command":"ls","workdir":"sub"}`:     "ls  (in sub)",
		`{"command":"ls","workdir":".","x":1}`: "ls",
		`[`:                                    "",
	} {
		if got := spec.Preview(json.RawMessage(raw)); got != want {
			t.Errorf("preview of %s = %q", raw, got)
		}
	}
}

// TestNoTerminal: a command must not ask on the operator's terminal, nor type into it.
func TestNoTerminal(t *testing.T) {
	b := newBench(t)
	const session = "read -r pid name state parent group session rest < /proc/$$/stat; "
	if got := b.output(session + `[ "$session" = $$ ] && [ "$group" = $$ ] && echo own`); got != "own\n" {
		t.Errorf("the command is in somebody else's session: %q", got)
	}
	if got := b.output("(: < /dev/tty) 2> /dev/null && echo terminal"); strings.Contains(got, "terminal") {
		t.Error("the command has a terminal")
	}
}
