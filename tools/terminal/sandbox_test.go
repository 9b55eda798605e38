package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/tools"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ConfineCommand { // as the first process of a command under Landlock
		fmt.Fprintln(os.Stderr, Confine(os.Args[2:]))
		os.Exit(126)
	}
	goleak.VerifyTestMain(m)
}

// cage is a work folder beside things that are none of its commands' business.
type cage struct {
	*bench
	outside string
}

// inEachSandbox runs a test in every sandbox that works here.
func inEachSandbox(t *testing.T, options Options, test func(t *testing.T, c cage)) {
	for _, name := range []string{Bubblewrap, Landlock} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			options.Own = []string{outside}
			s, err := FindSandbox(t.Context(), name, options.Own)
			if err != nil {
				t.Skipf("%s does not work here: %v", name, err)
			}
			options.Sandbox = s
			tool, err := newTerminal(options, DefaultTimeout, MaxTimeout)
			if err != nil {
				t.Fatal(err)
			}
			work := filepath.Join(outside, "work", "a")
			if err := os.MkdirAll(work, 0o755); err != nil {
				t.Fatal(err)
			}
			test(t, cage{&bench{t: t, work: work, tool: tool}, outside})
		})
	}
}

// TestSandboxKeepsIn tries to get out in many ways.
func TestSandboxKeepsIn(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "LEAKED")
	home := t.TempDir()
	t.Setenv("HOME", home)
	inEachSandbox(t, Options{}, func(t *testing.T, c cage) {
		for path, text := range map[string]string{
			filepath.Join(c.outside, "config.toml"): "LEAKED", filepath.Join(c.outside, "work/b/notes"): "LEAKED", filepath.Join(home, ".ssh/id"): "LEAKED",
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(c.outside, filepath.Join(c.work, "link")); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{
			"cat ../../config.toml", "cat link/config.toml", "cat ../b/notes", "cat " + c.outside + "/config.toml", "cat " + home + "/.ssh/id",
			"cat /proc/$PPID/environ; cat /proc/*/environ", "env", "cat /etc/shadow | sed 's/^root:/LEAKED/'", "cat /root/.bashrc && echo LEAKED",
			"echo x > ../../written", "echo x > link/written", "echo x > ../b/written", "touch /usr/written", "echo x > /etc/written", "mkdir /written",
			"ln config hard; ln ../../config.toml hard && cat hard", "rm -rf ../../work/b; rm ../../config.toml", "mv ../../config.toml .; cat config.toml",
			"kill -9 " + fmt.Sprint(os.Getpid()) + " && echo LEAKED", "mount -t tmpfs none /usr && echo LEAKED", "chroot /proc/1/root cat " + c.outside + "/config.toml",
			"unshare -m mount --bind / /mnt && cat /mnt" + c.outside + "/config.toml", "python3 -c \"print(open('" + c.outside + "/config.toml').read())\"",
		} {
			if got := c.call(command); strings.Contains(got.Text, "LEAKED") {
				t.Errorf("%s got out: %s", command, got.Text)
			}
		}
		for _, path := range []string{c.outside + "/written", c.outside + "/work/b/written", "/usr/written", "/etc/written", "/written"} {
			if _, err := os.Lstat(path); err == nil {
				os.Remove(path)
				t.Errorf("%s was written", path)
			}
		}
		for _, path := range []string{c.outside + "/config.toml", c.outside + "/work/b/notes"} {
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s is gone: %v", path, err)
			}
		}
	})
}

// TestSandboxLetsWork does what commands are for.
func TestSandboxLetsWork(t *testing.T) {
	inEachSandbox(t, Options{}, func(t *testing.T, c cage) {
		for command, want := range map[string]string{
			"echo hi > a && cat a && ls":                      "hi\na\n",
			"mkdir -p d/e && cd d && mv ../a e/b && cat e/b":  "hi\n",
			"cat <(echo one) <(echo two)":                     "one\ntwo\n",
			"echo x > $TMPDIR/t && cat $TMPDIR/t":             "x\n",
			"pwd; echo $HOME":                                 c.work + "\n" + c.work + "\n",
			"echo x > /dev/null; head -c 3 /dev/zero | wc -c": "3\n",
			"(exit 3); echo $?":                               "3\n",
			"mkdir d; rm -r d; ln -s x y; readlink y":         "x\n",
		} {
			c.call("rm -rf d y; echo hi > a")
			if got := c.output(command); got != want {
				t.Errorf("%s: %q, want %q", command, got, want)
			}
		}
		if got := c.call("exit 7"); !got.Failed || !strings.Contains(got.Text, "exit code 7") {
			t.Errorf("exit 7: %+v", got)
		}
	})
}

// TestNetwork opens a connection to a server of this test, without and with a grant.
func TestNetwork(t *testing.T) {
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("(echo > /dev/tcp/127.0.0.1/%s) 2>/dev/null && echo reached || echo refused", port)
	inEachSandbox(t, Options{}, func(t *testing.T, c cage) {
		for want, grants := range map[string][]tools.Grant{"refused\n": nil, "reached\n": {tools.GrantNetwork}} {
			raw, err := json.Marshal(arguments{Command: command})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.tool.Call(t.Context(), tools.Scope{Work: c.work, CallID: "1", Grants: grants}, raw)
			if err != nil || !strings.HasPrefix(got.Text, want) {
				t.Errorf("with %v: %+v, %v; want %q", grants, got, err, want)
			}
		}
	})
	inEachSandbox(t, Options{Network: true}, func(t *testing.T, c cage) {
		if got := c.output(command); got != "reached\n" {
			t.Errorf("with the network on: %q", got)
		}
	})
}

// TestLimits reaches for more than there is.
func TestLimits(t *testing.T) {
	usual := usualLimits()
	if got := newBench(t).output("ulimit -t; ulimit -f; ulimit -d; ulimit -c"); got != fmt.Sprintf("%d\n%d\n%d\n0\n", usual.cpu, usual.file, usual.data) {
		t.Errorf("without a sandbox: %q", got)
	}
	inEachSandbox(t, Options{}, func(t *testing.T, c cage) {
		if got := c.output("ulimit -t; ulimit -f; ulimit -c; ulimit -t unlimited 2>/dev/null || echo fixed"); !strings.HasPrefix(got, fmt.Sprintf("%d\n%d\n0\n", usual.cpu, usual.file)) {
			t.Errorf("limits: %q", got)
		}
		if got := c.call("truncate -s 5G big"); !got.Failed {
			t.Errorf("a file of 5 GiB: %+v", got)
		}
	})
}

// TestSandboxCancel makes sure that nothing is left of a command that is stopped.
func TestSandboxCancel(t *testing.T) {
	inEachSandbox(t, Options{}, func(t *testing.T, c cage) {
		ctx, cancel := context.WithCancel(t.Context())
		mark := "1000." + fmt.Sprint(os.Getpid()) + c.sandboxNumber()
		pipe := c.pipe("begun")
		done := make(chan tools.Result, 1)
		go func() {
			got, _ := c.start(ctx, arguments{Command: "setsid sleep " + mark + " & sleep " + mark + " & echo 1 > begun; sleep " + mark})
			done <- got
		}()
		c.readPIDs(pipe)
		cancel()
		if got := <-done; !got.Failed {
			t.Errorf("%+v", got)
		}
		if left := alive(t, mark); len(left) > 0 {
			t.Errorf("still running: %v", left)
		}
	})
}

func (c cage) sandboxNumber() string { return fmt.Sprint(len(c.t.Name())) }

// alive returns the processes whose command line has a text in it.
func alive(t *testing.T, text string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(line), "\x00"+text+"\x00") {
			found = append(found, path)
		}
	}
	return found
}

// TestProbe makes sure that the probe sees a sandbox that is none.
func TestProbe(t *testing.T) {
	open := Sandbox{name: "open", command: func(r run) *exec.Cmd { return Sandbox{}.start(r) }}
	if err := Probe(t.Context(), open); err == nil || !strings.Contains(err.Error(), "could read") {
		t.Errorf("an open sandbox: %v", err)
	}
	broken := Sandbox{name: "broken", command: func(run) *exec.Cmd { return exec.Command("/bin/false") }}
	if err := Probe(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "harmless") {
		t.Errorf("a broken sandbox: %v", err)
	}
	if err := Probe(t.Context(), Sandbox{}); err == nil {
		t.Error("no sandbox passes")
	}
	if _, err := FindSandbox(t.Context(), "magic", nil); err == nil {
		t.Error("an unknown name passes")
	}
}

// TestJudge looks at what the tool says about its own calls.
func TestJudge(t *testing.T) {
	caged := Sandbox{name: "caged", command: func(run) *exec.Cmd { return nil }}
	for _, test := range []struct {
		options  Options
		a        arguments
		verdict  tools.Verdict
		grants   int
		fleeting bool
	}{
		{Options{Sandbox: caged}, arguments{Command: "ls"}, tools.Allow, 0, false},
		{Options{Sandbox: caged}, arguments{Command: "./build.sh"}, tools.Allow, 0, true},
		{Options{}, arguments{Command: "./build.sh"}, tools.AskFirst, 0, true},
		{Options{Sandbox: caged}, arguments{Command: "rm -r x"}, tools.AskFirst, 0, false},
		{Options{Sandbox: caged}, arguments{Command: "curl x.org"}, tools.AskFirst, 1, false},
		{Options{Sandbox: caged}, arguments{Command: "./build.sh", Network: true}, tools.AskFirst, 1, true},
		{Options{Sandbox: caged, Network: true}, arguments{Command: "./build.sh", Network: true}, tools.Allow, 1, true},
		{Options{Sandbox: caged, Network: true}, arguments{Command: "curl x.org"}, tools.Allow, 0, false},
		{Options{Sandbox: caged}, arguments{Command: "rm -rf /", Network: true}, tools.DenyAlways, 1, false},
		{Options{Sandbox: caged, Deny: []string{"curl*"}}, arguments{Command: "curl x"}, tools.DenyAlways, 1, false},
		{Options{Sandbox: caged}, arguments{Command: "cat ../x", Workdir: "sub"}, tools.Allow, 0, false},
		{Options{Sandbox: caged, Own: []string{"/d"}}, arguments{Command: "cat ../x"}, tools.AskFirst, 0, false},
		{Options{Sandbox: caged, PID: 77}, arguments{Command: "kill 77"}, tools.AskFirst, 0, false},
	} {
		tool := &terminal{options: test.options, sandbox: test.options.Sandbox}
		raw, err := json.Marshal(test.a)
		if err != nil {
			t.Fatal(err)
		}
		got := tool.judge(tools.Scope{Work: "/d/work/a"}, raw)
		if got.Verdict != test.verdict || len(got.Grants) != test.grants || got.Fleeting != test.fleeting || (got.Rule != "") != (got.Verdict == tools.AskFirst) {
			t.Errorf("%+v: %+v", test.a, got)
		}
	}
}

// TestRuleIsExact makes sure that a permission covers no other command, folder or grant.
func TestRuleIsExact(t *testing.T) {
	tool := &terminal{}
	seen := map[string]string{}
	for _, work := range []string{"/w/a", "/w/b"} {
		for _, raw := range []string{
			`{"command":"rm -r x"}`, `{"command":"rm -r x "}`, `{"command":"rm -r x","workdir":"s"}`, `{"command":"rm -r x","network":true}`,
		} {
			rule := tool.judge(tools.Scope{Work: work}, json.RawMessage(raw)).Rule
			if other := seen[rule]; rule == "" || other != "" {
				t.Errorf("%s in %s has the rule of %s", raw, work, other)
			}
			seen[rule] = raw + work
		}
	}
}
