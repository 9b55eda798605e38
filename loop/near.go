package loop

import (
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

// near returns the candidates that a misspelt name may have meant, at most three, the nearest first.
func near(name string, candidates []string) []string {
	type match struct {
		name     string
		distance int
	}
	var found []match
	seen := map[string]bool{}
	plain := simplify(name)
	for _, c := range candidates {
		if seen[c] || plain == "" {
			continue
		}
		seen[c] = true
		d := tools.Distance(plain, simplify(c))
		within := d <= max(1, min(len(plain), len(c))/3)
		if within || len(plain) >= 4 && (strings.Contains(simplify(c), plain) || strings.Contains(plain, simplify(c))) {
			found = append(found, match{c, d})
		}
	}
	slices.SortStableFunc(found, func(a, b match) int { return a.distance - b.distance })
	var out []string
	for _, m := range found[:min(3, len(found))] {
		out = append(out, m.name)
	}
	return out
}

// simplify removes what names are often misspelt by: case and separators.
func simplify(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(prefix(name, 100)))
}
