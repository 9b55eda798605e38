package terminal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

const orphansEnv = "TERMINAL_TEST_ORPHANS"

// TestNothingOutlivesTheProgram kills this test program, started once more as a gateway with commands in the background and
// in the foreground, by kill -9: the kernel takes the commands along, and the next start whatever they have started.
func TestNothingOutlivesTheProgram(t *testing.T) {
	for name, sandbox := range everySandbox(t) {
		t.Run(name, func(t *testing.T) {
			b := &bench{t: t, work: t.TempDir()}
			folder := t.TempDir()
			instance := fmt.Sprintf("test%d%s", os.Getpid(), name)
			first, second := b.pipe("begun1"), b.pipe("begun2")
			child := exec.Command(os.Args[0], "-test.run=^TestOrphansChild$")
			child.Env = append(os.Environ(), orphansEnv+"="+strings.Join([]string{name, instance, folder, b.work}, ","))
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			defer child.Wait()
			defer child.Process.Kill()
			b.readPIDs(first)
			b.readPIDs(second)
			child.Process.Kill()
			child.Wait()
			p, err := NewProcesses(folder, instance, sandbox, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for _, mark := range []string{"1234.1" + instance[4:8], "1234.2" + instance[4:8]} {
				if left := alive(t, mark); len(left) > 0 {
					t.Errorf("still running: %v", left)
				}
			}
			if text, _ := p.News("c"); !strings.Contains(text, gone) {
				t.Errorf("%q", text)
			}
		})
	}
}

// TestOrphansChild is the gateway of TestNothingOutlivesTheProgram; on its own it does nothing.
func TestOrphansChild(t *testing.T) {
	name, rest, ok := strings.Cut(os.Getenv(orphansEnv), ",")
	if !ok {
		t.Skip("only for TestNothingOutlivesTheProgram")
	}
	parts := strings.Split(rest, ",")
	sandbox, err := FindSandbox(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProcesses(parts[1], parts[0], sandbox, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	set, err := New(Options{Sandbox: sandbox, Processes: p})
	if err != nil {
		t.Fatal(err)
	}
	number := parts[0][4:8]
	command := func(n int) string {
		mark := fmt.Sprintf("1234.%d%s", n, number)
		return fmt.Sprintf(`{"command":"setsid sleep %s & echo 1 > begun%d; sleep %s","background":%v}`, mark, n, mark, n == 1)
	}
	scope := tools.Scope{Conversation: "c", Work: parts[2]}
	for n := 1; n <= 2; n++ {
		if _, err := set[0].Call(context.Background(), scope, []byte(command(n))); err != nil {
			t.Fatal(err)
		}
	}
	syscall.Pause()
}
