package hooks

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// sh is a hook whose program is a line of shell.
func sh(when When, line string, patterns ...string) Command {
	return Command{When: when, Tools: patterns, Command: []string{"/bin/sh", "-c", line}}
}

var (
	spec      = tools.Spec{Name: "terminal", Toolset: "terminal", Risk: tools.Executes}
	arguments = json.RawMessage(`{"command":"ls"}`)
)

func TestBefore(t *testing.T) {
	for _, tc := range []struct {
		name string
		hook Command
		want tools.Say
		err  string // part of it; empty = none
	}{
		{"silence allows", sh(Before, "cat >/dev/null"), tools.Say{}, ""},
		{"a program that does not read", sh(Before, "true"), tools.Say{}, ""},
		{"allow with a note", sh(Before, `echo '{"decision":"allow","note":"mind the gap"}'`), tools.Say{Note: "mind the gap"}, ""},
		{"deny", sh(Before, `echo '{"decision":"deny","reason":"not on Fridays"}'`), tools.Say{Deny: true, Reason: "not on Fridays"}, ""},
		{"it sees the call", sh(Before, `grep -q '"command":"ls"' && echo '{"decision":"deny"}'`), tools.Say{Deny: true}, ""},
		{"another tool", sh(Before, `echo '{"decision":"deny"}'`, "read_file", "mcp_*"), tools.Say{}, ""},
		{"a pattern", sh(Before, `echo '{"decision":"deny"}'`, "term*"), tools.Say{Deny: true}, ""},
		{"another moment", sh(After, `echo '{"decision":"deny"}'`), tools.Say{}, ""},
		{"a failure", sh(Before, "echo broken >&2; exit 3"), tools.Say{}, "exit status 3: broken"},
		{"rubbish", sh(Before, "echo yes"), tools.Say{}, "no JSON"},
		{"an unknown decision", sh(Before, `echo '{"decision":"maybe"}'`), tools.Say{}, `"maybe"`},
		{"too much", sh(Before, "head -c 100000 /dev/zero"), tools.Say{}, "too long"},
		{"no such program", Command{When: Before, Command: []string{"/no/such/program"}}, tools.Say{}, "no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			say, err := tc.hook.Before(t.Context(), tools.Scope{}, spec, arguments)
			if say != tc.want {
				t.Errorf("it says %+v, want %+v", say, tc.want)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want one with %q", err, tc.err)
			}
		})
	}
}

func TestAfterSeesTheResult(t *testing.T) {
	hook := sh(After, `grep -q '"text":"done","failed":true' && echo '{"note":"seen"}'`)
	say, err := hook.After(t.Context(), tools.Scope{}, spec, arguments, tools.Failf("done"))
	if err != nil || say.Note != "seen" {
		t.Fatalf("got %+v, %v", say, err)
	}
}

// TestSlow: when its time is up, a program is gone with all that it started.
func TestSlow(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error)
	go func() {
		f, err := os.Open(pipe)
		if err == nil {
			_, err = io.ReadAll(f) // until nobody has it open for writing any more
		}
		gone <- err
	}()
	hook := sh(Before, "sleep 60 > "+pipe+" & sleep 60")
	hook.Timeout = 200 * time.Millisecond
	_, err := hook.Before(t.Context(), tools.Scope{}, spec, arguments)
	if err == nil || !strings.Contains(err.Error(), "no answer in time") {
		t.Fatalf("error %v", err)
	}
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
}

func TestEnvironmentIsKept(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary")
	hook := sh(Before, `env | grep -q canary && echo '{"decision":"deny"}'; true`)
	if say, err := hook.Before(t.Context(), tools.Scope{}, spec, arguments); err != nil || say.Deny {
		t.Fatalf("the program saw a secret of the gateway: %+v, %v", say, err)
	}
	if os.Getenv("OPENAI_API_KEY") != "canary" {
		t.Fatal("the test itself does not see it")
	}
}
