package telegram

import (
	"net/http"
	"testing"

	"github.com/talaria-agent/talaria/platforms/platformtest"
	"github.com/talaria-agent/talaria/platforms/sim"
)

func TestContract(t *testing.T) {
	platformtest.Run(t, platformtest.Harness{New: func(t *testing.T) platformtest.Fixture {
		w := newWorld(t)
		return platformtest.Fixture{
			Stage: w.sim, Adapter: w.adapter,
			User: "100", Chat: "100", At: w.at("100", ""), Group: "-1001000",
			Forbid: func() { w.sim.Block("100", true) },
			Fatal: func() {
				w.sim.Faults().Add(sim.Fault{Method: "getUpdates", Status: http.StatusUnauthorized, Times: -1})
			},
			Send: "sendMessage", Edit: "editMessageText",
		}
	}})
}
