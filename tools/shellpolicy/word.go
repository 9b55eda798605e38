package shellpolicy

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

const (
	maxFields       = 64 // that one word may become by braces
	maxAlternatives = 32 // readings of one simple command
)

// word is an argument as a program would get it, as far as that can be told.
type word struct {
	text  string // the value; of a glob the pattern; of an unknown word its source
	known bool
	glob  bool // it stands for the names that match it, or for itself
	one   bool // it is exactly one argument, known or not
	home  bool // it began with ~ or $HOME
	fed   bool // it stands for arguments that another program will add
}

// is tells whether a word is known to be one of some texts.
func (w word) is(texts ...string) bool {
	if !w.known || w.glob {
		return false
	}
	for _, t := range texts {
		if w.text == t {
			return true
		}
	}
	return false
}

// vectors returns the ways in which the words of a simple command can come out. Without any that is known it returns the
// one way with the unknown words in it.
func (s *scope) vectors(words []*syntax.Word) [][]word {
	all := [][]word{nil}
	for _, w := range words {
		choices := s.fields(w)
		if len(all)*len(choices) > maxAlternatives {
			choices = [][]word{{unknown(w, false)}}
		}
		var next [][]word
		for _, before := range all {
			for _, fields := range choices {
				next = append(next, append(append([]word(nil), before...), fields...))
			}
		}
		all = next
	}
	return all
}

func unknown(w *syntax.Word, one bool) word {
	var b strings.Builder
	if syntax.NewPrinter().Print(&b, w) != nil {
		return word{text: "?", one: one}
	}
	return word{text: b.String(), one: one}
}

// fields returns the ways in which one word of the source can come out, each a list of arguments.
func (s *scope) fields(w *syntax.Word) [][]word {
	split := &syntax.Word{Parts: append([]syntax.WordPart(nil), w.Parts...)}
	if !syntax.SplitBraces(split) {
		if braced(w) {
			return [][]word{{unknown(w, false)}}
		}
		return s.single(w)
	}
	if countBraces(split) > maxFields {
		return [][]word{{unknown(w, false)}}
	}
	all := [][]word{nil}
	for f, err := range expand.BracesSeq(nil, split) {
		if err != nil {
			return [][]word{{unknown(w, false)}}
		}
		choices := s.single(f)
		if len(choices) != 1 {
			return [][]word{{unknown(w, false)}}
		}
		all[0] = append(all[0], choices[0]...)
	}
	return all
}

// braced tells whether a word looks like a brace expansion in a way that the parser did not take for one.
func braced(w *syntax.Word) bool {
	open, inside := false, false
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		open = open || strings.Contains(l.Value, "{")
		inside = inside || strings.Contains(l.Value, ",") || strings.Contains(l.Value, "..")
	}
	return open && inside
}

// countBraces returns how many words a word with braces becomes, at most a little over maxFields.
func countBraces(w *syntax.Word) int {
	product := 1
	for _, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		if b.Sequence {
			return maxFields + 1
		}
		sum := 0
		for _, e := range b.Elems {
			sum += countBraces(e)
		}
		if product *= max(1, sum); product > maxFields {
			return product
		}
	}
	return product
}

// single returns the ways in which a word without braces can come out.
func (s *scope) single(w *syntax.Word) [][]word {
	if len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdIn {
			return [][]word{{{text: "/dev/fd/63", known: true, one: true}}}
		}
	}
	partial := []word{{known: true, one: true}}
	for i, p := range w.Parts {
		values := s.part(p, false)
		if l, ok := p.(*syntax.Lit); ok && i == 0 && strings.HasPrefix(l.Value, "~") {
			values = s.tilde(l, len(w.Parts) == 1)
		}
		var next []word
		for _, before := range partial {
			for _, v := range values {
				next = append(next, word{
					text: before.text + v.text, known: before.known && v.known, glob: before.glob || v.glob,
					one: before.one && v.one, home: before.home || v.home && i == 0,
				})
			}
		}
		if partial = next; len(partial) > maxAlternatives {
			return [][]word{{unknown(w, false)}}
		}
	}
	var all [][]word
	for _, v := range partial {
		if !v.known {
			return [][]word{{unknown(w, v.one)}}
		}
		all = append(all, []word{v})
	}
	return all
}

// tilde expands a tilde at the beginning of a word.
func (s *scope) tilde(l *syntax.Lit, whole bool) []word {
	rest := l.Value[1:]
	if !(rest == "" && whole) && !strings.HasPrefix(rest, "/") {
		return []word{{text: l.Value}}
	}
	text, glob, ok := unescape(rest)
	return []word{{text: s.rules.Work + text, known: ok, glob: glob, one: !glob, home: true}}
}

// part returns the values that a part of a word can have.
func (s *scope) part(p syntax.WordPart, quoted bool) []word {
	switch p := p.(type) {
	case *syntax.Lit:
		if quoted {
			return []word{{text: unescapeQuoted(p.Value), known: true, one: true}}
		}
		text, glob, ok := unescape(p.Value)
		glob = glob && p.Value != "["
		return []word{{text: text, known: ok, glob: glob, one: !glob}}
	case *syntax.SglQuoted:
		if !p.Dollar {
			return []word{{text: p.Value, known: true, one: true}}
		}
		text, ok := unescapeANSI(p.Value)
		return []word{{text: text, known: ok && s.depth == 0, one: true}}
	case *syntax.DblQuoted:
		return s.quoted(p)
	case *syntax.ParamExp:
		return s.vars.values(p, quoted)
	case *syntax.ArithmExp:
		return []word{{one: true}}
	}
	return []word{{one: quoted}}
}

func (s *scope) quoted(d *syntax.DblQuoted) []word {
	if d.Dollar {
		return []word{{one: true}}
	}
	all := []word{{known: true, one: true}}
	for i, p := range d.Parts {
		var next []word
		for _, before := range all {
			for _, v := range s.part(p, true) {
				next = append(next, word{
					text: before.text + v.text, known: before.known && v.known, one: before.one && v.one,
					home: before.home || v.home && i == 0,
				})
			}
		}
		if all = next; len(all) > maxAlternatives {
			return []word{{one: true}}
		}
	}
	return all
}

// unescape removes the backslashes of an unquoted text. An escaped glob character is none; beside a real one that cannot
// be written down, so that such words are not known.
func unescape(raw string) (text string, glob, ok bool) {
	var b strings.Builder
	escaped := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '\\' && i+1 < len(raw) {
			i++
			if raw[i] == '\n' {
				continue
			}
			escaped = escaped || strings.IndexByte("*?[]\\", raw[i]) >= 0
			b.WriteByte(raw[i])
			continue
		}
		glob = glob || strings.IndexByte("*?[", c) >= 0
		b.WriteByte(c)
	}
	return b.String(), glob, !(glob && escaped)
}

func unescapeQuoted(raw string) string {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) && strings.IndexByte("$`\"\\\n", raw[i+1]) >= 0 {
			i++
			if raw[i] == '\n' {
				continue
			}
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

// unescapeANSI reads the text of $'...' as far as all shells agree on it.
func unescapeANSI(raw string) (string, bool) {
	simple := map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'a': 7, 'b': 8, 'e': 27, 'f': 12, 'v': 11, '\\': '\\', '\'': '\'', '"': '"'}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			b.WriteByte(raw[i])
			continue
		}
		if i++; i >= len(raw) {
			return "", false
		}
		if c, ok := simple[raw[i]]; ok {
			b.WriteByte(c)
			continue
		}
		digits, base := "", 8
		switch {
		case raw[i] == 'x' && i+2 < len(raw):
			digits, base = raw[i+1:i+3], 16
		case i+2 < len(raw):
			digits = raw[i : i+3]
		}
		n, err := strconv.ParseUint(digits, base, 8)
		if err != nil || n == 0 {
			return "", false
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), true
}
