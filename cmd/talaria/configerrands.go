package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/chattools"
	"github.com/talaria-agent/talaria/platforms"
)

// JobsConfig is about what runs by itself.
type JobsConfig struct {
	MaxPerUser int           `toml:"max_per_user"`
	Grace      time.Duration `toml:"grace"`
	TimeZone   string        `toml:"time_zone"`
	Toolsets   []string      `toml:"toolsets"`
	MaxTurns   int           `toml:"max_turns"`
}

// BackgroundConfig is about tasks that /bg starts.
type BackgroundConfig struct {
	MaxPerUser int      `toml:"max_per_user"`
	Toolsets   []string `toml:"toolsets"`
	MaxTurns   int      `toml:"max_turns"`
}

// NamedPlace gives a chat a name.
type NamedPlace struct {
	Name  string `toml:"name"`
	Place string `toml:"place"`
}

func (c JobsConfig) errands() gateway.Errands {
	return gateway.Errands{PerPerson: c.MaxPerUser, Toolsets: c.Toolsets, MaxTurns: c.MaxTurns, Grace: c.Grace, Zone: c.TimeZone}
}

func (c BackgroundConfig) errands() gateway.Errands {
	return gateway.Errands{PerPerson: c.MaxPerUser, Toolsets: c.Toolsets, MaxTurns: c.MaxTurns}
}

// namedPlaces returns the chats that have names. The config has been validated.
func (c *Config) namedPlaces() map[string]platforms.Address {
	all := map[string]platforms.Address{}
	for _, p := range c.Gateway.Places {
		all[p.Name] = addressOf(p.Place)
	}
	return all
}

// chatTools returns those of the configured toolsets whose tools the gateway makes.
func (c *Config) chatTools() []string {
	return slices.DeleteFunc(chattools.Toolsets(), func(set string) bool { return !slices.Contains(c.Tools.Toolsets, set) })
}

var placeName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

func validateErrands(c *checker, cfg *Config) {
	names, seen := map[string]bool{"here": true, "home": true, "dm": true}, map[string]bool{}
	for i, p := range cfg.Gateway.Places {
		key := fmt.Sprintf("gateway.places[%d]", i)
		c.place(key+".place", p.Place, seen)
		switch {
		case !placeName.MatchString(p.Name):
			c.add(key+".name", "%q is no name of small letters, digits, - and _", p.Name)
		case names[p.Name]:
			c.add(key+".name", "%q means something already", p.Name)
		case !strings.Contains(p.Place, ":"):
			c.add(key+".place", "%q names no chat; write it like \"telegram:-1001234567890\"", p.Place)
		}
		names[p.Name] = true
	}
	for _, e := range []struct {
		key      string
		most     int
		toolsets []string
		maxTurns int
	}{
		{"jobs", cfg.Jobs.MaxPerUser, cfg.Jobs.Toolsets, cfg.Jobs.MaxTurns},
		{"background", cfg.Background.MaxPerUser, cfg.Background.Toolsets, cfg.Background.MaxTurns},
	} {
		c.between(e.key+".max_per_user", e.most, 0, 1000)
		c.between(e.key+".max_turns", e.maxTurns, 0, 10_000)
		for _, set := range e.toolsets {
			c.oneOf(e.key+".toolsets", set, toolsetNames(false)...)
		}
	}
	if g := cfg.Jobs.Grace; g < time.Minute || g > 24*time.Hour {
		c.add("jobs.grace", "%s is not between 1m and 24h", g)
	}
	if _, err := time.LoadLocation(cfg.Jobs.TimeZone); err != nil || strings.EqualFold(cfg.Jobs.TimeZone, "local") {
		c.add("jobs.time_zone", "%q is no time zone like \"Europe/Berlin\"", cfg.Jobs.TimeZone)
	}
}
