package bolt_test

import (
	"path/filepath"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
	"github.com/talaria-agent/talaria/sessions/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		path := filepath.Join(t.TempDir(), "state", "talaria.db")
		open := func(t *testing.T) sessions.Store {
			s, err := bolt.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		}
		return storetest.Harness{Store: open(t), Reopen: open}
	})
}
