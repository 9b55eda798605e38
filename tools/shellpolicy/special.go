package shellpolicy

import (
	"regexp"
	"strconv"
	"strings"
)

// special looks at the programs that need a function of their own.
func (s *scope) special(n string, i invocation) {
	args := i.args()
	switch n {
	case "env":
		s.env(i)
	case "printenv":
		s.ask(Secrets, "It lists variables, which may hold secrets.")
	case "xargs":
		s.xargs(i)
	case "find":
		s.findProgram(i)
	case "git":
		s.git(i)
	case "command":
		s.ask(Unclear, "It runs `command` as a program.")
	case "test", "[":
		s.test(args, n == "[")
	case "kill":
		s.kill(args)
	case "pkill", "killall":
		s.killByName(n, i)
	case "hostname":
		if len(args) > 0 && !args[0].is("-f", "-s", "-i", "-I", "-d", "--fqdn", "--short") {
			s.ask(System, "It changes the name of the machine.")
		}
	case "ps":
		s.ps(args)
	case "rm", "rmdir", "unlink", "shred":
		s.remove(n, i)
	case "chmod", "chown", "chgrp":
		s.rights(n, i)
	case "dd":
		s.dd(i)
	case "ln", "mv", "cp", "install":
		s.transfer(n, i)
	case "tee", "truncate":
		s.known(i)
		s.writesAll(i)
	case "uniq":
		s.uniq(i)
	case "sed":
		s.sed(i)
	case "awk", "gawk", "mawk", "nawk":
		s.awk(i)
	case "tar":
		s.tar(i)
	case "go", "cargo", "npm", "pnpm", "yarn", "pip", "pip3", "uv", "poetry", "npx", "pipx", "bunx", "uvx", "gem", "bundle", "composer",
		"conda", "mamba":
		s.packages(n, i)
	default:
		switch {
		case isShell(n):
			s.shellProgram(n, i)
		case isDatabase(n):
			s.database(n, i)
		default:
			s.interpreter(n, i)
		}
	}
}

// known asks about values that are known only when the command runs, and tells whether there are none.
func (s *scope) known(i invocation) bool {
	all := true
	for _, w := range i.args() {
		if !w.known {
			all = false
			s.ask(Unclear, "It runs %s with %s, a value that is known only when it runs.", quote(i.words[0].text), quote(w.text))
		}
	}
	return all
}

// operands returns the arguments that are no options.
func operands(args []word) []word {
	var rest []word
	for n, w := range args {
		if w.is("--") {
			return append(rest, args[n+1:]...)
		}
		if !w.known || len(w.text) < 2 || w.text[0] != '-' {
			rest = append(rest, w)
		}
	}
	return rest
}

// hasFlag tells whether one of the options is given; long ones may be shortened.
func hasFlag(args []word, options ...string) bool {
	for _, w := range args {
		if w.is("--") {
			return false
		}
		for _, o := range options {
			if hasOption(w.text, o) {
				return true
			}
		}
	}
	return false
}

func (s *scope) remove(n string, i invocation) {
	s.known(i)
	recursive := n == "rm" && hasFlag(i.args(), "-r", "-R", "--recursive")
	if hasFlag(i.args(), "--no-preserve-root") {
		s.never(Destructive, "It asks for the whole system to be deleted.")
	}
	for _, w := range operands(i.args()) {
		if w.fed {
			s.ask(Unclear, "It deletes files whose names are known only when it runs.")
			continue
		}
		if (recursive || w.glob || n == "shred") && s.wipes(w, "deletes") {
			continue
		}
		s.writesTo(w, "deletes")
		switch {
		case recursive:
			s.ask(Destructive, "It deletes %s with all that is in it.", quote(w.text))
		case w.glob:
			s.ask(Destructive, "It deletes every file that matches %s.", quote(w.text))
		case n == "shred":
			s.ask(Destructive, "It overwrites %s for good.", quote(w.text))
		}
	}
}

var (
	everybody = regexp.MustCompile(`^0?[0-7]*[2367]$|^([ugo]*[oa][ugoa]*)?\+[rxXst]*w|[oa][=+][rx]*w`)
	elevated  = regexp.MustCompile(`^[4267][0-7]{3}$|^0[4267][0-7]{3}$|\+[rwxXt]*s|=[rwxXt]*s`)
)

func (s *scope) rights(n string, i invocation) {
	s.known(i)
	rest := operands(i.args())
	recursive := hasFlag(i.args(), "-R", "--recursive")
	if n != "chmod" {
		s.ask(Privilege, "It changes whose files they are.")
	}
	if len(rest) > 0 && !strings.HasPrefix(rest[0].text, "/") && !hasFlag(i.args(), "--reference") {
		mode := rest[0].text
		rest = rest[1:]
		if n == "chmod" && everybody.MatchString(mode) {
			s.ask(Privilege, "It lets everybody write.")
		}
		if n == "chmod" && elevated.MatchString(mode) {
			s.ask(Privilege, "It lets a program run with its owner's rights.")
		}
	}
	for _, w := range rest {
		if w.fed {
			s.ask(Unclear, "It changes the rights of files whose names are known only when it runs.")
			continue
		}
		if recursive && s.wipes(w, "changes the rights of") {
			continue
		}
		s.writesTo(w, "changes the rights of")
	}
}

func (s *scope) dd(i invocation) {
	s.known(i)
	for _, w := range i.args() {
		key, value, _ := strings.Cut(w.text, "=")
		switch w.text = value; key {
		case "of":
			s.writesTo(w, "")
		case "if":
			s.reads(w)
		}
	}
}

// transfer looks at what copies, moves or links. All operands but the last are read, or with mv gone afterwards.
func (s *scope) transfer(n string, i invocation) {
	s.known(i)
	args := i.args()
	for _, w := range args {
		if strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "/=") && w.known {
			s.writesTo(operand(w), "") // --target-directory=x
		}
		if n == "install" && elevated.MatchString(strings.TrimPrefix(operand(w).text, "m")) {
			s.ask(Privilege, "It lets a program run with its owner's rights.")
		}
	}
	rest := operands(args)
	target := hasFlag(args, "-t", "--target-directory")
	for k, w := range rest {
		switch {
		case w.fed:
			s.ask(Unclear, "It runs `%s` on names that are known only when it runs.", n)
		case n == "ln" && k < len(rest)-1:
			if p := s.resolve(w.text); !w.known || !within(p, s.rules.Work) {
				s.ask(Outside, "It makes a link to %s, outside of the work folder.", quote(w.text))
			}
		case n == "mv" || k == len(rest)-1 || target:
			if n == "mv" && s.wipes(w, "moves") {
				continue
			}
			s.writesTo(w, map[bool]string{true: "moves", false: ""}[n == "mv" && k < len(rest)-1])
		default:
			s.reads(w)
		}
	}
}

func (s *scope) uniq(i invocation) {
	s.known(i)
	for k, w := range operands(i.args()) {
		if w.fed || w.glob {
			s.ask(Unclear, "It runs `uniq` on names that are known only when it runs.")
		} else if k == 0 {
			s.reads(w)
		} else {
			s.writesTo(w, "")
		}
	}
}

// ps can show the environments of processes, by a letter in an argument without a dash.
func (s *scope) ps(args []word) {
	for _, w := range args {
		if !w.known || !strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "e") && !integer.MatchString(w.text) {
			s.ask(Secrets, "It shows the environments of processes, which may hold secrets.")
		}
	}
}

func (s *scope) kill(args []word) {
	if len(args) > 0 && args[0].is("-l", "-L", "--list") {
		return
	}
	signal := false
	for n, w := range args {
		switch {
		case w.is("--"):
			signal = true
		case w.text == "$!" || w.text == "$$": // its own
		case !w.known:
			s.ask(Unclear, "It stops a process that is known only when it runs.")
		case w.text == "-1" && (n > 0 || len(args) == 1):
			s.never(System, "It stops every process on the machine.")
		case !signal && n == 0 && strings.HasPrefix(w.text, "-"):
			signal = true
		case n == 1 && args[0].is("-s", "-n", "--signal"):
		case strings.HasPrefix(w.text, "%"):
		case w.text == strconv.Itoa(s.rules.PID) || w.text == strconv.Itoa(-s.rules.PID):
			s.ask(Self, "It stops the gateway itself.")
		default:
			s.ask(System, "It stops the process %s.", quote(w.text))
		}
	}
}

func (s *scope) killByName(n string, i invocation) {
	s.known(i)
	for _, w := range i.args() {
		if strings.Contains(w.text, "talaria") {
			s.ask(Self, "It stops the gateway itself.")
		}
		if w.is("-1") && n == "killall" || n == "pkill" && w.is(".", ".*", "") {
			s.never(System, "It stops every process on the machine.")
		}
	}
	s.ask(System, "It stops all processes of a name.")
}
