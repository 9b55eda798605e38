package shellpolicy

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// invocation is one simple command: a program or builtin with its arguments.
type invocation struct {
	words  []word
	redirs []*syntax.Redirect
	shell  bool // the shell itself starts it, so that builtins and functions count
}

func (i invocation) args() []word { return i.words[1:] }

func (i invocation) text() string {
	all := make([]string, len(i.words))
	for n, w := range i.words {
		all[n] = w.text
	}
	return strings.Join(all, " ")
}

// trusted are the folders whose programs are what their names say.
var trusted = regexp.MustCompile(`^/(usr/local/|usr/)?s?bin/[^/]+$`)

// versioned are names with a version in them: python3.12, mkfs.ext4.
var versioned = regexp.MustCompile(`^([a-z+_-]+?)-?[0-9][0-9.]*$`)

// command looks at one simple command.
func (s *scope) command(i invocation) {
	if len(i.words) == 0 {
		return
	}
	first := i.words[0]
	if !first.known || first.glob {
		s.ask(Unclear, "It runs %s, a program whose name is known only when it runs.", quote(first.text))
		return
	}
	name := first.text
	if i.shell && s.functions[name] {
		return
	}
	if !slices.Contains(s.programs, name) {
		s.programs = append(s.programs, name)
	}
	base := name
	if strings.Contains(name, "/") {
		if trusted.MatchString(path.Clean(name)) && path.IsAbs(name) {
			base = path.Base(name)
		} else {
			base = ""
		}
	}
	if text := i.text(); matchesAny(s.rules.Deny, text) || matchesAny(s.rules.Deny, strings.TrimPrefix(text, path.Dir(name)+"/")) {
		s.never(Unclear, "The operator has forbidden %s.", quote(text))
	}
	if i.shell && base == name {
		if builtins[name] {
			s.builtin(name, i)
			return
		}
	}
	p, ok := lookup(base)
	if !ok {
		if slices.ContainsFunc(i.words, func(w word) bool { return !w.known && !w.fed }) {
			s.ask(Unclear, "It runs %s with values that are known only when it runs.", quote(name))
		}
		s.outsideArguments(i)
		s.ask(Code, "It runs %s, a program that I do not know.", quote(name))
		return
	}
	s.program(p, i)
}

// lookup finds what is known about a program, by its name without a version.
func lookup(base string) (program, bool) {
	if p, ok := programs[base]; ok {
		return p, true
	}
	if strings.HasPrefix(base, "mkfs.") || strings.HasPrefix(base, "mkfs_") {
		return programs["mkfs"], true
	}
	if m := versioned.FindStringSubmatch(base); m != nil {
		p, ok := programs[m[1]]
		return p, ok
	}
	return program{}, false
}

// program looks at a known program with its arguments.
func (s *scope) program(p program, i invocation) {
	if p.never {
		s.never(p.class, "%s", p.why)
	} else if p.why != "" {
		s.ask(p.class, "%s", p.why)
	}
	if p.how != inert && p.how != special && p.how != wrapper {
		for _, w := range i.args() {
			if !w.known && !w.fed {
				s.ask(Unclear, "It runs %s with %s, a value that is known only when it runs.", quote(i.words[0].text), quote(w.text))
			}
		}
		s.badOptions(p, i)
	}
	switch p.how {
	case reader, talker:
		s.readsAll(p, i)
	case writer:
		s.writesAll(i)
	case runner:
		s.opaque = s.opaque || p.class == Code
		s.outsideArguments(i)
	case wrapper:
		s.wrapped(p, i)
	case special:
		s.special(p.name, i)
	}
}

// badOptions asks about the options with which a harmless program is not harmless. Long ones may be shortened, short
// ones stand together, and a pattern may stand for one.
func (s *scope) badOptions(p program, i invocation) {
	if p.bad == "" {
		return
	}
	for _, w := range i.args() {
		if w.text == "--" {
			return
		}
		if w.fed || w.glob && strings.IndexAny(w.text, "*?[") == 0 {
			s.ask(Unclear, "It runs %s with names that may be taken for options.", quote(i.words[0].text))
			continue
		}
		for bad := range strings.FieldsSeq(p.bad) {
			if hasOption(w.text, bad) {
				s.ask(Unclear, "It runs %s with %s, which can write files or run programs.", quote(i.words[0].text), quote(w.text))
			}
		}
	}
}

// hasOption tells whether an argument may be an option or have it in it.
func hasOption(arg, option string) bool {
	switch {
	case len(arg) < 2 || arg[0] != '-':
		return false
	case arg[1] == '-':
		given, _, _ := strings.Cut(arg, "=")
		return len(given) > 2 && strings.HasPrefix(option, given)
	case len(option) == 2:
		return strings.Contains(arg[1:], option[1:])
	}
	return strings.HasPrefix(arg, option)
}

// readsAll takes every argument for a path that is read, and the values of options too.
func (s *scope) readsAll(p program, i invocation) {
	for _, w := range i.args() {
		switch {
		case w.fed && !s.rules.Contained:
			s.ask(Unclear, "It runs %s on names that are known only when it runs.", quote(i.words[0].text))
		case w.fed || !w.known:
		case p.how == talker && strings.Contains(w.text, "://"):
		default:
			s.reads(operand(w))
		}
	}
}

// operand returns the path in an argument: that of an option is its value.
func operand(w word) word {
	if strings.HasPrefix(w.text, "-") {
		if _, value, ok := strings.Cut(w.text, "="); ok {
			w.text = value
		} else if n := strings.IndexAny(w.text, "/~"); n > 0 {
			w.text = w.text[n:]
		} else if len(w.text) > 2 && w.text[1] != '-' {
			w.text = w.text[2:]
		}
	}
	return w
}

// writesAll takes every argument for a path that is written.
func (s *scope) writesAll(i invocation) {
	for _, w := range i.args() {
		switch {
		case w.fed:
			s.ask(Unclear, "It runs %s on names that are known only when it runs.", quote(i.words[0].text))
		case !w.known || strings.HasPrefix(w.text, "-") && !strings.ContainsAny(w.text, "/="):
		default:
			s.writesTo(operand(w), "")
		}
	}
}

// outsideArguments looks for paths among the arguments of a program that cannot be looked into.
func (s *scope) outsideArguments(i invocation) {
	for _, w := range i.args() {
		if w = operand(w); w.known && strings.ContainsAny(w.text, "/.") && !strings.Contains(w.text, "://") {
			s.reads(w)
		}
	}
}
