package terminal

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
)

// temporaryBytes is how large /tmp is in it, which is memory.
const temporaryBytes = 256 << 20

// newBubblewrap makes the sandbox of bwrap(1): name spaces of its own for files, processes, users and the network.
func newBubblewrap(own []string) (Sandbox, error) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return Sandbox{}, err
	}
	hidden := holding(own)
	temporary := []string{"--tmpfs", "/tmp"} // for programs that do not heed TMPDIR
	if help, err := exec.Command(program, "--help").CombinedOutput(); err == nil && bytes.Contains(help, []byte("--size")) {
		temporary = append([]string{"--size", strconv.Itoa(temporaryBytes)}, temporary...)
	}
	return Sandbox{name: Bubblewrap, hides: true, command: func(r run) *exec.Cmd {
		args := []string{"--unshare-all", "--die-with-parent", "--cap-drop", "ALL"}
		if r.network {
			args = append(args, "--share-net")
		}
		for _, path := range readable {
			args = append(args, "--ro-bind-try", path, path)
		}
		args = append(args, "--proc", "/proc", "--dev", "/dev")
		args = append(args, temporary...)
		for _, path := range hidden { // covered, before the work folder shows through
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				args = append(args, "--ro-bind", "/dev/null", path)
			} else if err == nil {
				args = append(args, "--tmpfs", path)
			}
		}
		args = append(args, "--bind", r.work, r.work)
		for _, path := range r.hidden {
			args = append(args, "--ro-bind", "/dev/null", path)
		}
		args = append(args, "--chdir", r.dir, "--")
		return exec.Command(program, append(args, r.argv(r.limits.own)...)...)
	}}, nil
}
