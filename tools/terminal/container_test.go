package terminal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/tools"
)

// fakeEngine puts a program of an engine's name into the PATH that writes down how it is called, and runs what it shall run
// without any container. It returns the file in which each argument is a line; an empty one ends a call.
func fakeEngine(t *testing.T, name string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	script := `#!/bin/bash
{ printf '%s\n' "$@"; echo; } >> ` + calls + `
case $1 in
ps) echo one; echo two ;;
run)
	[ -n "$SLACK_BOT_TOKEN" ] && echo LEAKED
	command=${*: -1}
	while [ "$1" != --workdir ]; do shift; done
	cd "$2"
	case $command in *../secret*) echo inside > made; echo inside; echo end; exit ;; esac # a container keeps that away
	exec bash -c "$command" ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("SLACK_BOT_TOKEN", "secret")
	return calls
}

// called returns the last call of a fake engine, argument by argument.
func called(t *testing.T, calls string) []string {
	t.Helper()
	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(string(text), "\n\n"), "\n\n")
	return strings.Split(all[len(all)-1], "\n")
}

// TestContainer checks each argument that the engine gets.
func TestContainer(t *testing.T) {
	for _, engine := range []string{Docker, Podman} {
		t.Run(engine, func(t *testing.T) {
			calls := fakeEngine(t, engine)
			t.Setenv("LANG", "")
			t.Setenv("LC_ALL", "")
			if _, err := FindContainer(t.Context(), engine, ""); err == nil {
				t.Error("it works without an image")
			}
			s, err := FindContainer(t.Context(), engine, "debian:stable")
			if err != nil || s.Name() != engine || !s.Contained() {
				t.Fatal(s.Name(), err)
			}
			secret := func(path string) bool { return path == ".env" }
			tool, err := newTerminal(Options{Sandbox: s, Secret: secret}, DefaultTimeout, MaxTimeout)
			if err != nil {
				t.Fatal(err)
			}
			b := &bench{t: t, work: t.TempDir(), tool: tool}
			for _, name := range []string{".env", "sub/x"} {
				os.MkdirAll(filepath.Join(b.work, "sub"), 0o755)
				if err := os.WriteFile(filepath.Join(b.work, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := b.start(t.Context(), arguments{Command: "echo hi; ls", Workdir: "sub"})
			if err != nil || !strings.HasPrefix(got.Text, "hi\nx\n[exit code 0") {
				t.Errorf("%+v, %v", got, err)
			}
			args := called(t, calls)
			mark := strings.TrimPrefix(args[slices.Index(args, "--name")+1], containerName)
			want := []string{
				"run", "--rm", "--init", "--pull", "never", "--name", "talaria-" + mark, "--label", "talaria=" + mark,
				"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--tmpfs", "/tmp:size=268435456",
				"--pids-limit", "512", "--memory", "4194304k", "--ulimit", "core=0", "--ulimit", "cpu=1200", "--ulimit", "fsize=4294967296",
				"--ulimit", "nofile=4096", "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
				"--mount", "type=bind,source=" + b.work + ",target=" + b.work, "--workdir", b.work + "/sub",
			}
			if engine == Podman && os.Getuid() != 0 {
				want = append(want, "--userns", "keep-id")
			}
			want = append(want, "--network", "none", "--mount", "type=bind,source=/dev/null,target="+b.work+"/.env,readonly",
				"--env", "HOME="+b.work, "--env", "TMPDIR="+b.work+"/.tmp", "--env", "TERM=dumb", "--env", "TALARIA_CALL="+mark,
				"--env", "LANG=C.UTF-8", "--entrypoint", "/bin/sh", "debian:stable", "-c", inContainer, "sh", "echo hi; ls")
			if diff := cmp.Diff(want, args); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestContainerEnds: what a killed client leaves running is ended, and so is what an earlier process has left.
func TestContainerEnds(t *testing.T) {
	calls := fakeEngine(t, Docker)
	s, err := FindContainer(t.Context(), Docker, "debian:stable")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProcesses("", "me", s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if diff := cmp.Diff([]string{"rm", "--force", "one", "two"}, called(t, calls)); diff != "" {
		t.Errorf("at the start (-want +got)\n%s", diff)
	}
	set, err := New(Options{Sandbox: s, Processes: p, Network: true})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, work: t.TempDir(), tool: set[0]}
	pipe := b.pipe("begun")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tools.Result, 1)
	go func() {
		got, _ := b.start(ctx, arguments{Command: "echo 1 > begun; sleep 1000", Pty: true})
		done <- got
	}()
	b.readPIDs(pipe)
	args := called(t, calls)
	cancel()
	<-done
	name := args[slices.Index(args, "--name")+1]
	if !strings.HasPrefix(name, "talaria-me.") || !slices.Contains(args, "talaria=me") || !slices.Contains(args, "--tty") ||
		slices.Contains(args, "--network") || slices.Contains(args, "--interactive") {
		t.Errorf("%q", args)
	}
	if diff := cmp.Diff([]string{"rm", "--force", name}, called(t, calls)); diff != "" {
		t.Errorf("after the cancel (-want +got)\n%s", diff)
	}
}
