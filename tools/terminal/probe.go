package terminal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Probe runs a command in a sandbox that tries to get out of it, and returns what went wrong with that: nothing may be
// read or written beside the work folder, and a server on this machine must not be reached. Without a sandbox it fails.
func Probe(ctx context.Context, s Sandbox) error {
	if s.command == nil {
		return errors.New("there is no sandbox")
	}
	shell, err := findShell()
	if err != nil {
		return err
	}
	outside, err := os.MkdirTemp("", "talaria-probe-")
	if err != nil {
		return fmt.Errorf("try the sandbox: %w", err)
	}
	defer os.RemoveAll(outside)
	work := filepath.Join(outside, "work")
	secret := filepath.Join(outside, "secret")
	if err := errors.Join(os.MkdirAll(filepath.Join(work, scratch), 0o700), os.WriteFile(secret, []byte("LEAKED\n"), 0o600)); err != nil {
		return fmt.Errorf("try the sandbox: %w", err)
	}
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("try the sandbox: %w", err)
	}
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Addr().String())
	if err != nil {
		return fmt.Errorf("try the sandbox: %w", err)
	}
	command := fmt.Sprintf("cat ../secret\necho x > ../written\n(echo > /dev/tcp/127.0.0.1/%s) && echo REACHED\necho inside > made && cat made && ls / > /dev/null; echo end", port)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var out strings.Builder
	p := process{sandbox: s, out: &out, run: run{shell: shell, command: command, dir: work, work: work, limits: usualLimits()}}
	if _, err := p.finish(ctx); err != nil {
		return fmt.Errorf("it does not start: %w", err)
	}
	_, err = os.Stat(filepath.Join(outside, "written"))
	switch text := out.String(); {
	case strings.Contains(text, "LEAKED"):
		return errors.New("a command in it could read a file outside of its folder")
	case err == nil:
		return errors.New("a command in it could write outside of its folder")
	case strings.Contains(text, "REACHED"):
		return errors.New("a command in it could use the network")
	case !strings.Contains(text, "inside\n") || !strings.HasSuffix(text, "end\n"):
		return fmt.Errorf("a harmless command does not work in it: %s", plain([]byte(text[max(0, len(text)-300):])))
	}
	return nil
}
