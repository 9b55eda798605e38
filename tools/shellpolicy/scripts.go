package shellpolicy

import (
	"regexp"
	"slices"
	"strings"
)

var tame = regexp.MustCompile(`^(([0-9]+|\$|/[^/\\;]*/)(,([0-9]+|\$|\+[0-9]+|/[^/\\;]*/))?)?\s*!?\s*([pdq=Dn]|[0-9]*q|s(/[^/]*/[^/\\\n]*(\\[^\n][^/\\\n]*)*/|\|[^|]*\|[^|\\\n]*(\\[^\n][^|\\\n]*)*\||#[^#]*#[^#\\\n]*(\\[^\n][^#\\\n]*)*#)[gpiI0-9]*|y/[^/]*/[^/]*/)?$`)

// sed looks at sed, whose scripts can write files and run commands.
func (s *scope) sed(i invocation) {
	if !s.known(i) {
		return
	}
	args := i.args()
	change := false
	var scripts, files []word
	for n := 0; n < len(args); n++ {
		w := args[n]
		switch {
		case w.is("-e", "--expression") && n+1 < len(args):
			n++
			scripts = append(scripts, args[n])
		case strings.HasPrefix(w.text, "--expression="):
			w.text = strings.TrimPrefix(w.text, "--expression=")
			scripts = append(scripts, w)
		case w.is("-n", "-E", "-r", "-s", "-u", "-z", "-nE", "-nr", "-En", "-rn", "--quiet", "--silent", "--regexp-extended", "--posix", "--sandbox"):
		case w.is("-i", "--in-place", "-Ei", "-ri", "-i.bak", "-i.orig"):
			change = true
		case strings.HasPrefix(w.text, "-") && len(w.text) > 1:
			s.ask(Unclear, "It runs `sed` with %s, an option that is not looked into.", quote(w.text))
			return
		default:
			files = append(files, w)
		}
	}
	if len(scripts) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, script := range scripts {
		if script.glob || !slices.ContainsFunc([]string{script.text}, tameScript) {
			s.ask(Code, "It runs a script of `sed` that can write files or run commands.")
			s.opaque = true
		}
	}
	for _, f := range files {
		switch {
		case f.fed || f.glob && strings.IndexAny(f.text, "*?[") == 0:
			s.ask(Unclear, "It runs `sed` with names that may be taken for options.")
		case change:
			s.writesTo(f, "changes")
		default:
			s.reads(f)
		}
	}
}

// tameScript tells whether every command in a script of sed is one that only prints, deletes lines or replaces text.
func tameScript(script string) bool {
	if tame.MatchString(strings.TrimSpace(script)) {
		return true
	}
	for part := range strings.SplitSeq(script, ";") {
		if !tame.MatchString(strings.TrimSpace(part)) {
			return false
		}
	}
	return true
}

var awkTrouble = regexp.MustCompile("system|getline|[|>@`]|ENVIRON|include|load|close|fflush|ARGV|ARGC")

// awk looks at awk, whose programs can write files and run commands.
func (s *scope) awk(i invocation) {
	if !s.known(i) {
		return
	}
	args, n := i.args(), 0
	for ; n < len(args) && strings.HasPrefix(args[n].text, "-") && len(args[n].text) > 1; n++ {
		switch w := args[n]; {
		case w.is("-F", "-v"):
			n++
		case strings.HasPrefix(w.text, "-F"), strings.HasPrefix(w.text, "-v"):
		default:
			s.ask(Unclear, "It runs `awk` with %s, an option that is not looked into.", quote(w.text))
			return
		}
	}
	if n >= len(args) {
		return
	}
	code := strings.ReplaceAll(args[n].text, "||", "")
	code = regexp.MustCompile(`(\$?[A-Za-z0-9_]+|\))\s*>=?\s*[0-9]+(\s*[){&])`).ReplaceAllString(strings.TrimSpace(code)+" {", "1$2")
	if args[n].glob || awkTrouble.MatchString(code) {
		s.opaque = true
		s.ask(Unclear, "It runs a program of `awk` that can write files or run commands.")
	}
	for _, f := range args[n+1:] {
		if f.fed {
			s.ask(Unclear, "It runs `awk` on names that are known only when it runs.")
		} else {
			s.reads(f)
		}
	}
}
