package slack

import (
	"testing"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/platformtest"
	simslack "github.com/talaria-agent/talaria/platforms/sim/slack"
)

func TestContract(t *testing.T) {
	platformtest.Run(t, platformtest.Harness{New: func(t *testing.T) platformtest.Fixture {
		b := newBench(t, simslack.Config{})
		return platformtest.Fixture{
			Stage: b.sim, Adapter: b.adapter,
			User: ada, Chat: dm, At: in(dm, ""), Group: room,
			TypingAt: func(id string) platforms.Address { return in(dm, id) },
			Forbid:   func() { b.sim.Archive(dm) },
			Fatal:    b.sim.Revoke,
			Send:     "chat.postMessage", Edit: "chat.update",
		}
	}})
}
