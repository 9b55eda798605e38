package loop

import (
	"slices"
	"strings"
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
		d := distance(plain, simplify(c))
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

// distance is the number of letters to insert, delete, replace or swap with their neighbour to get from one word to the
// other.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d[i][j] = min(replace, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
