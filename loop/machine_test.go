package loop

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/talaria-agent/talaria/tools"
)

// TestTableIsComplete: every state is reached and left, the machine can always come to its end, and the grace call can
// only happen once.
func TestTableIsComplete(t *testing.T) {
	states := []State{Idle, Thinking, Acting, Observing, Recovering, Done}
	reached, left := map[State]bool{Idle: true}, map[State]bool{}
	seen := map[string]bool{}
	for _, row := range transitions {
		reached[row.to], left[row.from] = true, true
		name := ""
		if row.when != nil {
			name = row.when.name
		}
		key := strings.Join([]string{string(row.from), string(row.on), name}, "|")
		if seen[key] {
			t.Errorf("two rows for %s", key)
		}
		seen[key] = true
		if row.from == Done {
			t.Errorf("%s is left on %q", Done, row.on)
		}
	}
	for _, s := range states {
		if !reached[s] {
			t.Errorf("%s is never reached", s)
		}
		if s != Done && !left[s] {
			t.Errorf("%s is never left", s)
		}
		if s == Done || s == Idle {
			continue
		}
		if to, err := next(&turn{}, s, cancelled); err != nil || to != Done {
			t.Errorf("%s does not end on a cancel: %s, %v", s, to, err)
		}
		if to, err := next(&turn{}, s, lost); err != nil || to != Done {
			t.Errorf("%s does not end when the log is lost: %s, %v", s, to, err)
		}
	}
}

// TestGraceIsOneWay: once an end condition was found, nothing that the grace call can bring leads anywhere but to the end.
func TestGraceIsOneWay(t *testing.T) {
	grace := &turn{ending: EndRounds}
	reached := map[State]bool{Thinking: true}
	for range transitions {
		for _, row := range transitions {
			if !reached[row.from] {
				continue
			}
			if to, err := next(grace, row.from, row.on); err == nil {
				reached[to] = true
				if to == Thinking {
					t.Errorf("%s on %q leads to a second grace call", row.from, row.on)
				}
			}
		}
	}
	if reached[Acting] || reached[Observing] || !reached[Recovering] || !reached[Done] {
		t.Errorf("the grace call leads to %v", reached)
	}
}

func TestUnknownTransitionIsReported(t *testing.T) {
	if _, err := next(&turn{}, Idle, saidText); err == nil {
		t.Error("a signal outside the table was accepted")
	}
}

// TestAnySignals drives the machine by random signals, those of the table and others, with an end condition found somewhere
// on the way: it goes where the table says, and the first signal that no row answers ends the turn as a bug.
func TestAnySignals(t *testing.T) {
	all := map[signal]bool{"no such signal": true, "": true}
	for _, row := range transitions {
		all[row.on] = true
	}
	signals := slices.Sorted(maps.Keys(all))
	rapid.Check(t, func(rt *rapid.T) {
		journal, err := newScratch("t", "u", Task{Tools: &tools.Registry{}})
		if err != nil {
			rt.Fatal(err)
		}
		way := &tracks{}
		u := newTurn(&Runner{Model: NewChain(Link{})}, Turn{ID: "t", Journal: journal, Tape: way})
		u.clock, _ = newClock(t.Context(), time.Hour)
		defer u.clock.stop()
		var signalled []signal
		endings := map[int]bool{} // by step: whether an end condition was known when its signal came
		u.drive(t.Context(), t.Context(), func(_ context.Context, s State) signal {
			if s == Done {
				rt.Fatal("something was to be done after the end")
			}
			on := rapid.SampledFrom(signals).Draw(rt, "signal")
			if rapid.IntRange(0, 2).Draw(rt, "by the table") > 0 {
				on = rapid.SampledFrom(rowsFrom(s)).Draw(rt, "row").on
			}
			if len(signalled) > 200 {
				on = lost
			}
			if on == exhausted && s == Observing {
				u.ending = EndRounds
			}
			endings[len(signalled)] = u.ending != ""
			signalled = append(signalled, on)
			return on
		})
		if len(way.moves) != len(signalled) || way.moves[len(way.moves)-1].to != Done {
			rt.Fatalf("%d signals, %v", len(signalled), way.moves)
		}
		from := Idle
		for i, m := range way.moves {
			row := slices.IndexFunc(transitions, func(r transition) bool {
				return r.from == from && r.on == signalled[i] && (r.when == nil || r.when == beforeGrace && !endings[i])
			})
			bug := row < 0
			switch {
			case m.from != from || m.on != string(signalled[i]):
				rt.Fatalf("move %d is %v after %s on %q", i, m, from, signalled[i])
			case bug && (m.to != Done || u.outcome.Reason != EndInternal || u.outcome.Err == nil):
				rt.Fatalf("%v is not in the table: %+v", m, u.outcome)
			case !bug && m.to != transitions[row].to:
				rt.Fatalf("%v, and the table says %s", m, transitions[row].to)
			case !bug && u.outcome.Reason == EndInternal && i == len(way.moves)-1:
				rt.Fatalf("%v is in the table, and was called a bug", m)
			}
			from = m.to
		}
	})
}

// rowsFrom are the rows that leave a state.
func rowsFrom(s State) (rows []transition) {
	for _, row := range transitions {
		if row.from == s {
			rows = append(rows, row)
		}
	}
	return rows
}

// tracks is a tape that remembers the transitions.
type tracks struct {
	straight
	moves []track
}

type track struct {
	from State
	on   string
	to   State
}

func (t *tracks) Moved(_ string, from State, on string, to State) {
	t.moves = append(t.moves, track{from, on, to})
}

// TestOnlyTheStateLayerWrites: in no other file of the package does anything but an implementation of Journal call a method
// that writes, or take a journal in hand for more than reading the session; so there is no way around it by another name.
func TestOnlyTheStateLayerWrites(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if file == "state.go" {
			ast.Inspect(parsed, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && writing(s) && selects(s.X, "Journal") {
					writes++
				}
				return true
			})
			continue
		}
		for _, where := range outside(parsed) {
			t.Errorf("%s writes the log, or could", set.Position(where))
		}
	}
	if writes == 0 {
		t.Error("state.go does not write the log")
	}
}

// TestOutsideIsFound: the test above finds what it is to find.
func TestOutsideIsFound(t *testing.T) {
	for body, found := range map[string]bool{
		"t.Journal.Append(ctx, e)":               true,
		"t.Journal.End(ctx, o, e)":               true,
		"j := t.Journal; j.Session()":            true,
		"take(t.Journal)":                        true,
		"write := t.Journal.Append; write(ctx)":  true,
		"j.Append(ctx, e)":                       true,
		"t.Turn.Journal.Append(ctx, e)":          true,
		"s := t.Journal.Session(); _ = s.Turn":   false,
		"all = append(all, e)":                   false,
		"u := Turn{Journal: j}; _ = u":           false,
		"f := func() { t.Journal.Append(ctx) }":  true,
		"defer t.Journal.End(ctx, Outcome{})":    true,
		"x := &t.Journal; (*x).Append(ctx, e)":   true,
		"_ = Journal.Append":                     true,
		"_ = (*scratch).Append":                  true,
		"w := struct{ Journal }{t.Journal}; _=w": true,
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "x.go", "package loop\nfunc (t *turn) work() {"+body+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(outside(parsed)) > 0; got != found {
			t.Errorf("%s: found %v", body, got)
		}
	}
}

// outside returns where a file that is not of the state layer writes the log, or hands a journal on.
func outside(file *ast.File) (found []token.Pos) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		implements := ok && f.Recv != nil && (f.Name.Name == "Append" || f.Name.Name == "End") // Journal
		reads := map[ast.Expr]bool{}
		ast.Inspect(d, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			switch {
			case !ok:
			case writing(s) && !implements, selects(s, "Journal") && !reads[s]:
				found = append(found, s.Pos())
			case s.Sel.Name == "Session":
				reads[s.X] = true
			}
			return true
		})
	}
	return found
}

// writing tells whether a method that writes is named.
func writing(s *ast.SelectorExpr) bool { return s.Sel.Name == "Append" || s.Sel.Name == "End" }

func selects(e ast.Expr, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name
}
