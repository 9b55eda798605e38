package gateway_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions/memory"
)

// TestPromptIsStable: over a turn of 50 rounds, with a restart in its middle, the system prompt and the declarations of
// the tools stay the same bytes, and each request begins with all that the one before it held. So of what twenty rounds
// send, at least nine tenths come from the provider's cache.
func TestPromptIsStable(t *testing.T) {
	const rounds, restartAt = 50, 25
	var model, notes bytes.Buffer
	model.WriteString("on explore\n")
	for i := range rounds {
		if i == restartAt {
			model.WriteString("  hold\n")
		}
		fmt.Fprintf(&model, "  call read_file {\"path\": \"notes.txt\", \"offset\": %d, \"limit\": 1}\n", i+1)
		fmt.Fprintf(&notes, "this is line %d of the notes, and it says that all is well\n", i+1)
	}
	model.WriteString("  say All is well.\n")
	script := &txtar.Archive{Files: []txtar.File{
		{Name: "model", Data: model.Bytes()},
		{Name: "work/notes.txt", Data: notes.Bytes()},
		{Name: "work/AGENTS.md", Data: []byte("Read everything.\n")},
	}}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, platforms.Telegram, memory.New(), script)
		r.run("alice dm: explore\nsleep 1m\nrestart\nsleep 1s\nrelease\nexpect dm: All is well.\n")
		r.stop()
		r.leftovers()
		asked := r.model.asked
		if len(asked) != rounds+2 { // and the call that was held when the gateway stopped
			t.Fatalf("%d requests", len(asked))
		}
		for i := 1; i < len(asked); i++ {
			before, now := asked[i-1], asked[i]
			if now.System != before.System || !bytes.Equal(now.Tools, before.Tools) {
				t.Fatalf("request %d has another prompt (-before +now):\n%s", i, cmp.Diff(before.System, now.System))
			}
			if diff := cmp.Diff(before.Messages, now.Messages[:len(before.Messages)]); diff != "" {
				t.Fatalf("request %d does not begin as the one before it:\n%s", i, diff)
			}
		}
		sent, cached := 0, 0
		for i := range 20 {
			sent += promptBytes(asked[i])
			if i > 0 {
				cached += promptBytes(asked[i-1])
			}
		}
		if cached*10 < sent*9 {
			t.Errorf("of %d bytes %d were sent before", sent, cached)
		}
	})
}

// promptBytes is the size of a request but for the hint, which stands behind everything that a provider can cache.
func promptBytes(r loop.Request) int {
	n := len(r.System) + len(r.Tools)
	for _, m := range r.Messages {
		n += len(m.Text)
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	return n
}
