package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/shadow"
)

// ShadowConfig says where the bot works without saying anything.
type ShadowConfig struct {
	Places []string `toml:"places"`
	File   string   `toml:"file"`
	MaxMB  int      `toml:"max_mb"`
}

// shadowFile is where what would be sent is written.
func (c *Config) shadowFile() string {
	return cmp.Or(c.Shadow.File, filepath.Join(c.DataDir, "shadow.jsonl"))
}

// wireShadow puts the adapters into shadow where the config says so. The file, nil if there is none, is closed after them.
func wireShadow(cfg Config, adapters []platforms.Adapter, log *slog.Logger) ([]platforms.Adapter, *shadow.File, error) {
	if len(cfg.Shadow.Places) == 0 {
		return adapters, nil, nil
	}
	file, err := shadow.Open(cfg.shadowFile(), int64(cfg.Shadow.MaxMB)<<20)
	if err != nil {
		return nil, nil, err
	}
	var all []platforms.Adapter
	for _, a := range adapters {
		wrapped, err := shadow.Wrap(a, cfg.Shadow.Places, file, log)
		if err != nil {
			return nil, nil, fmt.Errorf("shadow.places: %w", err)
		}
		all = append(all, wrapped)
	}
	return all, file, nil
}

func validateShadow(c *checker, s *ShadowConfig) {
	seen := map[string]bool{}
	for i, place := range s.Places {
		c.place(fmt.Sprintf("shadow.places[%d]", i), place, seen)
	}
	c.between("shadow.max_mb", s.MaxMB, 1, 100_000)
}

// warnShadow says where nothing will be said.
func warnShadow(cfg *Config) []string {
	if len(cfg.Shadow.Places) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("nothing is sent to %s: it is written to %s instead (shadow.places)", strings.Join(cfg.Shadow.Places, ", "), cfg.shadowFile())}
}
