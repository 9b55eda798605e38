package shellpolicy

import (
	"path/filepath"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtins are the shell's own commands.
var builtins = func() map[string]bool {
	all := map[string]bool{}
	for n := range strings.FieldsSeq(`: true false echo pwd type wait jobs fg bg disown shift return exit break continue times umask
		ulimit help dirs caller printf read test [ cd pushd popd eval source . exec command builtin trap set unset shopt
		export readonly local declare typeset let alias unalias hash enable complete compgen compopt bind history fc mapfile
		readarray getopts logout suspend kill`) {
		all[n] = true
	}
	return all
}()

// builtin looks at a builtin with its arguments.
func (s *scope) builtin(name string, i invocation) {
	args := i.args()
	switch name {
	case ":", "true", "false", "echo", "pwd", "type", "jobs", "fg", "bg", "disown", "shift", "return", "exit", "break",
		"continue", "times", "umask", "ulimit", "help", "dirs", "caller", "logout":
	case "wait":
		s.plainFlags(name, args, "")
	case "printf":
		if len(args) > 1 && (!args[0].known || args[0].is("-v")) {
			s.assignsTo(name, args[1:2])
		}
	case "read":
		s.read(args)
	case "test", "[":
		s.test(args, name == "[")
	case "cd":
		s.cd(args)
	case "eval":
		s.opaque = true
		s.joined(args)
	case "source", ".":
		s.opaque = true
		for _, w := range args[:min(1, len(args))] {
			if s.reads(w); w.glob {
				s.ask(Unclear, "It runs the commands in a file whose name is known only when it runs.")
			}
			s.programs = append(s.programs, w.text) // a name without a slash is looked for like a program
		}
		s.ask(Code, "It runs the commands in a file.")
	case "exec":
		if len(args) > 0 {
			s.delegate(i, program{name: name, flags: "-c -l -cl -lc --", values: "-a"}, true)
		}
	case "command":
		if len(args) > 0 && args[0].is("-v", "-V", "-pv", "-pV") {
			return
		}
		s.delegate(i, program{name: name, flags: "-p --"}, true)
	case "builtin":
		s.delegate(i, program{name: name, flags: "--"}, true)
	case "trap":
		if len(args) > 1 && !args[0].is("-", "", "-p", "-l", "--") {
			s.joined(args[:1])
		} else if len(args) > 1 && args[0].is("--") {
			s.joined(args[1:2])
		}
	case "set":
		s.set(args)
	case "unset":
		s.assignsTo(name, args)
	case "shopt":
		for _, w := range args {
			if !w.is("-s", "-u", "-q", "nullglob", "globstar", "dotglob", "failglob", "nocaseglob") {
				s.ask(Unclear, "It changes how the shell reads commands.")
			}
		}
	case "getopts":
		if len(args) > 1 {
			s.assignsTo(name, args[1:2])
		}
	case "mapfile", "readarray":
		s.plainFlags(name, args, "t")
	case "hash":
		if len(args) > 0 && !args[0].is("-r") {
			s.ask(Unclear, "It changes which programs the shell runs.")
		}
	case "kill":
		s.kill(args)
	default:
		s.ask(Unclear, "It uses %s, which changes how the shell reads or runs commands.", quote(name))
	}
}

// plainFlags asks about options of a builtin that are not single letters of a list.
func (s *scope) plainFlags(name string, args []word, letters string) {
	for _, w := range args {
		if w.text == "$!" {
			continue
		}
		if !w.known || strings.HasPrefix(w.text, "-") && strings.Trim(w.text[1:], letters) != "" {
			s.ask(Unclear, "It uses %s with %s, which is not looked into.", quote(name), quote(w.text))
		}
	}
}

// assignsTo looks at names of variables that a builtin assigns. A name with a subscript can hide a command.
func (s *scope) assignsTo(builtin string, args []word) {
	for _, w := range args {
		switch {
		case builtin == "unset" && w.is("-v", "-f"):
		case !w.known || !identifier.MatchString(w.text):
			s.ask(Unclear, "It uses %s on %s, a variable whose name may hide a command.", quote(builtin), quote(w.text))
		default:
			s.assigns(w.text)
		}
	}
}

var readFlags = regexp.MustCompile(`^-[rsee]*([tndNpu].*)?$`)

func (s *scope) read(args []word) {
	for n := 0; n < len(args); n++ {
		w := args[n]
		switch {
		case w.known && len(w.text) > 1 && w.text[0] == '-' && readFlags.MatchString(w.text):
			if strings.ContainsRune("tndNpu", rune(w.text[len(w.text)-1])) {
				n++ // its value
			}
		default:
			s.assignsTo("read", []word{w})
		}
	}
}

// test looks at test and [. Their -v evaluates a subscript, so an operator must be known to be none.
func (s *scope) test(args []word, bracket bool) {
	if bracket {
		if len(args) == 0 || !args[len(args)-1].is("]") {
			s.ask(Unclear, "It has a test without an end.")
			return
		}
		args = args[:len(args)-1]
	}
	single, literal := true, true
	for _, w := range args {
		single = single && w.one
		literal = literal && w.known && !w.glob
		if w.is("-v", "-R") {
			s.ask(Unclear, "It tests a variable whose name may hide a command.")
		}
	}
	switch {
	case literal:
	case single && len(args) < 2:
	case single && len(args) == 2 && args[0].known:
	case single && len(args) == 3 && args[1].known && !args[0].is("!"):
	case single && len(args) == 3 && args[0].is("!") && args[1].known:
	case single && len(args) == 4 && args[0].is("!") && args[2].known:
	default:
		s.ask(Unclear, "It tests values that are known only when it runs.")
	}
}

// cd looks at a change of folder. Only down, so that relative paths do not lead further up than from where it started.
func (s *scope) cd(args []word) {
	for _, w := range args {
		switch {
		case w.is("-L", "-P", "-e", "--", "-"):
		case !w.known:
			s.ask(Unclear, "It goes to a folder that is known only when it runs.")
		case !within(s.resolve(w.text), s.rules.Dir):
			s.ask(Outside, "It goes to %s, so that I cannot tell which files are meant after that.", quote(w.text))
		}
	}
	if len(args) == 0 && s.rules.Dir != s.rules.Work {
		s.ask(Outside, "It goes to the home folder, so that I cannot tell which files are meant after that.")
	}
}

// joined looks at arguments that the shell runs as a command.
func (s *scope) joined(args []word) {
	var text []string
	for _, w := range args {
		if !w.known || w.glob {
			s.ask(Unclear, "It runs a text that is known only when it runs.")
			return
		}
		text = append(text, w.text)
	}
	s.script(strings.Join(text, " "), syntax.LangBash, s.depth+1, true)
}

var setFlags = regexp.MustCompile(`^[-+][euxvfnCo]+$`)

func (s *scope) set(args []word) {
	if len(args) == 0 {
		s.ask(Secrets, "It lists all variables, which may hold secrets.")
	}
	for n := 0; n < len(args); n++ {
		w := args[n]
		switch {
		case w.is("--", "-"):
			return
		case w.known && strings.HasSuffix(w.text, "o") && setFlags.MatchString(w.text):
			if n++; n < len(args) && args[n].is("pipefail", "errexit", "nounset", "noglob", "xtrace", "noclobber", "verbose") {
				continue
			}
			s.ask(Unclear, "It changes how the shell reads commands.")
		case w.known && (setFlags.MatchString(w.text) || !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+")):
		default:
			s.ask(Unclear, "It changes how the shell reads commands.")
		}
	}
}

// hereDocument returns the text that redirections feed to a command, if it is known, and whether they feed any.
func (s *scope) hereDocument(redirs []*syntax.Redirect) (text string, known, any bool) {
	for _, r := range redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			any = true
			if r.Hdoc == nil {
				text, known = "", true
				continue
			}
			quotedEnd := r.Word.Lit() == "" || strings.Contains(r.Word.Lit(), "\\")
			text, known = "", true
			for _, p := range r.Hdoc.Parts {
				l, ok := p.(*syntax.Lit)
				if !ok {
					return "", false, true
				}
				if quotedEnd {
					text += l.Value
				} else {
					text += unescapeQuoted(l.Value)
				}
			}
			if r.Op == syntax.DashHdoc {
				text = leadingTabs.ReplaceAllString(text, "")
			}
		case syntax.WordHdoc:
			any = true
			fields := s.single(r.Word)
			known = len(fields) == 1 && len(fields[0]) == 1 && fields[0][0].known && !fields[0][0].glob
			if known {
				text = fields[0][0].text
			}
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			any, known = true, false
		}
	}
	return text, known, any
}

var leadingTabs = regexp.MustCompile(`(?m)^\t+`)

// base returns the last part of a path.
func base(p string) string { return filepath.Base(p) }
