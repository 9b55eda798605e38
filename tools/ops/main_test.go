package ops

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench has the tools over folders of its own.
type bench struct {
	t     *testing.T
	dir   string
	tools map[string]tools.Tool
	scope tools.Scope
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), tools: map[string]tools.Tool{}, scope: tools.Scope{Work: t.TempDir()}}
	for _, list := range []*[]string{&o.Logs, &o.Documents} {
		for i := range *list {
			(*list)[i] = filepath.Join(b.dir, (*list)[i])
		}
	}
	o.Zone = time.UTC
	set, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range set {
		b.tools[tool.Spec().Name] = tool
	}
	return b
}

func (b *bench) put(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	if strings.HasSuffix(name, ".gz") {
		packed := gzip.NewWriter(file)
		defer packed.Close()
		_, err = packed.Write([]byte(text))
	} else {
		_, err = file.WriteString(text)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return path
}

// call runs a tool as the loop does: checked first. The folder of the test is written as /x in what comes back.
func (b *bench) call(name, arguments string) (string, bool) {
	b.t.Helper()
	arguments = strings.ReplaceAll(arguments, "/x/", b.dir+"/")
	tool := b.tools[name]
	if tool == nil {
		b.t.Fatalf("there is no %s", name)
	}
	if problems := tool.Spec().Check(json.RawMessage(arguments)); len(problems) > 0 {
		text, err := json.Marshal(problems)
		if err != nil {
			b.t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), b.dir, "/x"), false
	}
	result, err := tool.Call(context.Background(), b.scope, json.RawMessage(arguments))
	if err != nil {
		return err.Error(), false
	}
	return strings.ReplaceAll(result.Text, b.dir, "/x"), !result.Failed
}

func (b *bench) want(name, arguments, want string) {
	b.t.Helper()
	if got, ok := b.call(name, arguments); got != want || !ok {
		b.t.Errorf("%s:\n%s\nwant:\n%s", arguments, got, want)
	}
}

func (b *bench) has(name, arguments string, parts ...string) {
	b.t.Helper()
	got, ok := b.call(name, arguments)
	for _, part := range parts {
		if !strings.Contains(got, part) || !ok {
			b.t.Errorf("%s:\n%s\nlacks %q", arguments, got, part)
		}
	}
}

func (b *bench) fails(name, arguments string, parts ...string) {
	b.t.Helper()
	got, ok := b.call(name, arguments)
	for _, part := range parts {
		if !strings.Contains(got, part) || ok {
			b.t.Errorf("%s:\n%s\nshould fail with %q", arguments, got, part)
		}
	}
}
