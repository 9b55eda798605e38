package chattools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

const longestPrompt = 8_000 // bytes of a job's prompt

type cronjobArguments struct {
	Action   string   `json:"action" jsonschema:"add, list, remove, pause, resume, or run (now)"`
	Job      int      `json:"job,omitempty" jsonschema:"number of the job; for all but add and list"`
	Schedule string   `json:"schedule,omitempty" jsonschema:"when, for add: a cron expression of five fields, 'every 2h', 'in 30m', or a date with a time"`
	Prompt   string   `json:"prompt,omitempty" jsonschema:"what is to be done, for add; it must say everything, because a run remembers nothing of this conversation"`
	Name     string   `json:"name,omitempty" jsonschema:"a few words that name it"`
	Chat     string   `json:"chat,omitempty" jsonschema:"where the answers go, if not here: a name or an id as for send_message"`
	TimeZone string   `json:"time_zone,omitempty" jsonschema:"as in Europe/Berlin; left out = the one that is set"`
	Toolsets []string `json:"toolsets,omitempty" jsonschema:"what it may use at most; left out = everything that jobs may use"`
	MaxTurns int      `json:"max_turns,omitempty" jsonschema:"model calls of a run at most"`
}

func newCronjob(desk Desk) (tools.Tool, error) {
	tool, err := tools.New(tools.Spec{
		Name: "cronjob", Toolset: Jobs, Description: cronjobDescription, Risk: tools.Outside,
		Check: checkJob, Judge: judgeJob, Preview: previewJob, Details: detailJob,
	}, func(ctx context.Context, scope tools.Scope, a cronjobArguments) (tools.Result, error) {
		var done, problem string
		var err error
		switch a.Action {
		case "list":
			done, err = desk.ListJobs(ctx, scope)
		case "add":
			done, problem, err = desk.AddJob(ctx, scope, Job{
				Schedule: a.Schedule, Prompt: a.Prompt, Name: a.Name, Chat: a.Chat, Zone: a.TimeZone, Toolsets: a.Toolsets, MaxTurns: a.MaxTurns,
			})
		default:
			done, problem, err = desk.ChangeJob(ctx, scope, a.Action, a.Job)
		}
		if problem != "" {
			return tools.Wrongf("%s", problem), err
		}
		return tools.Result{Text: done}, err
	})
	if err != nil {
		return nil, err
	}
	actions := []any{"add", "list"}
	for _, change := range Changes() {
		actions = append(actions, change)
	}
	tool.Spec().Schema.Properties["action"].Enum = actions
	return tool, nil
}

func readJob(arguments json.RawMessage) (a cronjobArguments) {
	_ = json.Unmarshal(arguments, &a) // they match the schema
	return a
}

func checkJob(arguments json.RawMessage) (found []tools.Problem) {
	a := readJob(arguments)
	wrong := func(argument, problem, expected string) {
		found = append(found, tools.Problem{Argument: argument, Problem: problem, Expected: expected})
	}
	switch {
	case a.Action == "add":
		if strings.TrimSpace(a.Schedule) == "" {
			wrong("schedule", "it is empty", "when the job is to run")
		}
		if strings.TrimSpace(a.Prompt) == "" {
			wrong("prompt", "it is empty", "what is to be done")
		}
		if len(a.Prompt) > longestPrompt {
			wrong("prompt", "it is too long", fmt.Sprintf("at most %d bytes", longestPrompt))
		}
		if a.MaxTurns < 0 {
			wrong("max_turns", "it is negative", "how many model calls a run may make")
		}
	case slices.Contains(Changes(), a.Action) && a.Job < 1:
		wrong("job", "it is missing", "the number of a job, as list shows it")
	}
	return found
}

// judgeJob lets a call through that only looks.
func judgeJob(_ tools.Scope, arguments json.RawMessage) tools.Judgement {
	if readJob(arguments).Action == "list" {
		return tools.Judgement{Verdict: tools.Allow}
	}
	return tools.Judgement{}
}

func previewJob(arguments json.RawMessage) string {
	switch a := readJob(arguments); a.Action {
	case "list":
		return "list"
	case "add":
		return fmt.Sprintf("add, %s: %s", a.Schedule, a.Prompt)
	default:
		return fmt.Sprintf("%s job %d", a.Action, a.Job)
	}
}

// detailJob says all that a call would do, for the person who is asked.
func detailJob(arguments json.RawMessage) string {
	a := readJob(arguments)
	if a.Action != "add" {
		return previewJob(arguments)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "a job, %s", a.Schedule)
	for _, more := range []struct{ what, value string }{
		{"time zone", a.TimeZone}, {"answers to", a.Chat}, {"with", strings.Join(a.Toolsets, ", ")},
	} {
		if more.value != "" {
			fmt.Fprintf(&b, "\n%s: %s", more.what, more.value)
		}
	}
	return b.String() + "\n" + a.Prompt
}
