package terminal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// drain is how long output is waited for when all known processes are gone: one that could not be found may keep the
// pipe open for ever.
const drain = 200 * time.Millisecond

// process is a command that is to be run.
type process struct {
	run
	sandbox Sandbox
	mark    string // begins what its processes are recognised by
	input   bool   // it can be written to
	out     io.Writer
}

// ending is how a command ended.
type ending struct{ state *os.ProcessState }

func (e ending) ok() bool { return e.state.Success() }

func (e ending) String() string {
	if status, ok := e.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("killed by signal %d, %v,", status.Signal(), status.Signal())
	}
	return fmt.Sprintf("exit code %d", e.state.ExitCode())
}

// running is a command that runs. end must be called, once.
type running struct {
	sandbox Sandbox
	mark    string
	cmd     *exec.Cmd
	ours    *os.File // the end of the output that is ours
	input   *os.File // what is written here the command reads; nil = it has no input
	reading sync.WaitGroup
	exited  chan struct{}
}

// begin starts the command. An error means that it did not start.
func (p process) begin() (*running, error) {
	p.run.mark = p.mark + rand.Text()
	r := &running{sandbox: p.sandbox, mark: p.run.mark, exited: make(chan struct{})}
	cmd := p.sandbox.start(p.run)
	if cmd.Err != nil {
		return nil, startError(cmd.Err)
	}
	cmd.Dir = p.dir
	if cmd.Env == nil {
		cmd.Env = environment(p.work, r.mark, p.pty)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	theirs, err := p.connect(r, cmd)
	if err != nil {
		return nil, err
	}
	// A group of its own, to be killed as one; and a session of its own, so that it has no terminal but the one that it was
	// given, on which it could ask for a password, or type what the gateway's shell would then run.
	cmd.SysProcAttr.Setsid = true
	dieWithParent(cmd.SysProcAttr)
	r.cmd = cmd
	started := make(chan error, 1)
	go func() {
		// A process that dies with its parent dies with the thread that started it, so that is kept until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			awaitExit(cmd)
			close(r.exited)
		}
	}()
	err = <-started
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		r.close()
		return nil, startError(err)
	}
	r.reading.Go(func() { io.Copy(p.out, r.ours) })
	return r, nil
}

// connect gives the command its output and input, and returns the ends that are to be closed once it has them.
func (p process) connect(r *running, cmd *exec.Cmd) (theirs []*os.File, err error) {
	if p.pty {
		ours, tty, err := openTerminal()
		if err != nil {
			return nil, fmt.Errorf("open a terminal: %w", err)
		}
		r.ours = ours
		if p.input {
			r.input = ours
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr.Setctty = true // of standard input
		return []*os.File{tty}, nil
	}
	var writer *os.File
	if r.ours, writer, err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = writer, writer // a file, so that Wait does not wait for those who keep it open
	theirs = []*os.File{writer}
	if p.input {
		var reader *os.File
		if reader, r.input, err = os.Pipe(); err != nil {
			writer.Close()
			r.ours.Close()
			return nil, err
		}
		cmd.Stdin, theirs = reader, append(theirs, reader)
	}
	return theirs, nil
}

// end waits for the command's end, or for the context's. When it returns, everything that was started is gone.
func (r *running) end(ctx context.Context) (ending, error) {
	defer r.close()
	group := r.cmd.Process.Pid
	select {
	case <-r.exited:
	case <-ctx.Done():
		syscall.Kill(-group, syscall.SIGKILL)
		if r.sandbox.stop != nil {
			r.sandbox.stop(r.mark)
		}
		<-r.exited
	}
	// On Linux the leader is dead but not reaped, so that its number still means this group and no other.
	syscall.Kill(-group, syscall.SIGKILL)
	sweep(group, r.mark)
	if err := r.cmd.Wait(); r.cmd.ProcessState == nil {
		return ending{}, err
	}
	r.ours.SetReadDeadline(time.Now().Add(drain))
	r.reading.Wait()
	return ending{r.cmd.ProcessState}, nil
}

// close frees the files.
func (r *running) close() {
	r.ours.Close()
	if r.input != nil && r.input != r.ours {
		r.input.Close()
	}
}

// finish runs the command to its end, or to the context's.
func (p process) finish(ctx context.Context) (ending, error) {
	r, err := p.begin()
	if err != nil {
		return ending{}, err
	}
	return r.end(ctx)
}

// startError leaves out the path of the folder on this machine.
func startError(err error) error {
	var system *os.PathError
	if errors.As(err, &system) {
		return system.Err
	}
	return err
}
