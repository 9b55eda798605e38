package telegram

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// TestNoDraftsHere: where there are no drafts the error says so; in groups, without a call.
func TestNoDraftsHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		draft := func(chat string) error {
			return w.adapter.Draft(t.Context(), w.at(chat, ""), platforms.Outgoing{Text: "Once", Key: "turn-1"})
		}
		w.sim.Faults().Add(sim.Fault{Method: "sendMessageDraft", Status: http.StatusNotFound}) // an old Bot API server
		for _, chat := range []string{"-500", "-1001000", "100"} {
			if err := draft(chat); platforms.ClassOf(err) != platforms.Invalid {
				t.Errorf("chat %s: %v, want an invalid request", chat, err)
			}
		}
		if err := draft("100"); err != nil {
			t.Errorf("the call for a group was made, and took the fault: %v", err)
		}
	})
}
