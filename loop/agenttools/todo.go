package agenttools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

const (
	maxTodos       = 50
	maxTodoContent = 300 // runes
)

type todoArguments struct {
	Todos []todoItem `json:"todos,omitempty" jsonschema:"the items; leave it out to read the list"`
	Merge bool       `json:"merge,omitempty" jsonschema:"change and add items instead of replacing the list; default false"`
}

type todoItem struct {
	ID      string              `json:"id,omitempty" jsonschema:"names the item; by default its number"`
	Content string              `json:"content,omitempty" jsonschema:"what is to be done, one short line"`
	Status  sessions.TodoStatus `json:"status,omitempty" jsonschema:"pending, in_progress or completed; default pending"`
}

// NewTodo returns the tool todo, the model's list of what is to be done. The list is part of the session: it survives
// compactions and restarts and ends with /new.
func NewTodo() ([]tools.Tool, error) {
	tool, err := newTool(tools.Spec{
		Name: "todo", Toolset: "todo", Description: todoDescription, Risk: tools.ReadOnly,
		Check: checkTodos, Preview: previewTodos,
	}, nil, todo)
	if err != nil {
		return nil, err
	}
	item := tool.Spec().Schema.Properties["todos"].Items
	item.Properties["status"].Enum = []any{
		string(sessions.TodoPending), string(sessions.TodoInProgress), string(sessions.TodoCompleted),
	}
	return []tools.Tool{tool}, nil
}

// checkTodos finds what a list must not have: too much of it, two items of one id, an item that says nothing.
func checkTodos(arguments json.RawMessage) (found []tools.Problem) {
	var a todoArguments
	if json.Unmarshal(arguments, &a) != nil {
		return nil
	}
	if len(a.Todos) > maxTodos {
		found = append(found, tools.Problem{
			Argument: "todos", Problem: fmt.Sprintf("it has %d items", len(a.Todos)),
			Expected: fmt.Sprintf("at most %d; join small steps", maxTodos),
		})
	}
	seen := map[string]bool{}
	for i, item := range a.Todos {
		at := fmt.Sprintf("todos[%d]", i)
		if item.ID != "" && seen[item.ID] {
			found = append(found, tools.Problem{Argument: at + ".id", Problem: fmt.Sprintf("%q is there twice", item.ID)})
		}
		seen[item.ID] = true
		switch {
		case len([]rune(item.Content)) > maxTodoContent:
			found = append(found, tools.Problem{
				Argument: at + ".content", Problem: "it is too long", Expected: fmt.Sprintf("one line of at most %d characters", maxTodoContent),
			})
		case strings.TrimSpace(item.Content) == "" && (!a.Merge || item.ID == ""):
			found = append(found, tools.Problem{Argument: at + ".content", Problem: "it is empty"})
		}
	}
	return found
}

func previewTodos(arguments json.RawMessage) string {
	var a todoArguments
	if json.Unmarshal(arguments, &a) != nil || len(a.Todos) == 0 {
		return ""
	}
	return count(len(a.Todos), "item")
}

func todo(_ context.Context, call loop.SessionCall, a todoArguments) (tools.Result, []sessions.Entry, error) {
	list := slices.Clone(call.Session.Todos)
	if len(a.Todos) == 0 {
		return tools.Result{Text: loop.TodoList(list)}, nil, nil
	}
	if !a.Merge {
		list = nil
	}
	for _, item := range a.Todos {
		var problem string
		if list, problem = put(list, item); problem != "" {
			return tools.Wrongf("%s", problem), nil, nil
		}
	}
	if len(list) > maxTodos {
		return tools.Wrongf("The list would have %d items; at most %d are possible. Replace it by a shorter one.", len(list), maxTodos), nil, nil
	}
	text := loop.TodoList(list)
	if slices.Equal(list, call.Session.Todos) {
		return tools.Result{Text: text + "\nNothing has changed."}, nil, nil
	}
	return tools.Result{Text: text}, []sessions.Entry{sessions.TodoChanged{Turn: call.Scope.Turn, Items: list}}, nil
}

// put changes the item of that id, or adds it.
func put(list []sessions.Todo, item todoItem) (changed []sessions.Todo, problem string) {
	content := strings.Join(strings.Fields(item.Content), " ")
	i := slices.IndexFunc(list, func(t sessions.Todo) bool { return t.ID == item.ID && item.ID != "" })
	if i < 0 && content == "" {
		return list, fmt.Sprintf("There is no item %q, and a new one needs content. The list is:\n%s", item.ID, loop.TodoList(list))
	}
	if i < 0 {
		i = len(list)
		list = append(list, sessions.Todo{ID: item.ID, Status: sessions.TodoPending})
		if item.ID == "" {
			list[i].ID = freeID(list)
		}
	}
	if content != "" {
		list[i].Content = content
	}
	if item.Status != "" {
		list[i].Status = item.Status
	}
	return list, ""
}

// freeID returns the first number from the list's length on that is no item's id.
func freeID(list []sessions.Todo) string {
	for n := len(list); ; n++ {
		id := strconv.Itoa(n)
		if !slices.ContainsFunc(list, func(t sessions.Todo) bool { return t.ID == id }) {
			return id
		}
	}
}
