package terminal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

// TestSecretFilesAreHidden: under bubblewrap files with credentials cannot be read, however they are reached, unless a person
// has allowed them to be seen; and nothing happens to them.
func TestSecretFilesAreHidden(t *testing.T) {
	s, err := FindSandbox(t.Context(), Bubblewrap, nil)
	if err != nil {
		t.Skip(err)
	}
	secret := func(path string) bool { return filepath.Base(path) == ".env" }
	tool, err := newTerminal(Options{Sandbox: s, Secret: secret}, DefaultTimeout, MaxTimeout)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, work: t.TempDir(), tool: tool}
	for _, name := range []string{".env", "app/.env", "app/main.go"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(b.work, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.work, name), []byte("TOKEN=LEAKED\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("app/.env", filepath.Join(b.work, "link")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"cat .env", "cat app/.env", "cat link", "cd app; cat *env", "cp .env copy; cat copy", "mv .env x; cat x", "rm -f .env; cat .env",
		"umount .env; cat .env", "ln .env hard; cat hard", "echo x >> .env; cat .env; echo", "grep -r LEAKED --exclude=main.go .", "mv app app2; cat app2/.env; mv app2 app",
	} {
		if got := b.call(command); strings.Contains(got.Text, "LEAKED") {
			t.Errorf("%s: %s", command, got.Text)
		}
	}
	got := b.call("cat app/.env app/main.go")
	if want := "\nTOKEN=LEAKED\n[it could not read these, because files with credentials need `secrets`: .env, app/.env]\n[exit code 1"; !strings.Contains(got.Text, want) {
		t.Errorf("%s", got.Text)
	}
	raw, err := json.Marshal(arguments{Command: "cat .env", Secrets: true})
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := tool.Call(t.Context(), tools.Scope{Work: b.work, Grants: []tools.Grant{tools.GrantSecrets}}, raw)
	if err != nil || !strings.HasPrefix(allowed.Text, "TOKEN=LEAKED\n[exit") {
		t.Errorf("%+v, %v", allowed, err)
	}
	for _, name := range []string{".env", "app/.env"} {
		if text, err := os.ReadFile(filepath.Join(b.work, name)); string(text) != "TOKEN=LEAKED\n" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	j := tool.Spec().Judge(tools.Scope{Work: b.work}, raw)
	if j.Verdict != tools.AskFirst || len(j.Grants) != 1 || j.Grants[0] != tools.GrantSecrets {
		t.Errorf("%+v", j)
	}
	if text := tool.Spec().Description; !strings.Contains(text, "cannot read files with credentials") {
		t.Error(text)
	}
}

// TestLimitsHold runs into each limit, in each sandbox and without one.
func TestLimitsHold(t *testing.T) {
	for name, sandbox := range everySandbox(t) {
		t.Run(name, func(t *testing.T) {
			bench := func(l limits) *bench {
				shell, err := findShell()
				if err != nil {
					t.Fatal(err)
				}
				own := &terminal{options: Options{Sandbox: sandbox}, sandbox: sandbox, shell: shell, limits: l, timeout: DefaultTimeout, maximum: MaxTimeout}
				tool, err := own.tool()
				if err != nil {
					t.Fatal(err)
				}
				return &bench{t: t, work: t.TempDir(), tool: tool}
			}
			l := usualLimits()
			l.cpu = 1
			if got := bench(l).call("while :; do :; done"); !got.Failed || strings.Contains(got.Text, "the timeout") {
				t.Errorf("CPU time: %s", got.Text)
			}
			l = usualLimits()
			l.data = 20 << 10
			if got := bench(l).call(`x=$(head -c 3000000 /dev/zero | tr '\0' x); x=$x$x$x$x$x$x$x$x$x$x; echo ${#x}`); strings.Contains(got.Text, "30000000") {
				t.Errorf("memory: %s", got.Text)
			}
			l = usualLimits()
			l.file = 10
			if got := bench(l).call("head -c 20000 /dev/zero > big; stat -c %s big"); !strings.Contains(got.Text, "10240\n") {
				t.Errorf("file size: %s", got.Text)
			}
			l = usualLimits()
			l.open = 20
			if got := bench(l).call("for n in {10..40}; do eval \"exec $n<.\" || break; done 2>&1; echo end"); !strings.Contains(got.Text, "Bad file descriptor") && !strings.Contains(got.Text, "Too many open files") {
				t.Errorf("open files: %s", got.Text)
			}
			l = usualLimits()
			l.own, l.processes = 5, 5
			got := bench(l).call("ulimit -u; for n in {1..9}; do sleep 1000 & done; echo started")
			if os.Geteuid() == 0 { // whom this limit does not hold, but in a name space of his own
				if !strings.HasPrefix(got.Text, "5\n") {
					t.Errorf("processes: %s", got.Text)
				}
			} else if !strings.Contains(got.Text, "Resource temporarily unavailable") {
				t.Errorf("processes: %s", got.Text)
			}
		})
	}
}
