package skills

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of a library.
const (
	maxSkills = 500  // looked at in one folder of skills
	maxDepth  = 3    // folders between a folder of skills and a skill
	maxIndex  = 6000 // bytes of the index in the prompt
	maxLine   = 300  // characters of a description there
)

//go:embed shipped
var shipped embed.FS

// Library finds skills. It may be used from any goroutine.
type Library struct{ options Options }

// NewLibrary returns the library of some folders.
func NewLibrary(o Options) *Library { return &Library{o} }

// found is what one look at all folders has found.
type found struct {
	skills   []Skill // by name
	problems []Problem
}

// look reads all folders.
func (l *Library) look() *found {
	f := &found{}
	for _, dir := range l.options.Dirs {
		f.folder(dir, FromOperator, l.options.Suspicious)
	}
	if sub, err := fs.Sub(shipped, "shipped"); err == nil { // it is compiled in
		f.below(sub, "shipped", Shipped, nil)
	}
	if l.options.Own != "" {
		f.folder(l.options.Own, Own, l.options.Suspicious)
	}
	slices.SortFunc(f.skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return f
}

func (f *found) folder(dir string, source Source, suspicious func(string) string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if source != Own || !errors.Is(err, fs.ErrNotExist) {
			f.problems = append(f.problems, Problem{dir, "the folder cannot be read: " + plain(err).Error()})
		}
		return
	}
	defer root.Close()
	f.below(root.FS(), dir, source, suspicious)
}

// below takes in the skills below a folder.
func (f *found) below(all fs.FS, place string, source Source, suspicious func(string) string) {
	seen := 0
	err := fs.WalkDir(all, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			f.problems = append(f.problems, Problem{filepath.Join(place, name), plain(err).Error()})
			return fs.SkipDir
		case !d.IsDir():
			return nil
		case strings.HasPrefix(d.Name(), ".") && name != ".":
			return fs.SkipDir
		}
		if _, err := fs.Stat(all, path.Join(name, mainFile)); err != nil {
			if name != "." && strings.Count(name, "/") >= maxDepth-1 {
				return fs.SkipDir
			}
			return nil
		}
		if seen++; seen > maxSkills {
			f.problems = append(f.problems, Problem{place, fmt.Sprintf("only the first %d skills are looked at", maxSkills)})
			return fs.SkipAll
		}
		f.take(all, name, filepath.Join(place, name), source, suspicious)
		return fs.SkipDir // what lies in it is its own
	})
	if err != nil {
		f.problems = append(f.problems, Problem{place, "the folder cannot be read: " + plain(err).Error()})
	}
}

// take takes in one skill, if it can be used.
func (f *found) take(all fs.FS, name, place string, source Source, suspicious func(string) string) {
	s, err := head(all, name)
	if err == nil && suspicious != nil {
		if why := suspicious(s.Description); why != "" {
			err = errors.New("its description looks as if somebody wanted to take the assistant over: " + why)
		}
	}
	if i := slices.IndexFunc(f.skills, func(other Skill) bool { return err == nil && other.Name == s.Name }); i >= 0 {
		if source == Shipped {
			return // the operator has one of his own instead
		}
		err = fmt.Errorf("another skill is called %q, too: %s", s.Name, f.skills[i].Place)
	}
	if err != nil {
		f.problems = append(f.problems, Problem{place, err.Error()})
		return
	}
	if s.Source, s.Place = source, place; source == Shipped {
		s.folder = path.Join("shipped", name)
	}
	f.skills = append(f.skills, s)
}

// head reads what the skill in a folder says about itself.
func head(all fs.FS, folder string) (Skill, error) {
	text, err := readText(all, path.Join(folder, mainFile))
	if err != nil {
		return Skill{}, fmt.Errorf("%s: %w", mainFile, err)
	}
	s, _, err := parse(text)
	return s, err
}

// List returns the skills that there are, by name, and what is wrong with the others.
func (l *Library) List() ([]Skill, []Problem) {
	f := l.look()
	return f.skills, f.problems
}

// Index returns the skills as they stand in the prompt, empty if there are none: those that need a tool that is not there
// are left out. It is the same text as long as nothing has changed, and of bounded length.
func (l *Library) Index(has func(tool string) bool) string {
	all, _ := l.List()
	all = slices.DeleteFunc(all, func(s Skill) bool {
		return slices.ContainsFunc(s.Needs, func(tool string) bool { return !has(tool) })
	})
	var b strings.Builder
	for i, s := range all {
		line := fmt.Sprintf("- %s: %s\n", s.Name, clip(s.Description, maxLine))
		if b.Len()+len(line) > maxIndex {
			fmt.Fprintf(&b, "- and %d more; skill_view without a name lists all", len(all)-i)
			break
		}
		b.WriteString(line)
	}
	return strings.TrimSpace(b.String())
}

// Show returns the instructions of a skill for a person to read.
func (l *Library) Show(name string) (text string, ok bool) {
	s, ok := l.look().find(name)
	if !ok {
		return "", false
	}
	body, err := s.read("")
	if err != nil {
		return "It cannot be read: " + err.Error(), true
	}
	return fmt.Sprintf("**%s** (%s)\n\n%s\n\n%s", s.Name, s.Source, s.Description, body), true
}

func (f *found) find(name string) (Skill, bool) {
	i := slices.IndexFunc(f.skills, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return f.skills[i], true
}

// within calls a function with the files of a skill, from which nothing leads out.
func (s Skill) within(look func(fs.FS) error) error {
	if s.folder != "" {
		files, err := fs.Sub(shipped, s.folder)
		if err != nil {
			return err
		}
		return look(files)
	}
	root, err := os.OpenRoot(s.Place)
	if err != nil {
		return plain(err)
	}
	defer root.Close()
	return look(root.FS())
}

// read returns a file of a skill as it stands there, or with an empty name its instructions.
func (s Skill) read(name string) (text string, err error) {
	err = s.within(func(files fs.FS) (err error) {
		text, err = readText(files, cmp.Or(name, mainFile))
		return err
	})
	if err != nil || name != "" {
		return text, err
	}
	_, body, err := parse(text)
	return cmp.Or(body, "(It says nothing more than its description.)"), err
}

// Overview lists all skills, and what is wrong with those that cannot be used, for people.
func (l *Library) Overview() string {
	all, problems := l.List()
	var b strings.Builder
	if len(all) == 0 {
		b.WriteString("I know no skills.\n")
	}
	for _, s := range all {
		fmt.Fprintf(&b, "- **%s** (%s): %s\n", s.Name, s.Source, clip(s.Description, maxLine))
	}
	if len(problems) > 0 {
		b.WriteString("\nNot usable:\n\n")
	}
	for _, p := range problems {
		fmt.Fprintf(&b, "- **%s**: %s\n", filepath.Base(p.Place), p.Reason)
	}
	return b.String()
}
