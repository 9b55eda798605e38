package files

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

const (
	nearEntries = 5000 // how many names are looked at
	nearAnswers = 3    // how many are suggested
)

var errEnough = errors.New("enough")

// near returns the paths that are most like one that does not exist: the same name elsewhere first, then names with a
// few other letters, then names that begin alike.
func (f folder) near(name string) []string {
	type candidate struct {
		path     string
		distance int
	}
	var found []candidate
	seen := 0
	wanted := strings.ToLower(path.Base(name))
	if len(wanted) > 255 { // no name is so long
		return nil
	}
	f.walk(".", nil, func(p string, _ fs.DirEntry) error {
		if seen++; seen > nearEntries {
			return errEnough
		}
		if d := tools.Distance(wanted, strings.ToLower(path.Base(p))); d <= max(2, len(wanted)/4) {
			found = append(found, candidate{p, d})
		} else if stem := strings.TrimSuffix(wanted, path.Ext(wanted)); len(stem) > 2 && strings.HasPrefix(strings.ToLower(path.Base(p)), stem) {
			found = append(found, candidate{p, len(wanted)})
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var paths []string
	for _, c := range found[:min(len(found), nearAnswers)] {
		paths = append(paths, c.path)
	}
	return paths
}
