package bolt_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "state", "talaria.db")
	s, err := bolt.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("mode of %s is %v, want %v", name, info.Mode(), want)
		}
	}
}

// TestInUse runs in virtual time, so the wait for the lock costs nothing.
func TestInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "talaria.db")
		s, err := bolt.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := bolt.Open(path); !errors.Is(err, sessions.ErrInUse) {
			t.Fatalf("second open: %v, want %v", err, sessions.ErrInUse)
		}
		if d := time.Since(begin); d < time.Second/2 || d > 2*time.Second {
			t.Fatalf("second open gave up after %v", d)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = bolt.Open(path); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestForeignFiles: what Open refuses, it leaves as it was.
func TestForeignFiles(t *testing.T) {
	bucket := func(name, key string, value []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				return b.Put([]byte(key), value)
			})
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want error // nil: any
	}{
		{"newer format", bucket("meta", "format", []byte{0, 0, 0, 0, 0, 0, 0, 2}), sessions.ErrFormat},
		{"no format", bucket("meta", "other", []byte{1}), sessions.ErrFormat},
		{"another program's", bucket("widgets", "1", []byte{1}), sessions.ErrFormat},
		{"no database", func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("no database"), 10_000), 0o600); err != nil {
				t.Fatal(err)
			}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "talaria.db")
			c.make(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := bolt.Open(path)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("open: %v, want %v", err, c.want)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(before, after) {
				t.Fatal("the file was changed")
			}
		})
	}
}

// TestBubble runs a store in virtual time: other goroutines' sleeps go on while it works.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := bolt.Open(filepath.Join(t.TempDir(), "talaria.db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []sessions.ItemID{"a", "b", "c"} {
			if _, err := s.Commit(t.Context(), sessions.Accept{Item: sessions.Item{ID: id, Key: "k"}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		for p, err := range s.Pending(t.Context()) { // nothing is held while the loop's body sleeps
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if _, err := s.Commit(t.Context(), sessions.Accept{Item: sessions.Item{ID: p.ID + "'", Key: "k"}}); err != nil {
				t.Fatal(err)
			}
			if p.ID == "c" {
				break
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOpenToRead: reading leaves the file as it is, needs one that is there, and keeps out whoever would write.
func TestOpenToRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state", "talaria.db")
		if _, err := bolt.OpenToRead(path); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("a file that is not there: %v", err)
		}
		s, err := bolt.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		set := sessions.Set{Name: "colour", Value: []byte("blue")}
		if _, err := s.Commit(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		if _, err := bolt.OpenToRead(path); !errors.Is(err, sessions.ErrInUse) {
			t.Fatalf("reading while another writes: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // two at once
			r, err := bolt.OpenToRead(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if v, err := r.Value(t.Context(), "colour"); err != nil || string(v) != "blue" {
				t.Errorf("read %q, %v", v, err)
			}
			if _, err := r.Commit(t.Context(), sessions.Set{Name: "colour", Was: set.Value}); err == nil {
				t.Error("a commit was taken")
			}
		}
		if _, err := bolt.Open(path); !errors.Is(err, sessions.ErrInUse) {
			t.Errorf("writing while others read: %v", err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the file has changed (%v)", err)
		}
	})
}
