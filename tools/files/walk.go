package files

import "io/fs"

// walk calls visit for everything below start, in the order of the paths, but for start itself, .git folders, files with
// credentials, and what is ignored; nil = nothing is. It does not follow links. What cannot be read is left out. It
// returns the error of visit that ended it, and an error if start itself cannot be read.
func (f folder) walk(start string, ignored *ignores, visit func(name string, entry fs.DirEntry) error) error {
	return fs.WalkDir(f.FS(), start, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == start:
			return err
		case err != nil || name == start:
			return nil
		case entry.IsDir() && (entry.Name() == ".git" || ignored != nil && ignored.match(name, entry)):
			return fs.SkipDir
		case f.secrets.Match(name), ignored != nil && ignored.match(name, entry):
			return nil
		}
		return visit(name, entry)
	})
}
