package slack

import (
	"bytes"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/sim"
)

// TestFetch: a file comes whole, or is too large, or was deleted; and nobody but Slack gets the token.
func TestFetch(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, b *bench) {
		id := b.say(sim.Say{User: ada, Chat: dm, File: "a b.txt", Data: []byte("four words are here")})
		file := b.message().Attachments[0]
		var got bytes.Buffer
		if err := b.adapter.Fetch(t.Context(), file, &got, 19); err != nil || got.String() != "four words are here" {
			t.Errorf("fetched %q, %v", got.String(), err)
		}
		if err := b.adapter.Fetch(t.Context(), file, &bytes.Buffer{}, 18); platforms.ClassOf(err) != platforms.TooLong {
			t.Errorf("over the limit: %v", err)
		}
		b.sim.Faults().Add(sim.Fault{Method: "file", Cut: true, Times: 2}) // a connection that was used before is tried once more by net/http
		err := b.adapter.Fetch(t.Context(), file, &bytes.Buffer{}, 100)
		if platforms.ClassOf(err) != platforms.Transient || strings.Contains(err.Error(), "files-pri") {
			t.Errorf("a cut connection: %v", err)
		}
		if err := b.sim.DeleteAs(ada, dm, id); err != nil {
			t.Fatal(err)
		}
		if err := b.adapter.Fetch(t.Context(), file, &bytes.Buffer{}, 100); err == nil {
			t.Error("a deleted file was fetched")
		}
		for address, want := range map[string]bool{
			"https://files.slack.com/a": true, "http://files.slack.com/a": false, "https://slack.com.example/a": false, "https://evilslack.com/a": false,
		} {
			if b.adapter.trusted(address) != want {
				t.Errorf("%s is trusted: %v", address, !want)
			}
		}
	})
}
