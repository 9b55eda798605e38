//go:build unix && !linux

package terminal

import (
	"os/exec"
	"syscall"
)

// awaitExit waits for a child and reaps it; a second Wait finds the state of the first. For the moment until its group
// is killed, the number of the group might be given to another.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

// dieWithParent does nothing: only Linux knows how.
func dieWithParent(*syscall.SysProcAttr) {}

// sweep does nothing: processes that left the group cannot be found.
func sweep(int, string) {}
