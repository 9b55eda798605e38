package shellpolicy

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variable is what a script does with one of its variables, regardless of order: any value that is assigned anywhere
// may be the one that is used, and the empty one too unless the use comes after an assignment for certain.
type variable struct {
	values  []string
	opaque  bool // some value is not known
	textual bool // some value may be no number
	surely  []span
}

// span is a part of the source in which a variable is certain to have a value.
type span struct{ from, to uint }

// variables are those of one script.
type variables struct {
	byName map[string]*variable
	rules  Rules
	nested bool // they may be inherited
	moved  bool // it changes its folder
}

// ruling are the variables by which the shell itself, the loader or every program is ruled. What assigns them is asked
// about.
var ruling = regexp.MustCompile(`^(PATH|HOME|IFS|ENV|CDPATH|PS[0-9]|PROMPT_COMMAND|GLOBIGNORE|GLOBSORT|SHELLOPTS|EXECIGNORE|` +
	`POSIXLY_CORRECT|OLDPWD|PWD|SHELL|TMPDIR|TALARIA_.*|BASH.*|LD_.*|DYLD_.*|_)$`)

// harmless are the variables that may be handed to a program unasked.
var harmless = regexp.MustCompile(`^(LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR|CI|DEBUG|VERBOSE|` +
	`GOOS|GOARCH|CGO_ENABLED|NODE_ENV|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONIOENCODING|RUST_BACKTRACE|[a-z][a-z0-9_]*)$`)

func newVariables(file *syntax.File, rules Rules, nested bool) *variables {
	v := &variables{byName: map[string]*variable{}, rules: rules, nested: nested}
	for _, stmt := range file.Stmts {
		call, ok := stmt.Cmd.(*syntax.CallExpr)
		if !ok || len(call.Args) > 0 || stmt.Background {
			continue
		}
		for _, a := range call.Assigns {
			x := v.get(a.Name.Value)
			x.surely = append(x.surely, span{a.End().Offset(), file.End().Offset() + 1})
		}
	}
	syntax.Walk(file, v.gather)
	return v
}

func (v *variables) get(name string) *variable {
	x := v.byName[name]
	if x == nil {
		x = &variable{}
		v.byName[name] = x
	}
	return x
}

// taint says that any text may be assigned to a variable.
func (v *variables) taint(name string) {
	x := v.get(name)
	x.opaque, x.textual = true, true
}

// gather collects the assignments below a node.
func (v *variables) gather(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Assign:
		v.assign(n)
	case *syntax.ForClause:
		v.loop(n)
	case *syntax.ParamExp:
		if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
			v.taint(n.Param.Value)
		}
	case *syntax.BinaryArithm:
		v.arithmetic(n.X)
	case *syntax.UnaryArithm:
		v.arithmetic(n.X)
	case *syntax.CallExpr:
		v.call(n)
	case *syntax.Redirect:
		if n.N != nil {
			v.taint(strings.Trim(n.N.Value, "{}"))
		}
	case *syntax.CoprocClause:
		v.taint("COPROC")
	}
	return true
}

func (v *variables) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	x := v.get(a.Name.Value)
	switch {
	case a.Naked || a.Append || a.Index != nil || a.Array != nil:
		x.opaque, x.textual = true, true
	case a.Value == nil || len(a.Value.Parts) == 0:
		x.values = append(x.values, "")
	default:
		v.value(x, a.Value)
	}
}

// value adds the value of an assignment, in which neither globs nor braces mean anything.
func (v *variables) value(x *variable, w *syntax.Word) {
	var text strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			t, _, _ := unescape(p.Value)
			if strings.ContainsAny(p.Value, "~{\\") {
				x.opaque, x.textual = true, true
				return
			}
			text.WriteString(t)
		case *syntax.SglQuoted:
			if p.Dollar {
				x.opaque, x.textual = true, true
				return
			}
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				l, ok := q.(*syntax.Lit)
				if !ok || p.Dollar {
					x.opaque, x.textual = true, true
					return
				}
				text.WriteString(unescapeQuoted(l.Value))
			}
		case *syntax.ArithmExp:
			x.opaque = true
			if len(w.Parts) > 1 {
				x.textual = true
			}
			return
		default:
			x.opaque, x.textual = true, true
			return
		}
	}
	x.values = append(x.values, text.String())
	x.textual = x.textual || !integer.MatchString(text.String())
}

// loop adds what a loop runs over.
func (v *variables) loop(f *syntax.ForClause) {
	iter, ok := f.Loop.(*syntax.WordIter)
	if !ok {
		return
	}
	if f.Select || !iter.InPos.IsValid() || iter.Name == nil {
		if iter.Name != nil {
			v.taint(iter.Name.Value)
		}
		return
	}
	x := v.get(iter.Name.Value)
	x.surely = append(x.surely, span{f.DoPos.Offset(), f.DonePos.Offset()})
	literal := &scope{analysis: &analysis{rules: v.rules}, vars: &variables{rules: v.rules, nested: true}}
	for _, item := range iter.Items {
		for _, fields := range literal.fields(item) {
			for _, w := range fields {
				// A glob stands for names in the folder that it names: the pattern itself, taken as a glob where it is used.
				if !w.known || w.glob && strings.HasPrefix(w.text, "-") {
					x.opaque, x.textual = true, true
					continue
				}
				if w.glob {
					x.values, x.textual = append(x.values, globMark+w.text), true
					continue
				}
				x.values = append(x.values, w.text)
				x.textual = x.textual || !integer.MatchString(w.text)
			}
		}
	}
}

// globMark begins a value that stands for the names which match it. No argument can hold a zero byte.
const globMark = "\x00"

// arithmetic notes a variable that arithmetic may assign: it is a number then, but which is not known.
func (v *variables) arithmetic(e syntax.ArithmExpr) {
	if w, ok := e.(*syntax.Word); ok && identifier.MatchString(w.Lit()) {
		v.get(w.Lit()).opaque = true
	}
}

// call notes the variables that builtins assign.
func (v *variables) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	first, _, _ := unescape(c.Args[0].Lit())
	switch first {
	case "cd", "pushd", "popd":
		v.moved = true
	}
	for _, w := range c.Args { // wherever it stands: builtin read x, command read x
		switch w.Lit() {
		case "read", "mapfile", "readarray", "getopts", "unset", "printf", "wait", "let", "eval", "source", ".", "export", "readonly", "local", "typeset", "declare":
			for _, arg := range c.Args {
				if text := arg.Lit(); identifier.MatchString(text) {
					v.taint(text)
				}
			}
			v.taint("REPLY")
			v.taint("MAPFILE")
			return
		}
	}
}

var (
	integer    = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// values returns the values that an expansion can have.
func (v *variables) values(p *syntax.ParamExp, quoted bool) []word {
	opaque := []word{{one: quoted}}
	if p.Param == nil {
		return opaque
	}
	n := p.Param.Value
	switch {
	case n == "@" || n == "*" || p.Index != nil || p.Excl:
		return []word{{}}
	case p.Length:
		return []word{{one: true}}
	case p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 || len(p.Modifiers) > 0:
		return opaque
	case n == "#" || n == "?" || n == "$" || n == "!":
		return []word{{one: true}}
	case n == "HOME" && v.byName[n] == nil:
		return []word{{text: v.rules.Work, known: true, one: quoted || plain(v.rules.Work), home: true}}
	case n == "PWD" && v.byName[n] == nil && !v.moved && !v.nested:
		return []word{{text: v.rules.Dir, known: true, one: quoted || plain(v.rules.Dir)}}
	}
	x := v.byName[n]
	if x == nil || v.nested || len(x.values) > maxAlternatives {
		return opaque
	}
	at := p.Pos().Offset()
	sure := slices.ContainsFunc(x.surely, func(s span) bool { return s.from <= at && at < s.to })
	if x.opaque {
		return []word{{one: quoted || sure && !x.textual}}
	}
	all := []word{}
	if !sure {
		all = append(all, word{known: true, one: true})
	}
	for _, value := range x.values {
		pattern, glob := strings.CutPrefix(value, globMark)
		w := word{text: pattern, known: true, glob: glob, one: true}
		if !quoted && (!sure || glob || value == "" || !plain(value)) {
			return opaque
		}
		all = append(all, w)
	}
	return all
}

// plain tells whether an unquoted expansion with this value is exactly one argument and no glob.
func plain(value string) bool { return value != "" && !strings.ContainsAny(value, " \t\n*?[\\") }

// numeric tells whether a variable can only hold a number, so that arithmetic on it evaluates nothing else. A name that
// is never assigned is empty, unless it comes from the environment.
func (v *variables) numeric(n string) bool {
	if n == "HOME" || n == "PWD" || v.nested || ruling.MatchString(n) {
		return false
	}
	x := v.byName[n]
	if x == nil {
		return strings.ToLower(n) == n
	}
	return !x.textual
}
