package terminal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Sandbox keeps commands in their place: they write in the work folder only, read besides that only what programs need
// to run, and have no network unless they were granted it. Safe for use from any goroutine.
type Sandbox struct {
	name string
	// command makes the process that runs a command; it is started by the caller. nil = no sandbox.
	command func(run) *exec.Cmd
	// stop ends what a client that was killed has left running elsewhere, by its mark; nil = nothing is.
	stop func(mark string)
	// clean ends what an earlier process of an instance has left running elsewhere; nil = nothing is.
	clean func(instance string)
	hides bool // it can hide files of the work folder
}

// run is what is to be run, and where.
type run struct {
	shell, command, dir, work string
	network                   bool
	pty                       bool     // it has a terminal
	input                     bool     // it reads what is written to it
	hidden                    []string // absolute paths of files in the work folder that it shall not see
	limits                    limits
	mark                      string // what its processes are recognised by
}

// The names of sandboxes, as the configuration has them.
const (
	Auto       = "auto" // the first of the others that works, but never off
	Bubblewrap = "bubblewrap"
	Landlock   = "landlock"
	Off        = "off"
)

// Name returns what the sandbox is called; "off" if there is none.
func (s Sandbox) Name() string {
	if s.command == nil {
		return Off
	}
	return s.name
}

// Contained tells whether commands are kept in their place.
func (s Sandbox) Contained() bool { return s.command != nil }

// ErrNoSandbox says that none of the sandboxes works on this machine.
var ErrNoSandbox = errors.New("no sandbox works here")

// FindSandbox returns the sandbox of a name if it works, by really running a command in it that tries to get out. The own
// files and folders are those of the gateway itself, absolute paths that no command may reach.
func FindSandbox(ctx context.Context, name string, own []string) (Sandbox, error) {
	makers := map[string]func([]string) (Sandbox, error){Bubblewrap: newBubblewrap, Landlock: newLandlock}
	order := []string{Bubblewrap, Landlock}
	switch name {
	case Off:
		return Sandbox{}, nil
	case Auto:
	default:
		if makers[name] == nil {
			return Sandbox{}, fmt.Errorf("there is no sandbox %q", name)
		}
		order = []string{name}
	}
	var failures []error
	for _, n := range order {
		s, err := makers[n](own)
		if err == nil {
			err = Probe(ctx, s)
		}
		if err == nil {
			return s, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", n, err))
	}
	return Sandbox{}, errors.Join(append([]error{ErrNoSandbox}, failures...)...)
}

// readable is what programs need to run: they themselves, their libraries, and what tells them where they are.
var readable = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/etc/alternatives", "/etc/ssl",
	"/etc/ca-certificates", "/etc/pki", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/passwd", "/etc/group",
	"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
	"/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/os-release", "/etc/fonts", "/etc/magic", "/etc/perl",
}

// holding returns the own paths that lie in one of the readable folders, with links resolved.
func holding(own []string) []string {
	var all []string
	for _, o := range own {
		real := o
		if r, err := filepath.EvalSymlinks(o); err == nil {
			real = r
		}
		if slices.ContainsFunc(readable, func(r string) bool { return within(real, r) }) {
			all = append(all, real)
		}
	}
	return all
}

// within tells whether a path is a folder or lies in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// limits are those of every process of a command. Sizes are in KiB, as bash counts them.
type limits struct {
	cpu       int // seconds
	data      int // of memory that it writes to
	file      int
	open      int
	processes int // of the user, all commands together
	own       int // of one command, where they can be counted
}

func usualLimits() limits {
	return limits{cpu: 1200, data: 4 << 20, file: 4 << 20, open: 4096, processes: 4096, own: 512}
}

// argv returns a shell that sets limits and becomes the one that runs the command. A limit that a shell does not know, or
// that is above what there is, is left alone.
func (r run) argv(processes int) []string {
	l := r.limits
	set := fmt.Sprintf("ulimit -c 0; ulimit -t %d; ulimit -f %d; ulimit -n %d; ulimit -d %d; ulimit -u %d", l.cpu, l.file, l.open, l.data, processes)
	return []string{r.shell, "-c", "{ " + set + "; } 2>/dev/null; exec \"$0\" -c \"$1\"", r.shell, r.command}
}

// start makes the process of a command.
func (s Sandbox) start(r run) *exec.Cmd {
	if s.command != nil {
		return s.command(r)
	}
	argv := r.argv(r.limits.processes)
	return exec.Command(argv[0], argv[1:]...)
}
