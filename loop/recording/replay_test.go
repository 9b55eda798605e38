package recording_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/recording"
	"github.com/talaria-agent/talaria/tools"
)

// TestDifferences: what the loop would do differently is found, where it begins. A loop that has changed is the same as a
// recording that was.
func TestDifferences(t *testing.T) {
	for _, test := range []struct{ kind, old, changed, what, want, got string }{
		{"tools", `"result":{"text":"it says one"`, `"result":{"text":"it says two"`, "a log entry", "it says one", "it says two"},
		{"subagents", `"system":"You are a sub-agent`, `"system":"You are a fub-agent`, ": system prompt", "fub", "sub"},
		{"tools", `"from":"acting","signal":"observed"`, `"from":"acting","signal":"cancelled"`, "a transition", "cancelled", "observed"},
		{"tools", `"hint":"It is`, `"hint":"Hurry. It is`, "request 1: hint", "Hurry", ""},
		{"tools", `"verdict":"allow"`, `"verdict":"ask"`, "a log entry", "call-echo-one", `"asks":true`},
		{"tools", `"text":"Done, not checked."},"pieces"`, `"text":"Well."},"pieces"`, "a log entry", "not checked", "Well."},
		{"budget", `"MaxTurns":2`, `"MaxTurns":3`, "a transition", "exhausted", "go on"},
		{"budget", `"no_tools":true`, `"no_tools":false`, "request 3: settings", "false 0", "true 0"},
		{"fallback", `"class":"quota"`, `"class":"overloaded"`, "model", "second", "first"},
		{"subagents", `"text":"I saw: it says north"},"usage"`, `"text":"I saw nothing"},"usage"`, "a log entry", "it says north", "saw nothing"},
		{"crash", `"text":"The outcome of this call is not known`, `"text":"Nothing is known`, "a log entry", "Nothing", "The outcome"},
		{"notes", `likes tea\"}`, `likes milk\"}`, "request 2 of notes/: message 2", "likes tea", "likes milk"},
		{"compressed", `- the code is 4711\n"},"pieces"`, `- the code is 4712\n"},"pieces"`, "the end of the compression", "4711", "4712"},
		{"approval", `"Allowed":true`, `"Allowed":false`, "a log entry", "ran ls", "not allowed"},
	} {
		t.Run(test.kind+" "+test.changed, func(t *testing.T) {
			file, err := os.ReadFile(filepath.Join("testdata", test.kind+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			changed := bytes.Replace(file, []byte(test.old), []byte(test.changed), 1)
			if bytes.Equal(file, changed) {
				t.Fatalf("%s is not in the recording", test.old)
			}
			synctest.Test(t, func(t *testing.T) {
				_, err := replay(t, changed)
				var d *recording.Difference
				if !errors.As(err, &d) {
					t.Fatalf("no difference, but %v", err)
				}
				if !strings.Contains(d.What, test.what) || !strings.Contains(d.Want, test.want) || !strings.Contains(d.Got, test.got) || d.Line == 0 {
					t.Error(d)
				}
			})
		})
	}
}

// TestCut: a recording that ends in the middle of its turn is never taken for a whole one, wherever it ends.
func TestCut(t *testing.T) {
	stride := 3
	if testing.Short() {
		stride = 11
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			file, err := os.ReadFile(filepath.Join("testdata", k.name+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(bytes.TrimSpace(file), []byte("\n"))
			first := slices.IndexFunc(lines, func(l []byte) bool { return !bytes.HasPrefix(l, []byte(`{"kind":"record"`)) })
			for n := len(lines) - 1; n > first; n -= stride {
				synctest.Test(t, func(t *testing.T) {
					_, err := replay(t, bytes.Join(lines[:n], nil))
					var cut *recording.Cut
					if !errors.As(err, &cut) || cut.Line != n || cut.Turn != turnID {
						t.Errorf("cut behind line %d: %v", n, err)
					}
				})
			}
			_, err = replay(t, file[:len(file)-10])
			if err == nil || !strings.Contains(err.Error(), "cut in the middle") {
				t.Errorf("cut in the last line: %v", err)
			}
		})
	}
}

// TestNoRecording: what cannot be played says why.
func TestNoRecording(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "tools.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	records, _, _ := strings.Cut(string(file), `{"kind":"turn"`)
	for _, test := range []struct{ name, file, want string }{
		{"empty", "", "no recording of the turn"},
		{"only the log", records, "no recording of the turn"},
		{"text", "hello\n", "line 1 is no line of a recording"},
		{"newer", strings.Replace(string(file), `"version":1`, `"version":2`, 1), "version 2; known is 1"},
		{"too long", string(file) + `{"kind":"full"}` + "\n", "not complete"},
		{"headless", `{"kind":"moved"}` + "\n", "before the beginning"},
	} {
		_, err := replay(t, []byte(test.file))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestExportSecrets: no secret is in an export, wherever it was, and what has been exported still plays.
func TestExportSecrets(t *testing.T) {
	const secret = "sk-canary0123456789abcdef"
	const word = "canary-word-of-the-config"
	synctest.Test(t, func(t *testing.T) {
		m := steps(asks("echo", "password="+secret), says("The key is "+secret+", and "+word+"."))
		r := newRig(t, &loop.Runner{Model: m}, []tools.Tool{echo(t)}, "My key is "+secret+", my token: canary-token-1.")
		r.run(false)
		if !strings.Contains(r.out.String(), secret) {
			t.Fatal("the recording itself has no secret, so this test shows nothing")
		}
		redact := func(s string) string { return loop.WithoutSecrets(strings.ReplaceAll(s, word, "[redacted]")) }
		var out bytes.Buffer
		if _, err := recording.Export(&out, r.history(), []string{turnID}, r.open, redact); err != nil {
			t.Fatal(err)
		}
		if i := strings.Index(out.String(), "canary"); i >= 0 {
			t.Errorf("a secret is in the export: %s", out.String()[max(0, i-100):min(i+100, out.Len())])
		}
		if _, err := replay(t, out.Bytes()); err != nil {
			t.Error(err)
		}
	})
}

// TestBound: a recording that is too long ends with a word about it, and costs the turn nothing.
func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &loop.Runner{Model: steps(asks("echo", "one"), says("Done."))}, []tools.Tool{echo(t)}, "Do it.")
		var out bytes.Buffer
		work, recorder := recording.Record(t.Context(), &out, 2500, "test", r.runner.Setup(), loop.Turn{ID: turnID, Journal: r, Tools: r.tools})
		o := r.runner.Run(t.Context(), work)
		if err := recorder.End(o); err == nil || o.Reason != loop.EndAnswered {
			t.Errorf("the turn ended with %q, the recording with %v", o.Reason, err)
		}
		if out.Len() > 2550 || !strings.Contains(out.String(), `"kind":"full"`) {
			t.Errorf("%d bytes: %s", out.Len(), out.String())
		}
	})
}

// TestFolder: recordings stay within the bound, the newest stay, and only the owner can read them.
func TestFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &recording.Folder{Path: filepath.Join(t.TempDir(), "recordings"), Max: 20_000, Program: "test"}
		for i := range 12 {
			r := newRig(t, &loop.Runner{Model: steps(asks("echo", "one"), says("Done."))}, []tools.Tool{echo(t)}, "Do it.")
			work, ended, err := f.Begin(t.Context(), r.runner.Setup(), loop.Turn{ID: turnID, Journal: r, Tools: r.tools})
			if err != nil {
				t.Fatal(err)
			}
			if err := ended(r.runner.Run(t.Context(), work)); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(f.Path, "*", turnID+".jsonl"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			if info, err := os.Stat(files[0]); err != nil || info.Mode() != 0o600 {
				t.Error(info.Mode(), err)
			}
			if i < 11 { // so that the next turn has a file of its own
				if err := os.Rename(files[0], strings.Replace(files[0], turnID, fmt.Sprintf("old-%02d", i), 1)); err != nil {
					t.Fatal(err)
				}
			}
		}
		old, err := filepath.Glob(filepath.Join(f.Path, "*", "old-*.jsonl"))
		if err != nil || len(old) > 8 || len(old) < 3 || !strings.HasSuffix(old[len(old)-1], "old-10.jsonl") {
			t.Errorf("these are left: %v, %v", old, err)
		}
		file, err := f.Open(key, turnID)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if text, err := io.ReadAll(file); err != nil || !bytes.Contains(text, []byte(`"kind":"end"`)) {
			t.Errorf("%d bytes, %v", len(text), err)
		}
		if err := f.Forget(key); err != nil {
			t.Error(err)
		}
		if _, err := f.Open(key, turnID); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a forgotten recording: %v", err)
		}
	})
}
