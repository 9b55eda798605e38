package terminal

import (
	"os"
	"os/exec"
	"path/filepath"
)

// newBubblewrap makes the sandbox of bwrap(1): name spaces of its own for files, processes, users and the network.
func newBubblewrap(own []string) (Sandbox, error) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return Sandbox{}, err
	}
	hidden := holding(own)
	return Sandbox{name: Bubblewrap, command: func(r run) *exec.Cmd {
		r.processes = maxOwn
		args := []string{"--unshare-all", "--die-with-parent", "--cap-drop", "ALL"}
		if r.network {
			args = append(args, "--share-net")
		}
		for _, path := range readable {
			args = append(args, "--ro-bind-try", path, path)
		}
		args = append(args, "--proc", "/proc", "--dev", "/dev")
		for _, path := range hidden { // covered, before the work folder shows through
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				args = append(args, "--ro-bind", "/dev/null", path)
			} else if err == nil {
				args = append(args, "--tmpfs", path)
			}
		}
		args = append(args, "--bind", r.work, r.work, "--bind", filepath.Join(r.work, scratch), "/tmp", "--chdir", r.dir, "--")
		return exec.Command(program, append(args, r.argv()...)...)
	}}, nil
}
