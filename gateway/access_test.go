package gateway

import (
	"testing"

	"github.com/talaria-agent/talaria/platforms"
)

func TestAccess(t *testing.T) {
	a := Access{
		Users:  map[platforms.Name][]string{"telegram": {"1", "2"}, "slack": {Anyone}},
		Chats:  map[platforms.Name][]string{"telegram": {"-100"}, "discord": {"500"}},
		Admins: map[platforms.Name][]string{"telegram": {"9"}, "discord": {"8", Anyone}},
	}
	for _, test := range []struct {
		name     string
		platform platforms.Name
		kind     platforms.ChatKind
		chat     string
		thread   string
		sender   platforms.Person
		want     bool
	}{
		{"a listed person in a DM", "telegram", platforms.Direct, "1", "", platforms.Person{ID: "1"}, true},
		{"an admin is a user", "telegram", platforms.Direct, "9", "", platforms.Person{ID: "9"}, true},
		{"a stranger in a DM", "telegram", platforms.Direct, "3", "", platforms.Person{ID: "3"}, false},
		{"the same id on another platform", "discord", platforms.Direct, "1", "", platforms.Person{ID: "1"}, false},
		{"a listed person in a listed group", "telegram", platforms.Group, "-100", "", platforms.Person{ID: "2"}, true},
		{"a listed person in another group", "telegram", platforms.Group, "-55", "", platforms.Person{ID: "2"}, false},
		{"a stranger in a listed group", "telegram", platforms.Group, "-100", "", platforms.Person{ID: "3"}, false},
		{"a listed thread in a channel that is not", "discord", platforms.Thread, "400", "500", platforms.Person{ID: "8"}, true},
		{"everybody, where the list is open", "slack", platforms.Direct, "D1", "", platforms.Person{ID: "U77"}, true},
		{"an open list opens no group", "slack", platforms.Thread, "C1", "1.1", platforms.Person{ID: "U77"}, false},
		{"a bot, even if everybody may", "slack", platforms.Direct, "D1", "", platforms.Person{ID: "B1", Bot: true}, false},
		{"nobody", "slack", platforms.Direct, "D1", "", platforms.Person{}, false},
		{"admins are never everybody", "discord", platforms.Direct, "1", "", platforms.Person{ID: "77"}, false},
	} {
		d := a.Decide(platforms.Origin{
			Address: platforms.Address{Platform: test.platform, Chat: test.chat, Thread: test.thread},
			Kind:    test.kind, Sender: test.sender,
		})
		if d.Admitted != test.want {
			t.Errorf("%s: admitted is %v (%s)", test.name, d.Admitted, d.Rule)
		}
		if d.Rule == "" {
			t.Errorf("%s: no rule is named", test.name)
		}
	}
	if (Access{}).Decide(platforms.Origin{Kind: platforms.Direct, Sender: platforms.Person{ID: "1"}}).Admitted {
		t.Error("the zero value admits somebody")
	}
}
