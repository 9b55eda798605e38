package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits of the format, and of what is read.
const (
	maxName        = 64
	maxDescription = 1024       // characters
	maxFile        = 256 << 10  // bytes of a file that is read at all
	mainFile       = "SKILL.md" // what makes a folder a skill
)

// Source says whose a skill is.
type Source string

const (
	FromOperator Source = "operator" // in a folder that the config names
	Shipped      Source = "shipped"  // comes with the program
	Own          Source = "own"      // written by the assistant
)

// Skill is one that can be used.
type Skill struct {
	Name        string
	Description string // one line
	Source      Source
	Place       string   // where it lies, for people
	Needs       []string // tools without which it is of no use; see metadata.talaria-tools

	folder string // in what is shipped; empty = it lies at Place
}

// Problem is a skill that cannot be used, and why.
type Problem struct{ Place, Reason string }

// frontMatter is what stands between the two lines of dashes. Keys that are not known are other assistants' affair.
type frontMatter struct {
	Name        string         `yaml:"name"`
	Description string         `yaml:"description"`
	Metadata    map[string]any `yaml:"metadata"`
}

var goodName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// checkName returns what is wrong with a skill's name, nil if nothing is.
func checkName(name string) error {
	if len(name) > maxName || !goodName.MatchString(name) {
		return fmt.Errorf("the name %q is not made of small letters, digits and single hyphens, at most %d of them", clip(name, 80), maxName)
	}
	return nil
}

// parse reads a SKILL.md: its head and the text behind that.
func parse(text string) (s Skill, body string, err error) {
	head, body, err := split(text)
	if err != nil {
		return s, "", err
	}
	var f frontMatter
	if err := yaml.Unmarshal([]byte(head), &f); err != nil {
		return s, "", fmt.Errorf("its front matter is no YAML: %s", oneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	s = Skill{Name: strings.TrimSpace(f.Name), Description: oneLine(f.Description)}
	if err := checkName(s.Name); err != nil {
		return s, "", err
	}
	switch n := utf8.RuneCountInString(s.Description); {
	case n == 0:
		return s, "", errors.New("it has no description")
	case n > maxDescription:
		return s, "", fmt.Errorf("its description has %d characters; %d are the most", n, maxDescription)
	}
	if needs, ok := f.Metadata["talaria-tools"].(string); ok {
		s.Needs = strings.Fields(needs)
	}
	return s, strings.TrimSpace(body), nil
}

// split takes the front matter off a text.
func split(text string) (head, body string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", errors.New("it does not begin with front matter, a line of three dashes")
	}
	if body, ok = strings.CutPrefix(rest, "---\n"); ok {
		return "", body, nil
	}
	head, body, ok = strings.Cut(rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix(rest, "\n---"); !ok {
			return "", "", errors.New("its front matter does not end, with a line of three dashes")
		}
	}
	return head, body, nil
}

// readText reads a text file of a folder; nothing that is no regular file, too large or no text.
func readText(files fs.FS, name string) (string, error) {
	info, err := fs.Stat(files, name)
	switch {
	case err != nil:
		return "", plain(err)
	case !info.Mode().IsRegular():
		return "", errors.New("it is no file")
	case info.Size() > maxFile:
		return "", fmt.Errorf("it is too large: %d KiB, and %d are the most", info.Size()>>10, maxFile>>10)
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return "", plain(err)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", errors.New("it is no text")
	}
	return string(data), nil
}

// plain returns an error without the path in it.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// oneLine makes a line of a text: with single spaces, and without what cannot be seen.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)), " ")
}

// clip shortens a text to n characters.
func clip(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}
