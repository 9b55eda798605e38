package agenttools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

func TestTodo(t *testing.T) {
	long := `{"todos":[` + strings.Repeat(`{"content":"x"},`, 50) + `{"content":"x"}]}`
	two := `{"todos":[{"id":"a","content":"read\nit","status":"in_progress"},{"content":"write it"}]}`
	for name, c := range map[string]struct {
		calls []string
		last  string // part of the last result
		list  string
	}{
		"read an empty list":    {[]string{`{}`}, "The list is empty.", "The list is empty."},
		"write":                 {[]string{two}, "0 of 2 completed.", "- [>] a: read it\n- [ ] 2: write it\n0 of 2 completed."},
		"read":                  {[]string{two, `{}`}, "- [>] a: read it\n- [ ] 2: write it", "- [>] a: read it\n- [ ] 2: write it\n0 of 2 completed."},
		"replace":               {[]string{two, `{"todos":[{"id":"z","content":"new"}]}`}, "z: new", "- [ ] z: new\n0 of 1 completed."},
		"merge":                 {[]string{two, `{"merge":true,"todos":[{"id":"a","status":"completed"},{"id":"b","content":"more"}]}`}, "1 of 3", "- [x] a: read it\n- [ ] 2: write it\n- [ ] b: more\n1 of 3 completed."},
		"merge what is not":     {[]string{two, `{"merge":true,"todos":[{"id":"q","status":"completed"}]}`}, `There is no item "q"`, "- [>] a: read it\n- [ ] 2: write it\n0 of 2 completed."},
		"the same again":        {[]string{two, `{"merge":true,"todos":[{"id":"a","status":"in_progress"}]}`}, "Nothing has changed.", "- [>] a: read it\n- [ ] 2: write it\n0 of 2 completed."},
		"an id twice":           {[]string{`{"todos":[{"id":"a","content":"x"},{"id":"a","content":"y"}]}`}, "there twice", "The list is empty."},
		"an empty item":         {[]string{`{"todos":[{"id":"a"}]}`}, "it is empty", "The list is empty."},
		"a status in two words": {[]string{`{"todos":[{"content":"x","status":"in progress"}]}`}, "in_progress", "The list is empty."},
		"too many":              {[]string{long}, "at most 50", "The list is empty."},
		"too long":              {[]string{`{"todos":[{"content":"` + strings.Repeat("x", 301) + `"}]}`}, "at most 300 characters", "The list is empty."},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, must(agenttools.NewTodo()))
			var steps []modeltest.Step
			for _, call := range c.calls {
				steps = append(steps, modeltest.Call("todo", call))
			}
			results := r.turn(steps...)
			if last := results[len(results)-1]; !strings.Contains(last, c.last) {
				t.Errorf("the last result is %q", last)
			}
			if d := cmp.Diff(c.list, loop.TodoList(r.s.Todos)); d != "" {
				t.Errorf("the list (-want +got):\n%s", d)
			}
		})
	}
}

// TestTodoSurvivesACompaction also checks that the model still sees the list then, and not before.
func TestTodoSurvivesACompaction(t *testing.T) {
	r := newRig(t, must(agenttools.NewTodo()))
	r.turn(modeltest.Call("todo", `{"todos":[{"id":"a","content":"water the plants"}]}`))
	for n := range 3 {
		for i := range r.s.Messages {
			r.s.Messages[i].Text += fmt.Sprint(n, strings.Repeat(" filler", 3000))
		}
		r.turn()
	}
	c, err := loop.NewCompressor(nil, 20_000, 1000).Compress(t.Context(), r.s, loop.Aim{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.write(c); err != nil {
		t.Fatal(err)
	}
	if len(r.s.Todos) != 1 {
		t.Fatalf("the list is %+v after the compaction", r.s.Todos)
	}
	hint := ""
	r.play(t.Context(), noting(&hint, modeltest.Text("done")))
	if !strings.Contains(hint, "water the plants") {
		t.Errorf("the model is told %q", hint)
	}
	r.turn(modeltest.Call("todo", `{"merge":true,"todos":[{"id":"a","status":"completed"}]}`))
	r.play(t.Context(), noting(&hint, modeltest.Text("done")))
	if strings.Contains(hint, "water the plants") {
		t.Errorf("the model is told %q after all is done", hint)
	}
	if err := r.write(sessions.Reset{By: "alice"}); err != nil || len(r.s.Todos) != 0 {
		t.Errorf("after /new the list is %+v, %v", r.s.Todos, err)
	}
}
