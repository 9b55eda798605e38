package ops

import (
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

// nearest returns the names that a misspelt one may stand for, the likeliest first, at most three.
func nearest(name string, all []string) (near []string) {
	const maxLength = 100 // of what is compared
	if len(name) > maxLength {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, other := range all {
		if len(other) > maxLength || other == name {
			continue
		}
		low, otherLow := strings.ToLower(name), strings.ToLower(other)
		d := tools.Distance(low, otherLow)
		if d <= max(2, len(name)/4) || len(low) > 3 && strings.Contains(otherLow, low) {
			found = append(found, candidate{other, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	for _, c := range found[:min(3, len(found))] {
		near = append(near, c.name)
	}
	return near
}
