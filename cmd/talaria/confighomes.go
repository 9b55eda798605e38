package main

import (
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
)

// addressOf reads the name of a place, "telegram:-1001234567890/7". It has been validated.
func addressOf(place string) platforms.Address {
	p, chat, _ := strings.Cut(place, ":")
	chat, thread, _ := strings.Cut(chat, "/")
	return platforms.Address{Platform: platforms.Name(p), Chat: chat, Thread: thread}
}

// homes returns where the owner is told what needs care. The config has been validated.
func (c *Config) homes() []platforms.Address {
	var all []platforms.Address
	for _, place := range c.Gateway.Home {
		all = append(all, addressOf(place))
	}
	return all
}

func validateHomes(c *checker, homes []string) {
	seen, platform := map[string]bool{}, map[platforms.Name]bool{}
	for i, place := range homes {
		key := fmt.Sprintf("gateway.home[%d]", i)
		c.place(key, place, seen)
		at := addressOf(place)
		switch {
		case at.Chat == "" && strings.Count(place, ":") == 0:
			c.add(key, "%q names no chat; write it like \"telegram:123456789\"", place)
		case platform[at.Platform]:
			c.add(key, "%s has a home already; one a platform is enough", at.Platform)
		}
		platform[at.Platform] = true
	}
}
