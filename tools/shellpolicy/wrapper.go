package shellpolicy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// delegate looks at the program that a wrapper runs. Shell tells that builtins and functions can be meant.
func (s *scope) delegate(i invocation, p program, shell bool) {
	rest, ok := s.afterOptions(p, i.args())
	if !ok {
		return
	}
	if len(rest) < p.skip {
		return
	}
	for _, w := range rest[:p.skip] {
		if !w.one {
			s.ask(Unclear, "It runs %s with a value that is known only when it runs.", quote(p.name))
			return
		}
	}
	s.command(invocation{words: rest[p.skip:], redirs: i.redirs, shell: shell})
}

func (s *scope) wrapped(p program, i invocation) { s.delegate(i, p, false) }

// afterOptions returns the arguments after the options of a wrapper; not ok if one of them is not known, since then
// nobody can tell where the program begins.
func (s *scope) afterOptions(p program, args []word) (rest []word, ok bool) {
	flags, values := strings.Fields(p.flags), strings.Fields(p.values)
	for n := 0; n < len(args); n++ {
		w := args[n]
		long, _, assigned := strings.Cut(w.text, "=")
		switch {
		case !w.known || w.glob:
			s.ask(Unclear, "It runs %s with %s, a value that is known only when it runs.", quote(p.name), quote(w.text))
			return nil, false
		case w.text == "--" && slices.Contains(flags, "--"):
			return args[n+1:], true
		case !strings.HasPrefix(w.text, "-") || w.text == "-":
			return args[n:], true
		case slices.Contains(flags, w.text), assigned && slices.Contains(values, long) && strings.HasPrefix(w.text, "--"):
		case slices.Contains(values, w.text):
			if n++; n < len(args) && !args[n].one {
				s.ask(Unclear, "It runs %s with a value that is known only when it runs.", quote(p.name))
				return nil, false
			}
		case len(w.text) > 2 && w.text[1] != '-' && slices.Contains(values, w.text[:2]):
		case len(w.text) > 2 && w.text[1] != '-' && allFlags(w.text[1:], flags):
		case p.name == "nice" && integer.MatchString(w.text[1:]):
		default:
			s.ask(Unclear, "It runs %s with %s, an option that is not looked into.", quote(p.name), quote(w.text))
			return nil, false
		}
	}
	return nil, true
}

func allFlags(letters string, flags []string) bool {
	for _, l := range letters {
		if !slices.Contains(flags, "-"+string(l)) {
			return false
		}
	}
	return true
}

// env looks at env and what it runs.
func (s *scope) env(i invocation) {
	p := program{
		name: "env", flags: "-i - --ignore-environment -v --debug -0 --null --",
		values: "-u --unset -C --chdir",
	}
	for n, w := range i.args() { // the folder that it changes to
		if w.is("-C", "--chdir") && n+1 < len(i.args()) {
			s.cd(i.args()[n+1 : n+2])
		} else if strings.HasPrefix(w.text, "--chdir=") || strings.HasPrefix(w.text, "-C") && len(w.text) > 2 {
			s.ask(Outside, "It goes to another folder.")
		}
	}
	rest, ok := s.afterOptions(p, i.args())
	if !ok {
		return
	}
	if len(rest) > 0 && rest[0].is("-") {
		rest = rest[1:]
	}
	for len(rest) > 0 {
		n, _, assigned := strings.Cut(rest[0].text, "=")
		if !assigned {
			break
		}
		if !rest[0].known && (!identifier.MatchString(n) || !rest[0].one) {
			s.ask(Unclear, "It runs `env` with a value that is known only when it runs.")
			return
		}
		s.handsOver(n)
		rest = rest[1:]
	}
	if len(rest) == 0 {
		s.ask(Secrets, "It lists all variables, which may hold secrets.")
		return
	}
	s.command(invocation{words: rest, redirs: i.redirs})
}

// xargs looks at xargs and what it runs on names that it reads.
func (s *scope) xargs(i invocation) {
	p := program{
		name: "xargs", flags: "-0 -r -t -x --null --no-run-if-empty --verbose --exit -o --open-tty --",
		values: "-n -P -I -L -d -s -E --max-args --max-procs --replace --max-lines --delimiter --max-chars",
	}
	rest, ok := s.afterOptions(p, i.args())
	if !ok {
		return
	}
	if len(rest) == 0 {
		s.programs = append(s.programs, "echo") // what it runs if nothing is named
		return
	}
	mark := ""
	for n, w := range i.args() {
		switch {
		case w.is("-I") && n+1 < len(i.args()):
			mark = i.args()[n+1].text
		case strings.HasPrefix(w.text, "-I") && len(w.text) > 2:
			mark = w.text[2:]
		case strings.HasPrefix(w.text, "--replace"):
			s.ask(Unclear, "It puts names that it reads into a command.")
		}
	}
	words := slices.Clone(rest)
	if mark == "" {
		words = append(words, word{text: "…", fed: true})
	}
	for n, w := range words {
		if mark != "" && strings.Contains(w.text, mark) {
			words[n] = word{text: w.text, fed: n > 0}
		}
	}
	if sh, ok := lookup(base(words[0].text)); ok && isShell(sh.name) {
		s.ask(Unclear, "It runs a shell on names that it reads.")
	}
	s.command(invocation{words: words})
}

func isShell(n string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "csh", "tcsh", "rbash"}, n)
}

// shellProgram looks at a shell that is started as a program.
func (s *scope) shellProgram(n string, i invocation) {
	s.opaque = true
	args, inline := i.args(), false
	for len(args) > 0 {
		w := args[0]
		if !w.known {
			s.ask(Unclear, "It starts a shell with a value that is known only when it runs.")
			return
		}
		if len(w.text) < 2 || w.text[0] != '-' && w.text[0] != '+' {
			break
		}
		args = args[1:]
		if w.text == "--" {
			break
		}
		letters := strings.TrimLeft(w.text, "-+")
		switch {
		case w.is("--norc", "--noprofile", "--posix"):
			continue
		case strings.HasPrefix(w.text, "--") || strings.Trim(letters, "ceuxvfnsmlio") != "":
			s.ask(Unclear, "It starts a shell with %s, an option that is not looked into.", quote(w.text))
			return
		case strings.ContainsAny(letters, "li"):
			s.ask(Code, "It starts a shell that first runs the commands in its profile.")
		}
		inline = inline || strings.Contains(letters, "c")
		if strings.Contains(letters, "o") {
			if len(args) == 0 || !args[0].is("pipefail", "errexit", "nounset", "noglob", "xtrace", "noclobber", "verbose") {
				s.ask(Unclear, "It changes how the shell reads commands.")
				return
			}
			args = args[1:]
		}
	}
	posix := slices.Contains([]string{"sh", "dash", "bash", "ash", "rbash"}, n)
	switch {
	case !posix:
		s.ask(Unclear, "It starts %s, whose commands are not looked into.", quote(n))
	case inline && len(args) > 0:
		for _, w := range args[1:] {
			if w.fed {
				s.ask(Unclear, "It hands names that it reads to a shell.")
			}
		}
		if !args[0].known || args[0].glob {
			s.ask(Unclear, "It runs a text that is known only when it runs.")
			return
		}
		s.inner(n, args[0].text)
	case inline:
	case len(args) > 0:
		if s.reads(args[0]); args[0].glob {
			s.ask(Unclear, "It runs the commands in a file whose name is known only when it runs.")
		}
		s.programs = append(s.programs, args[0].text) // a name without a slash is looked for like a program
		s.outsideArguments(i)
		s.ask(Code, "It runs the commands in the file %s.", quote(args[0].text))
	default:
		text, known, any := s.hereDocument(i.redirs)
		if !known || !any {
			s.ask(Unclear, "It feeds commands to a shell that are known only when it runs.")
			return
		}
		s.inner(n, text)
	}
}

// inner looks at a script for a shell of its own. What sh is differs, so for it both readings count.
func (s *scope) inner(shell, text string) {
	s.script(text, syntax.LangBash, s.depth+1, true)
	if shell != "bash" && shell != "rbash" {
		s.script(text, syntax.LangPOSIX, s.depth+1, true)
	}
}

// interpreter looks at another language's interpreter.
func (s *scope) interpreter(n string, i invocation) {
	s.opaque = true
	for _, w := range i.args() {
		if !w.known {
			s.ask(Unclear, "It runs %s with %s, a value that is known only when it runs.", quote(n), quote(w.text))
		}
	}
	args := i.args()
	if len(args) == 1 && args[0].is("--version", "-V", "-v", "-version", "--help", "-h") {
		return
	}
	for _, w := range args {
		if !strings.HasPrefix(w.text, "-") || w.text == "-" {
			break
		}
		if inlineCode(n, w.text) {
			s.ask(Unclear, "It runs code for %s that stands in the command.", quote(n))
			return
		}
	}
	if len(args) == 0 || args[0].is("-") {
		s.ask(Unclear, "It feeds code to %s.", quote(n))
		return
	}
	s.outsideArguments(i)
	s.ask(Code, "It runs %s, whose code is not looked into.", quote(n))
}

// inlineCode tells whether an option of an interpreter brings code with it.
func inlineCode(n, option string) bool {
	if strings.HasPrefix(option, "--") {
		return strings.HasPrefix(option, "--e") || strings.HasPrefix(option, "--p") || strings.HasPrefix(option, "--r") || strings.HasPrefix(option, "--c")
	}
	letters := "eEcpr"
	if n == "python" || n == "pypy" {
		letters = "c"
	}
	return strings.ContainsAny(option[1:], letters)
}
