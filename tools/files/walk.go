package files

import "io/fs"

// walk calls visit for everything below start, in the order of the paths, but for start itself and .git folders. It does
// not follow links. What cannot be read is left out. It returns the error of visit that ended it, and an error if start
// itself cannot be read.
func walk(tree fs.FS, start string, visit func(name string, entry fs.DirEntry) error) error {
	return fs.WalkDir(tree, start, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == start:
			return err
		case err != nil || name == start:
			return nil
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		}
		return visit(name, entry)
	})
}
