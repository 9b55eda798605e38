package loop_test

import (
	"path"
	"strings"
	"testing"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// TestBuiltinProfiles: the data is well formed, every pattern matches something, and no figure is impossible.
func TestBuiltinProfiles(t *testing.T) {
	all, err := loop.BuiltinProfiles()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d profiles, %v", len(all), err)
	}
	seen := map[string]bool{}
	for _, p := range all {
		if _, err := path.Match(p.Match, "x"); err != nil || p.Match != strings.ToLower(p.Match) || seen[p.Match] {
			t.Errorf("pattern %q: %v, twice %v", p.Match, err, seen[p.Match])
		}
		seen[p.Match] = true
		if p.Window < 4_000 || p.MaxOutput < 1_000 || p.MaxOutput >= p.Window {
			t.Errorf("%s: window %d, output %d", p.Match, p.Window, p.MaxOutput)
		}
		if p.Assumed && p.OutputPrice > 0 {
			t.Errorf("%s: a price that nobody has confirmed", p.Match)
		}
		if p.CachedPrice > p.InputPrice || p.InputPrice > p.OutputPrice {
			t.Errorf("%s: prices %v, %v, %v", p.Match, p.InputPrice, p.CachedPrice, p.OutputPrice)
		}
	}
}

func TestFindProfile(t *testing.T) {
	all, err := loop.BuiltinProfiles()
	if err != nil {
		t.Fatal(err)
	}
	own := []loop.Profile{{Match: "gpt-5-mini", Window: 5}, {Match: "local/*", Window: 6}}
	for name, want := range map[string]string{
		"gpt-5": "gpt-5", "gpt-5-2025-08-07": "gpt-5-20*", "gpt-5.7": "gpt-5*", "GPT-5-Nano": "gpt-5-nano*", "openai/gpt-4o-mini": "gpt-4o-mini*",
		"gpt-5-mini": "gpt-5-mini", "local/anything": "local/*", "claude-9": "claude-*", "nobody-knows": "", "": "",
	} {
		if got := loop.FindProfile(name, own, all); got.Match != want {
			t.Errorf("%s: %q, want %q", name, got.Match, want)
		}
	}
}

func TestProfileLimitsAndCost(t *testing.T) {
	p := loop.Profile{MaxTurns: 5, RepeatThreshold: 2, InputPrice: 2, CachedPrice: 1, OutputPrice: 8}
	if l := p.Apply(loop.DefaultLimits()); l.MaxTurns != 5 || l.RepeatThreshold != 2 || l.MaxTokens != loop.DefaultLimits().MaxTokens {
		t.Errorf("limits: %+v", l)
	}
	if cost, known := p.Cost(sessions.Usage{Input: 1_000_000, Cached: 500_000, Output: 250_000}); cost != 1+0.5+2 || !known {
		t.Errorf("cost: %v, %v", cost, known)
	}
	if cost, known := (loop.Profile{}).Cost(sessions.Usage{Input: 1}); cost != 0 || known {
		t.Errorf("cost without a price: %v, %v", cost, known)
	}
}
