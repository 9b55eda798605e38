package shellpolicy

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scope is one script: a shell's own variables and functions.
type scope struct {
	*analysis
	depth     int
	vars      *variables
	functions map[string]bool
}

// look looks at everything in a script.
func (s *scope) look(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && f.Name != nil {
			s.function(f)
		}
		return true
	})
	syntax.Walk(file, func(n syntax.Node) bool {
		s.node(n)
		return true
	})
}

func (s *scope) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Stmt:
		s.statement(n)
	case *syntax.Assign:
		s.assignment(n)
	case *syntax.DeclClause:
		s.declaration(n)
	case *syntax.ForClause:
		if n.Select {
			s.ask(Unclear, "It uses a rare feature of the shell that is not looked into.")
		}
		if i, ok := n.Loop.(*syntax.WordIter); ok && i.Name != nil {
			s.assigns(i.Name.Value)
		}
		if c, ok := n.Loop.(*syntax.CStyleLoop); ok {
			s.arithmetic(c.Init, c.Cond, c.Post)
		}
	case *syntax.ParamExp:
		s.parameter(n)
	case *syntax.ArithmExp:
		s.arithmetic(n.X)
	case *syntax.ArithmCmd:
		s.arithmetic(n.X)
	case *syntax.LetClause:
		s.arithmetic(n.Exprs...)
	case *syntax.BinaryTest:
		s.binaryTest(n)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			s.ask(Unclear, "It tests a variable whose name may hide a command.")
		}
	case *syntax.TimeClause: // behind a pipe bash takes it for the program of that name
		s.programs = append(s.programs, "time")
	case *syntax.ExtGlob, *syntax.CoprocClause:
		s.ask(Unclear, "It uses a rare feature of the shell that is not looked into.")
	}
}

// statement looks at one command with its redirections.
func (s *scope) statement(n *syntax.Stmt) {
	for _, r := range n.Redirs {
		s.redirect(r)
	}
	if n.Coprocess || n.Disown {
		s.ask(Unclear, "It uses a rare feature of the shell that is not looked into.")
	}
	call, ok := n.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	for _, a := range call.Assigns {
		s.handsOver(a.Name.Value)
	}
	for _, v := range s.vectors(call.Args) {
		s.command(invocation{words: v, redirs: n.Redirs, shell: true})
	}
}

func (s *scope) redirect(r *syntax.Redirect) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		s.assigns(strings.Trim(r.N.Value, "{}"))
		s.ask(Unclear, "It uses a rare feature of the shell that is not looked into.")
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if descriptor.MatchString(r.Word.Lit()) {
			return
		}
	}
	for _, fields := range s.fields(r.Word) {
		for _, w := range fields {
			if r.Op == syntax.RdrIn || r.Op == syntax.DplIn {
				s.reads(w)
			} else {
				s.writesTo(w, "")
				if r.Op == syntax.RdrInOut {
					s.reads(w)
				}
			}
		}
	}
}

var descriptor = regexp.MustCompile(`^([0-9]+-?|-)$`)

// assigns looks at the name of a variable that gets a value.
func (s *scope) assigns(n string) {
	if ruling.MatchString(n) {
		s.ask(Unclear, "It changes %s, by which the shell finds and runs programs.", quote(n))
	}
}

// handsOver looks at the name of a variable that a program gets.
func (s *scope) handsOver(n string) {
	if s.assigns(n); !ruling.MatchString(n) && !harmless.MatchString(n) {
		s.ask(Code, "It sets %s, which may change what the program does.", quote(n))
		s.opaque = true
	}
}

func (s *scope) assignment(a *syntax.Assign) {
	if a.Name != nil {
		s.assigns(a.Name.Value)
	}
	if a.Index != nil {
		s.index(a.Index)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				s.index(e.Index)
			}
		}
	}
}

// index looks at the subscript of an array, which the shell evaluates once more when it uses it.
func (s *scope) index(e syntax.ArithmExpr) {
	w, ok := e.(*syntax.Word)
	if !ok || !integer.MatchString(w.Lit()) && w.Lit() != "@" && w.Lit() != "*" {
		s.ask(Unclear, "It computes the place in an array, which can hide a command.")
	}
}

func (s *scope) declaration(d *syntax.DeclClause) {
	variant := d.Variant.Value
	s.programs = append(s.programs, variant)
	named := false
	for _, a := range d.Args {
		switch {
		case a.Name != nil:
			named = true
			if variant == "export" || variant == "declare" || variant == "typeset" {
				s.handsOver(a.Name.Value)
			}
		case a.Value == nil || !flagWord.MatchString(a.Value.Lit()):
			s.ask(Unclear, "It declares a variable whose name is known only when it runs.")
		case strings.ContainsAny(a.Value.Lit(), "niaA"):
			s.ask(Unclear, "It declares a variable that the shell evaluates.")
		}
	}
	if !named {
		s.ask(Secrets, "It lists all variables, which may hold secrets.")
	}
}

var flagWord = regexp.MustCompile(`^[-+][A-Za-z]+$`)

// parameter looks at an expansion that does more than to stand for a value.
func (s *scope) parameter(p *syntax.ParamExp) {
	switch {
	case p.Param == nil || p.Excl || p.Names != 0 || len(p.Modifiers) > 0 || p.Flags != nil:
		s.ask(Unclear, "It uses a variable whose name is known only when it runs.")
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		s.ask(Unclear, "It evaluates the value of a variable.")
	case p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull):
		s.assigns(p.Param.Value)
	}
	if p.Index != nil {
		s.index(p.Index)
	}
	if p.Slice != nil {
		s.arithmetic(p.Slice.Offset, p.Slice.Length)
	}
}

// arithmetic looks at expressions. The shell evaluates the values of variables in them as expressions again, and a
// subscript in such a value may run a command; so only numbers are let through.
func (s *scope) arithmetic(all ...syntax.ArithmExpr) {
	for _, e := range all {
		switch e := e.(type) {
		case nil:
		case *syntax.BinaryArithm:
			s.arithmetic(e.X, e.Y)
		case *syntax.UnaryArithm:
			s.arithmetic(e.X)
		case *syntax.ParenArithm:
			s.arithmetic(e.X)
		case *syntax.Word:
			if !s.isNumber(e) {
				s.ask(Unclear, "It calculates with a value that is known only when it runs.")
			}
			if identifier.MatchString(e.Lit()) {
				s.assigns(e.Lit())
			}
		default:
			s.ask(Unclear, "It calculates in a way that is not looked into.")
		}
	}
}

func (s *scope) isNumber(w *syntax.Word) bool {
	if lit := w.Lit(); lit != "" {
		return integer.MatchString(lit) || identifier.MatchString(lit) && s.vars.numeric(lit)
	}
	if len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.ParamExp:
		if p.Length && p.Index == nil {
			return true
		}
		simple := p.Param != nil && !p.Excl && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
		return simple && (strings.Contains("#?$!", p.Param.Value) || identifier.MatchString(p.Param.Value) && s.vars.numeric(p.Param.Value))
	case *syntax.ArithmExp:
		return true // looked at on its own
	}
	return false
}

// binaryTest looks at a comparison in [[ ]]; those of numbers are arithmetic.
func (s *scope) binaryTest(b *syntax.BinaryTest) {
	switch b.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, x := range []syntax.TestExpr{b.X, b.Y} {
			if w, ok := x.(*syntax.Word); !ok || !s.isNumber(unquoted(w)) {
				s.ask(Unclear, "It calculates with a value that is known only when it runs.")
			}
		}
	}
}

func unquoted(w *syntax.Word) *syntax.Word {
	if len(w.Parts) == 1 {
		if d, ok := w.Parts[0].(*syntax.DblQuoted); ok && len(d.Parts) == 1 {
			return &syntax.Word{Parts: d.Parts}
		}
	}
	return w
}

// function looks at a declaration. One that calls itself is asked about, and one that does so beside itself, in a pipe or
// in the background, multiplies until the machine stands still.
func (s *scope) function(f *syntax.FuncDecl) {
	n := f.Name.Value
	s.functions[n] = true
	if _, ok := programs[n]; ok || builtins[n] {
		s.ask(Unclear, "It gives %s another meaning.", quote(n))
	}
	calls, beside := 0, false
	syntax.Walk(f.Body, func(x syntax.Node) bool {
		switch x := x.(type) {
		case *syntax.CallExpr:
			if len(x.Args) > 0 && x.Args[0].Lit() == n {
				calls++
			}
		case *syntax.BinaryCmd:
			beside = beside || x.Op == syntax.Pipe || x.Op == syntax.PipeAll
		case *syntax.Stmt:
			beside = beside || x.Background
		}
		return true
	})
	switch {
	case calls > 0 && beside:
		s.never(System, "It starts itself over and over until the machine stands still (a fork bomb).")
	case calls > 0:
		s.ask(System, "Its function %s calls itself without an end that can be seen.", quote(n))
	}
}
