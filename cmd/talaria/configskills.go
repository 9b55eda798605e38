package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/tools/skills"
)

// SkillsConfig says where skills are, beside those that come with the program and those that the assistant writes.
type SkillsConfig struct {
	Dirs []string `toml:"dirs"`
}

func validateSkills(c *checker, s *SkillsConfig) {
	for _, folder := range s.Dirs {
		if !filepath.IsAbs(folder) || filepath.Clean(folder) == "/" {
			c.add("skills.dirs", "%q is not the absolute path of a folder", folder)
		}
	}
}

// skills returns the library of all skills.
func (c *Config) skills() *skills.Library {
	return skills.NewLibrary(skills.Options{Dirs: c.Skills.Dirs, Own: filepath.Join(c.DataDir, "skills"), Suspicious: loop.Suspicious})
}

// skills says which skills there are, and which cannot be used and why. None of that keeps anything from working.
func (r *checkup) skills(cfg *Config) {
	if !slices.Contains(cfg.Tools.Toolsets, skills.Toolset) {
		r.line("skills", "off")
		return
	}
	all, problems := cfg.skills().List()
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	r.line("skills", "%d: %s", len(all), strings.Join(names, ", "))
	for _, p := range problems {
		r.problem("skills", platforms.Problem{What: p.Place + " is not usable: " + p.Reason, Cure: "put its SKILL.md right, or take the folder away", Minor: true})
	}
}
