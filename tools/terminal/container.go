package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// The engines that run commands in containers, by the name of their program.
const (
	Docker = "docker"
	Podman = "podman"
)

const (
	containerName  = "talaria-" // and the command's mark
	containerLabel = "talaria"  // its value is the instance
	engineTime     = 10 * time.Second
)

// inContainer runs a command with the shell that the image has, bash for preference.
const inContainer = `if command -v bash >/dev/null; then exec bash -c "$1"; fi; exec sh -c "$1"`

// FindContainer returns the sandbox that runs each command in a container of its own, if that works, by really running one
// that tries to get out. The image must be there already. The work folder is mounted where it is; nothing else is.
func FindContainer(ctx context.Context, engine, image string) (Sandbox, error) {
	program, err := exec.LookPath(engine)
	if err != nil {
		return Sandbox{}, err
	}
	if image == "" {
		return Sandbox{}, errors.New("no image is named")
	}
	c := container{program: program, engine: engine, image: image}
	s := Sandbox{name: engine, hides: true, command: c.command, stop: c.stop, clean: c.clean}
	if err := Probe(ctx, s); err != nil {
		return Sandbox{}, fmt.Errorf("%s with the image %s: %w", engine, image, err)
	}
	return s, nil
}

// container is an engine's client.
type container struct{ program, engine, image string }

// command makes the client's process for a command. The limits are per process but for the memory and the number of
// processes, which are the container's.
func (c container) command(r run) *exec.Cmd {
	if strings.ContainsAny(r.work, ",\"\n") {
		return &exec.Cmd{Err: errors.New("the work folder's path cannot be mounted")}
	}
	instance, _, _ := strings.Cut(r.mark, ".")
	l := r.limits
	args := []string{
		"run", "--rm", "--init", "--pull", "never", "--name", containerName + r.mark, "--label", containerLabel + "=" + instance,
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only",
		"--tmpfs", "/tmp:size=" + strconv.Itoa(temporaryBytes), "--pids-limit", strconv.Itoa(l.own), "--memory", fmt.Sprintf("%dk", l.data),
		"--ulimit", "core=0", "--ulimit", fmt.Sprintf("cpu=%d", l.cpu), "--ulimit", fmt.Sprintf("fsize=%d", l.file<<10),
		"--ulimit", fmt.Sprintf("nofile=%d", l.open),
		"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--mount", "type=bind,source=" + r.work + ",target=" + r.work, "--workdir", r.dir,
	}
	if c.engine == Podman && os.Getuid() != 0 {
		args = append(args, "--userns", "keep-id")
	}
	if !r.network {
		args = append(args, "--network", "none")
	}
	if r.input {
		args = append(args, "--interactive")
	}
	if r.pty {
		args = append(args, "--tty")
	}
	for _, path := range r.hidden {
		if !strings.ContainsAny(path, ",\"\n") {
			args = append(args, "--mount", "type=bind,source=/dev/null,target="+path+",readonly")
		}
	}
	for _, variable := range environment(r.work, r.mark, r.pty) {
		if !strings.HasPrefix(variable, "PATH=") { // the image has its own
			args = append(args, "--env", variable)
		}
	}
	cmd := exec.Command(c.program, append(args, "--entrypoint", "/bin/sh", c.image, "-c", inContainer, "sh", r.command)...)
	cmd.Env = append(clientEnvironment(), marker+"="+r.mark)
	return cmd
}

// stop ends the container of a command whose client is gone.
func (c container) stop(mark string) {
	c.ask("rm", "--force", containerName+mark)
}

// clean ends the containers of an instance.
func (c container) clean(instance string) {
	if ids := strings.Fields(c.ask("ps", "--all", "--quiet", "--filter", "label="+containerLabel+"="+instance)); len(ids) > 0 {
		c.ask(append([]string{"rm", "--force"}, ids...)...)
	}
}

// ask has the engine do something, not longer than a moment, and returns what it says. What does not work then will not
// work better on a second try, and what is left has no network and one folder.
func (c container) ask(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), engineTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Env = clientEnvironment()
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run()
	return out.String()
}

// clientEnvironment is what an engine's client gets to know: where the engine is, and no tokens.
func clientEnvironment() (env []string) {
	for _, name := range []string{"PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}
