package terminal

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long killed processes are waited for; one that hangs in the kernel cannot be helped.
const patience = 5 * time.Second

// awaitExit waits until a child is dead, without reaping it, so that nothing else gets its number.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// dieWithParent has the kernel kill a process when the thread that started it is gone, however that came about. Programs
// that it started in turn live on outside of bubblewrap; see SweepInstance.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// sweep kills what is left of a command, its group and whatever carries its mark, until nothing is. It looks again after
// each kill, because a process may have started another one in between.
func sweep(group int, mark string) {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left := remaining(group, mark)
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
			// Orphans are reaped by init. If we are init, as in a container, that is us.
			syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return
		}
		time.Sleep(pause)
	}
}

// remaining lists the processes of a command but for its leader, or without a group those that have a mark that begins so. The dead that their parent has not reaped yet count
// only if that is us.
func remaining(group int, mark string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	variable := []byte("\x00" + marker + "=" + mark)
	var left []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == group || pid == os.Getpid() {
			continue
		}
		state, parent, itsGroup, ok := status(pid)
		switch {
		case !ok || state == 'Z' && parent != os.Getpid():
		case group > 0 && itsGroup == group:
			left = append(left, pid)
		default:
			env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
			if err == nil && bytes.Contains(append([]byte{0}, env...), variable) {
				left = append(left, pid)
			}
		}
	}
	return left
}

// status reads state, parent and group of a process from /proc/<pid>/stat (proc_pid_stat(5)): they follow the name, which
// stands in brackets and may itself contain some.
func status(pid int) (state byte, parent, group int, ok bool) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, 0, 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 {
		return 0, 0, 0, false
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	group, err = strconv.Atoi(string(fields[2]))
	return fields[0][0], parent, group, err == nil
}
