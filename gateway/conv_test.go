package gateway_test

import (
	"bytes"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
	"github.com/talaria-agent/talaria/sessions/memory"
)

var update = flag.Bool("update", false, "write what was seen into the conversation scripts")

// stores are the engines that every conversation script runs over.
var stores = map[string]func(t *testing.T) sessions.Store{
	"memory": func(*testing.T) sessions.Store { return memory.New() },
	"bolt": func(t *testing.T) sessions.Store {
		s, err := bolt.Open(filepath.Join(t.TempDir(), "talaria.db"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
}

// TestConversations plays every script in testdata/conv over every simulator and over every store, in virtual time; with
// TALARIA_LONG=1 over all pairs of them, otherwise over the durable stores on one platform a script. A script says what
// people write and what the model answers; "seen" holds what the chats look like in the end, "log" what the conversations'
// logs hold. See conv_script_test.go for the language.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/conv/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			wanted := scriptPlatforms(archive)
			durable := wanted[int(crc32.ChecksumIEEE([]byte(name)))%len(wanted)]
			for _, p := range wanted {
				for store, open := range stores {
					if store != "memory" && p != durable && number("TALARIA_LONG", 0) == 0 {
						continue
					}
					t.Run(string(p)+"/"+store, func(t *testing.T) {
						if *update && store == "bolt" {
							t.Skip("the scripts are written by the runs with the in-memory store")
						}
						if testing.Short() && store != "memory" {
							t.Skip("one store is enough for a short run")
						}
						if !*update {
							t.Parallel()
						}
						play(t, file, p, open)
					})
				}
			}
		})
	}
}

// scriptPlatforms returns the platforms that a script is for.
func scriptPlatforms(script *txtar.Archive) (wanted []platforms.Name) {
	only := section(script, "platforms")
	for _, p := range []platforms.Name{platforms.Telegram, platforms.Slack, platforms.Discord} {
		if only == "" || strings.Contains(only, string(p)) {
			wanted = append(wanted, p)
		}
	}
	return wanted
}

// play runs one script and compares what was seen.
func play(t *testing.T, file string, p platforms.Name, open func(*testing.T) sessions.Store) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var seen, log string
	synctest.Test(t, func(t *testing.T) {
		if p == platforms.Discord {
			time.Sleep(16 * 366 * 24 * time.Hour) // a bubble's clock begins in 2000, Discord's ids in 2015
		}
		r := newRig(t, p, open(t), archive)
		r.run(section(archive, "script"))
		seen, log = r.seen(), r.logged()
		r.stop()
		r.leftovers()
		r.keepsSecrets(seen)
		if _, ok := r.store.(*memory.Store); ok { // a recording does not depend on the store
			r.replays()
		}
	})
	compare(t, file, archive, p, "seen", seen)
	compare(t, file, archive, p, "log", log)
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// compare holds what was seen against the script's section: the one for this platform if there is one, else the common
// one. With -update Telegram's run writes the common section, and the others write one of their own where they differ.
func compare(t *testing.T, file string, a *txtar.Archive, p platforms.Name, name, got string) {
	t.Helper()
	own := name + " " + string(p)
	want, wanted := section(a, own), own
	if want == "" {
		want, wanted = section(a, name), name
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("section %q of %s differs (-want +got):\n%s", wanted, file, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		return
	}
	fresh, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	into := name
	if p != platforms.Telegram && section(fresh, name) != "" {
		into = own
		if section(fresh, name) == got {
			return
		}
	}
	put(fresh, into, got)
	if err := os.WriteFile(file, txtar.Format(fresh), 0o644); err != nil {
		t.Fatal(err)
	}
}

func put(a *txtar.Archive, name, text string) {
	for i, f := range a.Files {
		if f.Name == name {
			a.Files[i].Data = []byte(text)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: bytes.Clone([]byte(text))})
}
