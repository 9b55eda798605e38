package memory_test

import (
	"testing"

	"github.com/talaria-agent/talaria/sessions/memory"
	"github.com/talaria-agent/talaria/sessions/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s := memory.New()
		t.Cleanup(func() { s.Close() })
		return storetest.Harness{Store: s}
	})
}
