// Package terminal is the toolset that runs shell commands in a conversation's work folder.
//
// A command runs in a session and process group of its own, with a terminal of its own if it asks for one and else without,
// with an environment that is built from a short list and holds nothing of the gateway's own. When a call returns, for
// whatever reason, the group has been killed and its leader reaped, and on Linux so have the processes that left the
// group, which are known by a variable in their environment. Call waits for the two goroutines that it starts.
//
// A command in the background belongs to Processes, which has one goroutine more for it, until its end; Close waits for all.
//
// A Sandbox keeps commands to their folder. Without one a command sees what the gateway's user may see. On Linux that
// includes the environment and the memory of the gateway itself, in /proc, unless the gateway calls Conceal at its start
// and does not run as root. And a process that leaves its group and clears its environment at once outlives the call.
package terminal

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

//go:embed terminal.md
var description string

// How long a command may take.
const (
	DefaultTimeout = 180 * time.Second // if it names no timeout
	MaxTimeout     = 600 * time.Second // whatever it names
)

type arguments struct {
	Command    string `json:"command" jsonschema:"the command, for bash"`
	Timeout    int    `json:"timeout,omitempty" jsonschema:"seconds after which it is killed; default 180, at most 600; in the background none unless given, at most 86400"`
	Background bool   `json:"background,omitempty" jsonschema:"true to leave it running and go on; the tool process looks after it"`
	Notify     bool   `json:"notify,omitempty" jsonschema:"with background: true to have the person told in the chat when it ends"`
	Pty        bool   `json:"pty,omitempty" jsonschema:"true for a program that needs a terminal"`
	Network    bool   `json:"network,omitempty" jsonschema:"true if it needs the network, which a person may have to allow"`
	Secrets    bool   `json:"secrets,omitempty" jsonschema:"true if it must see files with credentials, like .env, which a person has to allow"`
	Workdir    string `json:"workdir,omitempty" jsonschema:"folder to run in, relative to the work folder; default the work folder"`
}

// Options say what commands may do.
type Options struct {
	Sandbox Sandbox
	Network bool     // they may use the network unasked
	Deny    []string // globs of commands that never run, see shellpolicy.Rules
	Own     []string // absolute paths of the gateway's own files and folders
	Home    string   // home folder of the gateway's user
	PID     int      // of the gateway
	// Secret tells which files in the work folder, by their path in it, commands do not see, where the sandbox can hide
	// them; nil = none.
	Secret func(path string) bool
	// Processes looks after commands in the background; nil = there are none.
	Processes *Processes
}

// terminal runs commands with one shell.
type terminal struct {
	options          Options
	sandbox          Sandbox
	shell            string
	limits           limits
	timeout, maximum time.Duration
}

// New returns the tools of the set: terminal, and with Processes also process. It fails if the machine has no shell.
func New(options Options) ([]tools.Tool, error) {
	tool, err := newTerminal(options, DefaultTimeout, MaxTimeout)
	if err != nil || options.Processes == nil {
		return []tools.Tool{tool}, err
	}
	manage, err := newProcessTool(options)
	return []tools.Tool{tool, manage}, err
}

func newTerminal(options Options, timeout, maximum time.Duration) (tools.Tool, error) {
	shell, err := findShell()
	if err != nil {
		return nil, err
	}
	t := &terminal{options: options, sandbox: options.Sandbox, shell: shell, limits: usualLimits(), timeout: timeout, maximum: maximum}
	return t.tool()
}

func (t *terminal) tool() (tools.Tool, error) {
	return tools.New(tools.Spec{
		Name: "terminal", Toolset: "terminal", Description: strings.TrimSpace(description) + "\n\n" + t.place(),
		Risk: tools.Executes, Preview: preview, Judge: t.judge, Verifies: true, Timeout: t.maximum + 15*time.Second, // to stop by itself first
	}, t.call)
}

// ErrNoShell says that there is no shell on this machine.
var ErrNoShell = errors.New("there is no shell here")

func findShell() (string, error) {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoShell
}

// place tells the model where its commands run.
func (t *terminal) place() string {
	hidden := ""
	if t.sandbox.hides && t.options.Secret != nil {
		hidden = " They cannot read files with credentials, like `.env`, unless `secrets` is true, which a person has to allow."
	}
	switch {
	case !t.sandbox.Contained():
		return "There is no sandbox: commands can reach whatever this user can."
	case t.options.Network:
		return "Commands run in a sandbox: they can write in the work folder only, and see no other files but programs and libraries." + hidden
	}
	return "Commands run in a sandbox: they can write in the work folder only, see no other files but programs and libraries, and " +
		"have no network unless `network` is true, which a person may have to allow." + hidden
}

// preview shows the whole command, since a person may be asked whether it may run.
func preview(raw json.RawMessage) string {
	var a arguments
	if json.Unmarshal(raw, &a) != nil {
		return ""
	}
	text := a.Command
	if a.Workdir != "" && a.Workdir != "." {
		text += "  (in " + a.Workdir + ")"
	}
	if a.Background {
		text += "  (in the background)"
	}
	if a.Network {
		text += "  (with the network)"
	}
	if a.Secrets {
		text += "  (with files that hold credentials)"
	}
	return text
}

func (t *terminal) call(ctx context.Context, scope tools.Scope, a arguments) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, context.Cause(ctx)
	}
	if strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0) {
		return tools.Wrongf("There is no command to run: it is empty or has a zero byte in it."), nil
	}
	root, err := os.OpenRoot(scope.Work)
	if err != nil {
		return tools.Result{}, fmt.Errorf("open the work folder: %w", err)
	}
	dir, err := workdir(root, scope.Work, a.Workdir)
	if err != nil {
		root.Close()
		return tools.Wrongf("The command did not run: %v.", err), nil
	}
	if err := root.MkdirAll(scratch, 0o700); err != nil {
		root.Close()
		return tools.Result{}, fmt.Errorf("make the folder for temporary files: %w", err)
	}
	p := process{sandbox: t.sandbox, mark: t.options.Processes.instance(), input: a.Background, run: run{
		shell: t.shell, command: a.Command, dir: dir, work: scope.Work, pty: a.Pty, input: a.Background, limits: t.limits,
		network: t.options.Network || slices.Contains(scope.Grants, tools.GrantNetwork),
	}}
	if t.sandbox.hides && t.options.Secret != nil && !slices.Contains(scope.Grants, tools.GrantSecrets) {
		p.hidden = secretFiles(root, scope.Work, t.options.Secret)
	}
	out := newOutput(root, scope.CallID)
	p.out = out
	if a.Background {
		return t.options.Processes.leave(scope, a, p, out)
	}
	defer root.Close()
	defer t.options.Processes.tidy(root, scope.Work)
	defer out.close()
	out.look(scope.Tell)
	return t.foreground(ctx, a, p, out)
}

// foreground runs a command to its end.
func (t *terminal) foreground(ctx context.Context, a arguments, p process, out *output) (tools.Result, error) {
	limit := t.limit(a.Timeout)
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	end, err := p.finish(timed)
	if err != nil {
		return tools.Failf("The command could not be started: %v.", err), nil
	}
	took := time.Since(start).Seconds()
	if ctx.Err() != nil {
		return tools.Result{Text: out.text("[stopped, with all that it had started]"), Failed: true}, context.Cause(ctx)
	}
	if timed.Err() != nil {
		note := fmt.Sprintf("[killed after %v, with all that it had started: the timeout]", limit)
		return tools.Result{Text: out.text(note), Failed: true, Class: tools.FailCommand}, nil
	}
	note := fmt.Sprintf("[%v after %.1f s]", end, took)
	if names := mentions(a.Command, p.work, p.hidden); len(names) > 0 {
		note = fmt.Sprintf("[it could not read these, because files with credentials need `secrets`: %s]\n", strings.Join(names, ", ")) + note
	}
	ended := tools.Result{Text: out.text(note)}
	if !end.ok() {
		ended.Failed, ended.Class = true, tools.FailCommand
	}
	return ended, nil
}

// limit returns how long a command may take that asks for so many seconds.
func (t *terminal) limit(seconds int) time.Duration {
	switch {
	case seconds <= 0:
		return t.timeout
	case seconds > int(t.maximum/time.Second):
		return t.maximum
	}
	return time.Duration(seconds) * time.Second
}

// workdir returns the folder to run in. This keeps an honest model in its place; the command itself can go anywhere.
func workdir(root *os.Root, work, name string) (string, error) {
	relative := name
	if filepath.IsAbs(name) {
		var err error
		if relative, err = filepath.Rel(work, name); err != nil {
			return "", fmt.Errorf("the folder %s lies outside of the work folder", name)
		}
	}
	relative = path.Clean(filepath.ToSlash(relative))
	info, err := root.Stat(relative)
	switch {
	case os.IsNotExist(err):
		return "", fmt.Errorf("the folder %s is not there", name)
	case err != nil:
		return "", fmt.Errorf("the folder %s cannot be used, or lies outside of the work folder", name)
	case !info.IsDir():
		return "", fmt.Errorf("%s is no folder", name)
	}
	return filepath.Join(work, relative), nil
}
