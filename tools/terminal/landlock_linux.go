package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// ConfineCommand is the argument with which the program must be able to start itself as the first process of a confined
// command: it hands the next argument to Confine.
const ConfineCommand = "confine"

// confinement is what a process may do before it becomes a command.
type confinement struct {
	Work    string   `json:"work"`
	Dirs    []string `json:"dirs"` // that it may read and run programs from
	Files   []string `json:"files"`
	Network bool     `json:"network"`
	Alone   bool     `json:"alone"` // it is in a name space that has no network
	Argv    []string `json:"argv"`
}

// devices are what a command may write to beside its work folder.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// newLandlock makes the sandbox of landlock(7). This program starts itself once more, gives up its rights and becomes the
// command. The network is a name space without any, where the kernel lets us have one; elsewhere Landlock keeps TCP away,
// and UDP where the kernel's is new enough.
func newLandlock(own []string) (Sandbox, error) {
	self, err := os.Executable()
	if err != nil {
		return Sandbox{}, err
	}
	c := confinement{}
	hidden := holding(own)
	for _, path := range readable {
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case slices.ContainsFunc(hidden, func(h string) bool { return within(h, path) }): // nothing can be left out of a folder
			if path == "/usr" || path == "/lib" || path == "/bin" {
				return Sandbox{}, fmt.Errorf("the gateway's own files lie in %s, which commands must read", path)
			}
		case info.IsDir():
			c.Dirs = append(c.Dirs, path)
		default:
			c.Files = append(c.Files, path)
		}
	}
	c.Dirs = append(c.Dirs, "/proc")
	alone := exec.Command("/bin/true")
	alone.SysProcAttr = withoutNetwork()
	isolated := alone.Run() == nil
	return Sandbox{name: Landlock, command: func(r run) *exec.Cmd {
		mine := c
		mine.Work, mine.Network, mine.Alone, mine.Argv = r.work, r.network, isolated && !r.network, r.argv(r.limits.processes)
		text, err := json.Marshal(mine)
		if err != nil {
			return &exec.Cmd{Err: err}
		}
		cmd := exec.Command(self, ConfineCommand, string(text))
		if mine.Alone {
			cmd.SysProcAttr = withoutNetwork()
		}
		return cmd
	}}, nil
}

// withoutNetwork starts a process in a name space that has no network. Without root that takes a user name space too.
func withoutNetwork() *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	}
	same := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER, UidMappings: same(os.Getuid()), GidMappings: same(os.Getgid()),
	}
}

// Confine gives up what a command may not do and becomes it. It returns only an error.
func Confine(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("this is for commands in the sandbox only")
	}
	var c confinement
	if err := json.Unmarshal([]byte(arguments[0]), &c); err != nil || len(c.Argv) == 0 {
		return errors.New("this is for commands in the sandbox only")
	}
	rules := []landlock.Rule{
		landlock.RODirs(c.Dirs...).IgnoreIfMissing(), landlock.ROFiles(c.Files...).IgnoreIfMissing(),
		landlock.RWFiles(devices...).IgnoreIfMissing(), landlock.RWDirs(c.Work).WithRefer(),
	}
	if err := landlock.V3.RestrictPaths(rules...); err != nil {
		return fmt.Errorf("confine the command to its folder: %w", err)
	}
	// Sockets of other programs (D-Bus, Docker) stand in the file system; kernels that cannot close them leave them open.
	sockets := landlock.Config{HandledAccessFS: ll.AccessFSResolveUnix}.BestEffort()
	if err := sockets.RestrictPaths(landlock.PathAccess(ll.AccessFSResolveUnix, c.Work)); err != nil {
		return fmt.Errorf("keep the command from other programs' sockets: %w", err)
	}
	if !c.Network && !c.Alone { // the kernel must know how: a shell without /dev/tcp could not prove it
		if err := landlock.V4.RestrictNet(); err != nil {
			return fmt.Errorf("keep the command off the network: %w", err)
		}
	}
	if !c.Network {
		if err := landlock.V11.BestEffort().RestrictNet(); err != nil {
			return fmt.Errorf("keep the command off the network: %w", err)
		}
	}
	if err := landlock.V11.BestEffort().RestrictScoped(); err != nil {
		return fmt.Errorf("keep the command from other processes: %w", err)
	}
	if err := syscall.Exec(filepath.Clean(c.Argv[0]), c.Argv, os.Environ()); err != nil {
		return fmt.Errorf("become the command: %w", err)
	}
	return nil
}
