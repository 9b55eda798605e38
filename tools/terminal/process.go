package terminal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// drain is how long output is waited for when all known processes are gone: one that could not be found may keep the
// pipe open for ever.
const drain = 200 * time.Millisecond

// process is one run of a command.
type process struct {
	sandbox                   Sandbox
	shell, command, dir, work string
	network                   bool
	out                       io.Writer
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

// run runs the command to its end, or to the context's. When it returns, everything that was started is gone. It
// returns an error only if the command did not start.
func (p process) run(ctx context.Context) (ending, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return ending{}, err
	}
	defer reader.Close()
	mark := rand.Text()
	cmd := p.sandbox.start(run{shell: p.shell, command: p.command, dir: p.dir, work: p.work, network: p.network})
	cmd.Dir = p.dir
	cmd.Env = environment(p.work, mark)
	cmd.Stdout, cmd.Stderr = writer, writer // a file, so that Wait does not wait for those who keep it open
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A group of its own, to be killed as one; and a session of its own, so that it has no terminal on which it could ask
	// for a password, or type what the gateway's shell would then run.
	cmd.SysProcAttr.Setsid = true
	err = cmd.Start()
	writer.Close()
	if err != nil {
		return ending{}, startError(err)
	}
	group := cmd.Process.Pid

	var reading sync.WaitGroup
	reading.Go(func() { io.Copy(p.out, reader) })
	exited := make(chan struct{})
	go func() {
		awaitExit(cmd)
		close(exited)
	}()
	select {
	case <-exited:
	case <-ctx.Done():
		syscall.Kill(-group, syscall.SIGKILL)
		<-exited
	}
	// On Linux the leader is dead but not reaped, so that its number still means this group and no other.
	syscall.Kill(-group, syscall.SIGKILL)
	sweep(group, mark)
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return ending{}, err
	}
	reader.SetReadDeadline(time.Now().Add(drain))
	reading.Wait()
	return ending{cmd.ProcessState}, nil
}

// startError leaves out the path of the folder on this machine.
func startError(err error) error {
	var system *os.PathError
	if errors.As(err, &system) {
		return system.Err
	}
	return err
}
