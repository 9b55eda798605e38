package bolt

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/sessions"
)

var update = flag.Bool("update", false, "write the sample of the present format anew (only before it is released)")

// TestFormats opens a file of every format that there was: testdata/format-N.db.gz, as sample made it. A new format gets a
// new file by "go test ./sessions/bolt -run TestFormats -update"; those of released formats stay as they are.
func TestFormats(t *testing.T) {
	current := fmt.Sprintf("testdata/format-%d.db.gz", format)
	if *update {
		writeSample(t, current)
	}
	names, err := filepath.Glob("testdata/format-*.db.gz")
	if err != nil || len(names) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	sample(t, fresh)
	want := contents(t, openTest(t, fresh))
	for _, name := range names {
		path := filepath.Join(t.TempDir(), "talaria.db")
		unzip(t, name, path)
		s := openTest(t, path)
		if d := cmp.Diff(want, contents(t, s)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		l, rev := begin(t, s, "k01")
		say(t, s, l, rev, "it goes on")
		if _, err := s.Commit(t.Context(), sessions.Mark{Row: "rk01", From: sessions.Queued, To: sessions.Part{State: sessions.Sent}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(current); err != nil {
		t.Errorf("the present format has no sample: %v", err)
	}
}

func writeSample(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "talaria.db")
	sample(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func unzip(t *testing.T, name, path string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
