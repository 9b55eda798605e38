package loop

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
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

// TestOnlyTheStateLayerWrites: no other file of the package calls the journal's writing methods.
func TestOnlyTheStateLayerWrites(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	writes := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || call.Sel.Name != "Append" && call.Sel.Name != "End" {
				return true
			}
			if of, ok := call.X.(*ast.SelectorExpr); ok && of.Sel.Name == "Journal" {
				writes[file]++
			}
			return true
		})
	}
	if len(writes) != 1 || writes["state.go"] == 0 {
		t.Errorf("the journal is written by %v, want state.go alone", writes)
	}
}
