package discord

import (
	"testing"

	"github.com/talaria-agent/talaria/platforms/platformtest"
	simulator "github.com/talaria-agent/talaria/platforms/sim/discord"
)

func TestContract(t *testing.T) {
	platformtest.Run(t, platformtest.Harness{New: func(t *testing.T) platformtest.Fixture {
		r := prepare(t, simulator.Options{})
		return platformtest.Fixture{
			Stage: r.sim, Adapter: r.adapter, User: ann, Chat: dm, At: at(dm), Group: general,
			Forbid: func() { r.sim.Refuse(dm, true) },
			Fatal: func() {
				r.sim.SetToken("another")
				r.sim.CloseSockets(4004)
			},
			Send: "POST /channels/messages", Edit: "PATCH /channels/messages",
		}
	}})
}
