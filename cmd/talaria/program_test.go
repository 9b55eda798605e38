//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen; it is only ever used up by a failing test.
const patience = time.Minute

// builder builds the program, once for all tests.
type builder struct {
	once   sync.Once
	folder string
	err    error
}

var binary builder

// path returns where the program is.
func (b *builder) path() (string, error) {
	b.once.Do(func() {
		if b.folder, b.err = os.MkdirTemp("", "talaria-binary-"); b.err != nil {
			return
		}
		args := []string{"build", "-buildvcs=false", "-o", b.folder + "/"}
		if raceEnabled() {
			args = append(args, "-race")
		}
		if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
			b.err = fmt.Errorf("build the program: %w\n%s", err, out)
		}
	})
	return filepath.Join(b.folder, "talaria"), b.err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binary.folder != "" {
		_ = os.RemoveAll(binary.folder)
	}
	os.Exit(code)
}

// raceEnabled tells whether the test runs with the race detector; the program then does too.
func raceEnabled() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// program is the built program, running. Whatever it prints must hold no secret: all secrets of these tests contain
// the word in canary, and every program is checked for it at its test's end.
type program struct {
	cmd    *exec.Cmd
	output transcript
	ended  chan struct{}
}

const canary = "canary"

// launch starts the program in an empty folder with nothing in its environment but what is given.
func launch(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	path, err := binary.path()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	p := &program{cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.output.changed = make(chan struct{})
	p.cmd.Dir = home
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // ProcessState says how it ended
	}()
	t.Cleanup(func() {
		p.kill()
		text := p.output.String()
		if strings.Contains(text, canary) {
			t.Errorf("talaria %s printed a secret", strings.Join(args, " "))
		}
		if strings.Contains(text, "DATA RACE") {
			t.Errorf("talaria %s has a data race", strings.Join(args, " "))
		}
		if t.Failed() {
			t.Logf("talaria %s printed:\n%s", strings.Join(args, " "), text[max(0, len(text)-20_000):])
		}
	})
	return p
}

// kill is kill -9, and does nothing to a program that has ended.
func (p *program) kill() {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
	<-p.ended
}

func (p *program) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("signal the program: %v", err)
	}
}

// exit waits for the program's end and returns its exit code, -1 if a signal ended it.
func (p *program) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatal("the program does not end")
		return 0
	}
}

// mustExit fails the test if the program does not end with that code, or does not say all of that.
func (p *program) mustExit(t *testing.T, code int, says ...string) {
	t.Helper()
	if got := p.exit(t); got != code {
		t.Errorf("the exit code is %d, want %d", got, code)
	}
	for _, text := range says {
		if !strings.Contains(p.output.String(), text) {
			t.Errorf("the program does not say %q; it says:\n%s", text, p.output.String())
		}
	}
}

// transcript is what a program has printed so far.
type transcript struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{}
}

func (o *transcript) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(b)
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Changed returns a channel that is closed when more is printed.
func (o *transcript) Changed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// await waits until a condition holds that can only begin to hold when something changes.
func await(t *testing.T, what string, changed func() <-chan struct{}, holds func() bool) {
	t.Helper()
	late := time.After(patience)
	for {
		next := changed()
		if holds() {
			return
		}
		select {
		case <-next:
		case <-late:
			t.Fatalf("it does not come true that %s", what)
		}
	}
}

// poll waits until a condition holds of which nobody tells.
func poll(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(patience)
	for !holds() {
		select {
		case <-ticker.C:
		case <-late:
			t.Fatalf("it does not come true that %s", what)
		}
	}
}

// receive takes what a channel yields.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("it does not come true that %s", what)
		panic("unreachable")
	}
}
