package nats

import (
	"fmt"
	"testing"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/storetest"
)

func TestStore(t *testing.T) {
	srv := serve(t)
	streams := 0
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		streams++
		name := fmt.Sprintf("S%d", streams)
		again := func(t *testing.T) sessions.Store { return openOn(t, srv, name) }
		return storetest.Harness{Store: again(t), Peer: again, Reopen: again}
	})
}
