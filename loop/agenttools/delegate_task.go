package agenttools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

const (
	maxTasks       = 10
	maxReport      = 12_000 // bytes of what one sub-agent answers
	delegationTime = 2 * time.Hour
)

const subAgentIdentity = "You are a sub-agent: another assistant has given you one task, and your last message goes back to it as the " +
	"result. You see nothing of its conversation but what stands in the task, and you can ask nobody. Work on your own until the " +
	"task is done or cannot be done. Then answer without a tool call: what you did and found, with the paths, names and numbers " +
	"that are needed to go on, and what is still open or uncertain. Be brief, without a greeting or a repetition of the task."

// Delegation bounds sub-agents.
type Delegation struct {
	MaxIterations int // model calls of one; the ceiling of the whole turn holds besides
	MaxParallel   int // how many work at once
}

type delegateArguments struct {
	Goal    string          `json:"goal,omitempty" jsonschema:"what one sub-agent is to do; instead of tasks"`
	Context string          `json:"context,omitempty" jsonschema:"what all sub-agents must know"`
	Tasks   []delegatedTask `json:"tasks,omitempty" jsonschema:"up to 10 tasks, one sub-agent each; instead of goal"`
	Tools   []string        `json:"tools,omitempty" jsonschema:"names of the tools that they may use; default all that they can have"`
}

type delegatedTask struct {
	Goal    string `json:"goal" jsonschema:"what is to be done"`
	Context string `json:"context,omitempty" jsonschema:"what this sub-agent must know besides"`
}

// all returns the tasks, however they were given.
func (a delegateArguments) all() []delegatedTask {
	if len(a.Tasks) > 0 {
		return a.Tasks
	}
	return []delegatedTask{{Goal: a.Goal}}
}

// NewDelegation returns the tool delegate_task, which lets sub-agents work.
func NewDelegation(d Delegation) ([]tools.Tool, error) {
	tool, err := newTool(tools.Spec{
		Name: "delegate_task", Toolset: "delegation", Description: delegateDescription, Timeout: delegationTime,
		Risk:   tools.ReadOnly, // of the call itself; those of the sub-agents are judged one by one
		Ranged: true, Check: checkDelegation, Preview: previewDelegation,
	}, nil, d.call)
	if err != nil {
		return nil, err
	}
	return []tools.Tool{tool}, nil
}

func checkDelegation(arguments json.RawMessage) (found []tools.Problem) {
	var a delegateArguments
	if json.Unmarshal(arguments, &a) != nil {
		return nil
	}
	switch {
	case a.Goal != "" && len(a.Tasks) > 0:
		found = append(found, tools.Problem{Argument: "goal", Problem: "goal and tasks are both there", Expected: "one of them"})
	case len(a.Tasks) > maxTasks:
		found = append(found, tools.Problem{
			Argument: "tasks", Problem: fmt.Sprintf("there are %d", len(a.Tasks)), Expected: fmt.Sprintf("at most %d", maxTasks),
		})
	}
	for i, task := range a.all() {
		if strings.TrimSpace(task.Goal) == "" {
			argument := "goal"
			if len(a.Tasks) > 0 {
				argument = fmt.Sprintf("tasks[%d].goal", i)
			}
			found = append(found, tools.Problem{Argument: argument, Problem: "it is empty", Expected: "what is to be done"})
		}
	}
	return found
}

func previewDelegation(arguments json.RawMessage) string {
	var a delegateArguments
	_ = json.Unmarshal(arguments, &a)
	if all := a.all(); len(all) == 1 {
		return all[0].Goal
	}
	return count(len(a.Tasks), "task")
}

// call lets the sub-agents work and folds what they answer into one result.
func (d Delegation) call(ctx context.Context, call loop.SessionCall, a delegateArguments) (tools.Result, []sessions.Entry, error) {
	registry, problem := subset(call.PlainTools(), a.Tools)
	if problem != "" {
		return tools.Wrongf("%s", problem), nil, nil
	}
	tasks := a.all()
	outcomes := make([]loop.Outcome, len(tasks))
	spent := make([]sessions.Spent, len(tasks))
	slots := make(chan struct{}, max(d.MaxParallel, 1))
	var working sync.WaitGroup
	for i, task := range tasks {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			outcomes[i] = loop.Outcome{Reason: loop.EndStopped}
			continue
		}
		working.Go(func() {
			defer func() { <-slots }()
			outcomes[i], spent[i] = call.Delegate(ctx, loop.Task{
				Number: i + 1, Goal: assignment(task, a.Context), MaxTurns: d.MaxIterations, Tools: registry,
				System: loop.BuildPrompt(loop.PromptLayers{Identity: subAgentIdentity, WithTools: len(registry.Names()) > 0}),
			})
		})
	}
	working.Wait()
	used := sessions.Spent{}
	for _, s := range spent {
		used = used.Add(s)
	}
	entries := []sessions.Entry{sessions.Delegated{Turn: call.Scope.Turn, Used: used}}
	return report(tasks, outcomes), entries, context.Cause(ctx)
}

// subset returns the tools of those names; none named means all.
func subset(all []tools.Tool, names []string) (registry *tools.Registry, problem string) {
	have := map[string]bool{}
	for _, t := range all {
		have[t.Spec().Name] = true
	}
	for _, name := range names {
		if !have[name] {
			list := make([]string, 0, len(have))
			for _, t := range all {
				list = append(list, t.Spec().Name)
			}
			return nil, fmt.Sprintf("A sub-agent cannot have the tool %q. It can have: %s.", clip(name, 60), strings.Join(list, ", "))
		}
	}
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(t tools.Tool) bool { return !slices.Contains(names, t.Spec().Name) })
	}
	registry, err := tools.NewRegistry(all...)
	if err != nil {
		return nil, err.Error()
	}
	return registry, ""
}

// assignment is what a sub-agent gets to read.
func assignment(task delegatedTask, shared string) string {
	text := strings.TrimSpace(task.Goal)
	for _, more := range []string{shared, task.Context} {
		if more = strings.TrimSpace(more); more != "" {
			text += "\n\n# What you should know\n\n" + more
		}
	}
	return text
}

// report folds what the sub-agents answered into one result. It is a failed one if none of them has anything to tell.
func report(tasks []delegatedTask, outcomes []loop.Outcome) tools.Result {
	var parts []string
	failed := true
	for i, o := range outcomes {
		text := strings.TrimSpace(o.Text)
		if len(text) > maxReport {
			text = strings.ToValidUTF8(text[:maxReport], "") + "\n(The rest is left out: the answer is too long.)"
		}
		switch o.Reason {
		case loop.EndAnswered:
			failed = false
		case loop.EndStopped:
			text = "(This task was stopped before it was done.)"
		case loop.EndModelFailed, loop.EndEmpty, loop.EndInternal:
			text = fmt.Sprintf("(This task failed: %s.)", o.Reason)
		default:
			failed = false
			text = fmt.Sprintf("(This task was not finished; it ended by: %s.)\n\n%s", o.Reason, text)
		}
		if len(tasks) > 1 {
			text = fmt.Sprintf("## Task %d: %s\n\n%s", i+1, clip(strings.Join(strings.Fields(tasks[i].Goal), " "), 100), text)
		}
		parts = append(parts, text)
	}
	return tools.Result{Text: strings.Join(parts, "\n\n"), Failed: failed}
}
