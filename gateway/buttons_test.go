package gateway

import (
	"testing"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// TestPermissionButtonsFitOnAPhone: four in one row are cut off there.
func TestPermissionButtonsFitOnAPhone(t *testing.T) {
	for _, ask := range []sessions.Asked{{}, {Rule: "r"}, {Rule: "r", Always: true}} {
		var last platforms.Button
		for _, row := range askButtons(ask) {
			if len(row) > 2 {
				t.Errorf("%+v: %d buttons in a row", ask, len(row))
			}
			last = row[len(row)-1]
		}
		if last.Label != "Deny" || !last.Danger {
			t.Errorf("%+v: the last button is %+v", ask, last)
		}
	}
}

// TestNativeCommandsTakeArguments: without a declared argument Discord lets nobody write one.
func TestNativeCommandsTakeArguments(t *testing.T) {
	takes := map[string]bool{
		"help": true, "search": true, "progress": true, "approvals": true, "bg": true, "cron": true, "approve": true, "deny": true, "branch": true, "busy": true, "compress": true, "diff": true, "queue": true, "resume": true, "rollback": true, "sethome": true, "skills": true, "steer": true, "stop": true, "title": true, "undo": true,
	}
	for _, c := range NativeCommands() {
		if takes[c.Name] != (c.Argument != "") {
			t.Errorf("/%s has the argument %q", c.Name, c.Argument)
		}
	}
}
