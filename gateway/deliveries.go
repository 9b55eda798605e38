package gateway

import "github.com/talaria-agent/talaria/platforms"

// Final says where an answer comes.
type Final string

const (
	FinalNew  Final = "new"  // in a new message, which notifies the person
	FinalEdit Final = "edit" // the progress message becomes the answer, if there is one
)

// Delivery is how answers come in one place.
type Delivery struct {
	Final Final
}

// Deliveries says how answers come, by place: "platform:chat", "platform", or "" for everywhere else. The most precise
// one counts, whole.
type Deliveries map[string]Delivery

// at returns what holds at an address.
func (d Deliveries) at(a platforms.Address) Delivery {
	for _, place := range []string{string(a.Platform) + ":" + a.Chat, string(a.Platform)} {
		if found, ok := d[place]; ok {
			return found
		}
	}
	return d[""]
}
