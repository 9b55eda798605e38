package terminal

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Conceal keeps commands from reading this process's environment and memory in /proc, where tokens stand, and from
// tracing it (PR_SET_DUMPABLE in prctl(2)). It is for the whole process and for good; core dumps go with it. It does not
// hold back root.
func Conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("conceal the process: %w", err)
	}
	return nil
}
