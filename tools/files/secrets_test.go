package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/tools"
)

func TestSecretsMatch(t *testing.T) {
	s := testSecrets(t)
	for path, want := range map[string]bool{
		".env": true, "sub/.ENV": true, ".env.local": true, ".env.example": false, "id_rsa": true, "id_rsa.pub": false, "tls/a.pem": true,
		".aws/credentials": true, "home/.aws/credentials": true, "aws/credentials": false, ".ssh/config": true, "x/.ssh/deep/key": true,
		"environment": false, "main.go": false, ".netrc": true,
	} {
		if got := s.Match(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestSecretsAreKept tries every tool on a file with credentials, by its name and by links to it.
func TestSecretsAreKept(t *testing.T) {
	b := newBench(t, map[string]string{".env": "TOKEN=hush\n", "a.txt": "TOKEN\n", "sub/x": ""})
	for name, target := range map[string]string{"link": ".env", "sub/up": "../.env"} {
		if err := os.Symlink(target, filepath.Join(b.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{".env", "link", "sub/up", "./sub/../.env"} {
		name, _ := json.Marshal(path)
		b.fails("read_file", `{"path":`+string(name)+`}`, "credentials")
		b.fails("patch", edits(path, "hush", "x"), "credentials")
		b.fails("search_files", `{"pattern":"TOKEN","path":`+string(name)+`}`)
		if got := b.call("write_file", `{"path":`+string(name)+`,"content":"x"}`); !got.Failed {
			t.Errorf("%s was written", path)
		}
	}
	b.holds(".env", "TOKEN=hush\n")
	b.want("search_files", `{"pattern":"TOKEN"}`, "a.txt:1:TOKEN\n[lines 1 to 1; that is all]")
	b.want("search_files", `{"pattern":"env","target":"files"}`, "No name matches env, of 5 looked at.")
	if got := b.call("read_file", `{"path":".envv"}`).Text; strings.Contains(got, ".env,") || strings.Contains(got, "mean .env") {
		t.Error(got)
	}
}

func TestSecretsWithPermission(t *testing.T) {
	b := newBench(t, map[string]string{".env": "TOKEN=hush\n"})
	arguments := json.RawMessage(`{"path":"sub/../.env"}`)
	spec := b.toolset["read_file"].Spec()
	scope := tools.Scope{Work: b.work}
	policy := tools.AskByRisk{tools.Executes}
	j := policy.Judge(scope, spec, arguments)
	if j.Verdict != tools.AskFirst || !strings.Contains(j.Reason, ".env") || j.Rule == "" {
		t.Errorf("%+v", j)
	}
	if j := policy.Judge(scope, spec, json.RawMessage(`{"path":"a.txt"}`)); j.Verdict != tools.Allow {
		t.Errorf("%+v", j)
	}
	if j := (tools.AskByRisk{tools.Writes}).Judge(scope, b.toolset["write_file"].Spec(), json.RawMessage(`{"path":"a.txt"}`)); j.Verdict != tools.AskFirst {
		t.Errorf("%+v", j)
	}
	scope.Grants = j.Grants
	got, err := b.toolset["read_file"].Call(t.Context(), scope, arguments)
	if err != nil || !strings.Contains(got.Text, "TOKEN=hush") {
		t.Errorf("%+v %v", got, err)
	}
	if j := (tools.Unasked{Policy: policy}).Judge(scope, spec, arguments); j.Verdict != tools.Allow || len(j.Grants) > 0 {
		t.Errorf("%+v", j)
	}
}
