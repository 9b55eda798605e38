package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

const (
	nobody     = 65534
	childEnv   = "TERMINAL_TEST_CONCEAL"
	childToken = "xoxb-parents-secret"
)

// TestConceal starts this test program once more, as a gateway with a token in its environment, whose commands then try
// to read it. Root reads everything, so root becomes nobody first.
func TestConceal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	dir, err := os.MkdirTemp("", "conceal")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	copyProgram(t, program)
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	become := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		become.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(work, nobody, nobody); err != nil {
			t.Skip(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for mode, visible := range map[string]bool{"open": true, "concealed": false} {
		child := exec.Command(program, "-test.run=^TestConcealChild$")
		child.Dir = work
		child.Env = append(os.Environ(), childEnv+"="+mode, "SLACK_BOT_TOKEN="+childToken, "TMPDIR="+work)
		child.SysProcAttr = become
		out, err := child.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := strings.Contains(string(out), childToken); got != visible {
			t.Errorf("%s: the token is visible = %v: %s", mode, got, out)
		}
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

// TestConcealChild is the gateway of TestConceal; on its own it does nothing.
func TestConcealChild(t *testing.T) {
	mode := os.Getenv(childEnv)
	if mode == "" {
		t.Skip("only for TestConceal")
	}
	if mode == "concealed" {
		if err := Conceal(); err != nil {
			t.Fatal(err)
		}
	}
	set, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	work, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	result, err := set[0].Call(context.Background(), tools.Scope{Work: work}, json.RawMessage(`{"command":"cat /proc/$PPID/environ"}`))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(result.Text)
}
