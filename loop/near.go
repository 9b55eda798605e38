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

// distance is the number of letters to insert, delete or replace to get from one word to the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
