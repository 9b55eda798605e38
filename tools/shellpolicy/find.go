package shellpolicy

import (
	"slices"
	"strings"
)

// findProgram looks at find: its folders, what it does to what it finds, and the programs that it runs on that.
func (s *scope) findProgram(i invocation) {
	args := i.args()
	var roots []word
	for len(args) > 0 && !strings.HasPrefix(args[0].text, "(") && !args[0].is("!") && (!strings.HasPrefix(args[0].text, "-") || args[0].is("-L", "-P", "-H")) {
		if !strings.HasPrefix(args[0].text, "-") {
			roots = append(roots, args[0])
			s.reads(args[0])
		}
		args = args[1:]
	}
	if len(roots) == 0 {
		roots = []word{{text: ".", known: true, one: true}}
	}
	for n := 0; n < len(args); n++ {
		w := args[n]
		switch {
		case !w.known || w.glob:
			s.ask(Unclear, "It runs `find` with %s, a value that is known only when it runs.", quote(w.text))
		case w.is("-delete"):
			for _, r := range roots {
				if !s.wipes(r, "deletes what it finds in") {
					s.writesTo(r, "deletes what it finds in")
				}
			}
			s.ask(Destructive, "It deletes what it finds.")
		case w.is("-fprint", "-fprint0", "-fprintf", "-fls") && n+1 < len(args):
			s.writesTo(args[n+1], "")
		case w.is("-files0-from"):
			s.ask(Unclear, "It runs `find` on names that are known only when it runs.")
		case w.is("-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex") && n+1 < len(args):
			n++
			if pattern := args[n]; !pattern.one && !pattern.known {
				s.ask(Unclear, "It runs `find` with %s, a value that is known only when it runs.", quote(pattern.text))
			} else if pattern.known && secret(pattern.text, true) && slices.ContainsFunc(args, func(w word) bool { return strings.HasPrefix(w.text, "-exec") || w.is("-ok", "-okdir") }) {
				s.ask(Secrets, "It works on %s, which may hold secrets.", quote(pattern.text))
			}
		case w.is("-exec", "-execdir", "-ok", "-okdir"):
			end := n + 1
			for end < len(args) && !args[end].is(";") && !(args[end].is("+") && args[end-1].is("{}")) {
				end++
			}
			s.findExec(args[n+1:end], roots)
			n = end
		}
	}
}

// findExec looks at a program that find runs on what it found.
func (s *scope) findExec(command, roots []word) {
	for _, r := range roots {
		words := slices.Clone(command)
		for k, w := range words {
			if !strings.Contains(w.text, "{}") {
				continue
			}
			found := strings.TrimSuffix(r.text, "/") + "/*"
			if !r.known || k == 0 || w.text != "{}" {
				words[k] = word{text: w.text, one: true}
			} else {
				words[k] = word{text: found, known: true, glob: true, one: true}
			}
		}
		if len(words) == 0 {
			return
		}
		if p, ok := lookup(base(words[0].text)); ok && isShell(p.name) {
			s.opaque = true
		}
		s.command(invocation{words: words})
		if r.known && (words[0].is("rm", "mv", "shred", "chmod", "chown", "truncate") || strings.HasSuffix(words[0].text, "/rm")) {
			s.wipes(r, "works on all in")
		}
	}
}
