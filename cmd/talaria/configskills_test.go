package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckSkills: "talaria check" names the skills, and what is wrong with one.
func TestCheckSkills(t *testing.T) {
	cfg := defaultConfig()
	cfg.DataDir, cfg.Skills.Dirs = t.TempDir(), []string{t.TempDir()}
	broken := filepath.Join(cfg.Skills.Dirs[0], "broken")
	if err := os.Mkdir(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "SKILL.md"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := &checkup{out: &out}
	r.skills(&cfg)
	if r.bad {
		t.Error("a skill that cannot be used is no reason to fail")
	}
	for _, want := range []string{"skills    3: data-report, log-diagnosis, scheduled-job\n", "note: " + broken + " is not usable: it does not begin"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not said: %s in\n%s", want, out.String())
		}
	}
	out.Reset()
	cfg.Tools.Toolsets = []string{"files"}
	if r.skills(&cfg); out.String() != "skills    off\n" {
		t.Error(out.String())
	}
	if _, _, err := loadConfig(writeConfig(t, "[skills]\ndirs = [\"relative\"]\n"), env()); err == nil || !strings.Contains(err.Error(), `skills.dirs: "relative" is not the absolute path`) {
		t.Error(err)
	}
}
