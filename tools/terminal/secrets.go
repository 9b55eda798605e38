package terminal

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files with credentials are looked for in so many entries of the work folder at most, and so many are hidden: a command
// line has an end, and a command should not wait long.
const (
	maxLooked = 50_000
	maxHidden = 1000
)

// secretFiles returns the absolute paths of the files in the work folder that hold credentials, links excepted: what they
// lead to inside of the folder has its own name.
func secretFiles(root *os.Root, work string, secret func(string) bool) (found []string) {
	looked := 0
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if looked++; looked > maxLooked || len(found) > maxHidden {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil // what cannot be read here cannot be read by a command either
		case d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.Type().IsRegular() && secret(filepath.ToSlash(path)):
			found = append(found, filepath.Join(work, path))
		}
		return nil
	})
	return found
}

// mentions returns those of the paths whose name stands in a command, relative to the work folder.
func mentions(command, work string, paths []string) (names []string) {
	for _, p := range paths {
		if strings.Contains(command, filepath.Base(p)) {
			if name, err := filepath.Rel(work, p); err == nil {
				names = append(names, name)
			}
		}
	}
	return names
}
