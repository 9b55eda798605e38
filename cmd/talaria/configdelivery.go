package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/gateway"
)

// DeliveryConfig says how answers come.
type DeliveryConfig struct {
	Final  gateway.Final     `toml:"final"`
	Stream gateway.Stream    `toml:"stream"`
	At     []DeliveryAtPlace `toml:"at"`
}

// DeliveryAtPlace is what is different on one platform ("telegram") or in one chat ("telegram:123").
type DeliveryAtPlace struct {
	Place  string         `toml:"place"`
	Final  gateway.Final  `toml:"final"`
	Stream gateway.Stream `toml:"stream"`
}

// deliveries returns how answers come, by place. What a chat leaves out is as on its platform, and what that leaves out as
// everywhere. The config has been validated.
func (c *Config) deliveries() gateway.Deliveries {
	all := gateway.Deliveries{"": {Final: c.Delivery.Final, Stream: c.Delivery.Stream}}
	for _, chats := range []bool{false, true} {
		for _, at := range c.Delivery.At {
			platform, _, chat := strings.Cut(at.Place, ":")
			if chat != chats {
				continue
			}
			d, ok := all[platform]
			if !ok {
				d = all[""]
			}
			d.Final, d.Stream = cmp.Or(at.Final, d.Final), cmp.Or(at.Stream, d.Stream)
			all[at.Place] = d
		}
	}
	return all
}

func validateDelivery(c *checker, d *DeliveryConfig) {
	finals := []string{string(gateway.FinalNew), string(gateway.FinalEdit)}
	streams := []string{string(gateway.StreamOff), string(gateway.StreamEdit), string(gateway.StreamNative)}
	c.oneOf("delivery.final", string(d.Final), finals...)
	c.oneOf("delivery.stream", string(d.Stream), streams...)
	seen := map[string]bool{}
	for i, at := range d.At {
		key := fmt.Sprintf("delivery.at[%d]", i)
		c.place(key+".place", at.Place, seen)
		c.oneOf(key+".final", string(at.Final), append(finals, "")...)
		c.oneOf(key+".stream", string(at.Stream), append(streams, "")...)
	}
}
