package gateway

import "github.com/talaria-agent/talaria/platforms"

// Final says where an answer comes.
type Final string

const (
	FinalNew  Final = "new"  // in a new message, which notifies the person
	FinalEdit Final = "edit" // the progress message becomes the answer, if there is one
)

// Stream says what is shown of an answer before it is complete.
type Stream string

const (
	StreamOff    Stream = "off"    // nothing
	StreamEdit   Stream = "edit"   // what has been written so far, in the message that becomes the answer
	StreamNative Stream = "native" // the same as the platform's own draft, or as with StreamEdit where it has none
)

// Delivery is how answers come in one place.
type Delivery struct {
	Final  Final
	Stream Stream
}

// Deliveries says how answers come, by place: see platforms.Address.Places, or "" for everywhere else. The most precise one
// counts, whole.
type Deliveries map[string]Delivery

// at returns what holds at an address.
func (d Deliveries) at(a platforms.Address) Delivery {
	for _, place := range a.Places() {
		if found, ok := d[place]; ok {
			return found
		}
	}
	return d[""]
}
