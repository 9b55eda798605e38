package terminal

import (
	"os"
	"path/filepath"
)

// scratch is the folder for temporary files, in the work folder, so that conversations do not meet in /tmp.
const scratch = ".tmp"

// marker names the variable by which a command's processes are recognised.
const marker = "TALARIA_CALL"

// environment is all that a command learns from the gateway's own environment. Tokens and keys may stand there, so it
// is a list of what is let through, never one of what is held back.
func environment(work, mark string, pty bool) []string {
	term := "dumb"
	if pty {
		term = "xterm"
	}
	env := []string{
		"HOME=" + work,
		"TMPDIR=" + filepath.Join(work, scratch),
		"TERM=" + term,
		marker + "=" + mark,
	}
	for _, let := range []struct{ name, otherwise string }{
		{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		{"LANG", "C.UTF-8"},
		{"LC_ALL", ""},
	} {
		value := os.Getenv(let.name)
		if value == "" {
			value = let.otherwise
		}
		if value != "" {
			env = append(env, let.name+"="+value)
		}
	}
	return env
}
