package agenttools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

const (
	maxChoices  = 4
	maxChoice   = 100  // runes
	maxQuestion = 2000 // runes
	// clarifyTimeout is longer than anybody is waited for, so that the end of the wait is an answer and not an error.
	clarifyTimeout = 2 * time.Hour
)

type clarifyArguments struct {
	Question string   `json:"question" jsonschema:"what the person is asked, in the person's language"`
	Choices  []string `json:"choices,omitempty" jsonschema:"up to four possible answers, each a few words"`
}

// NewClarify returns the tool clarify, which asks the person through the runner's Asker.
func NewClarify() ([]tools.Tool, error) {
	tool, err := newTool(tools.Spec{
		Name: "clarify", Toolset: "clarify", Description: clarifyDescription, Risk: tools.ReadOnly, Timeout: clarifyTimeout,
		Check: checkQuestion,
		Preview: func(arguments json.RawMessage) string {
			var a clarifyArguments
			_ = json.Unmarshal(arguments, &a)
			return a.Question
		},
	}, nil, clarify)
	if err != nil {
		return nil, err
	}
	return []tools.Tool{tool}, nil
}

func checkQuestion(arguments json.RawMessage) (found []tools.Problem) {
	var a clarifyArguments
	if json.Unmarshal(arguments, &a) != nil {
		return nil
	}
	if n := len([]rune(strings.TrimSpace(a.Question))); n == 0 || n > maxQuestion {
		found = append(found, tools.Problem{
			Argument: "question", Problem: fmt.Sprintf("it has %d characters", n), Expected: fmt.Sprintf("1 to %d", maxQuestion),
		})
	}
	if len(a.Choices) > maxChoices {
		found = append(found, tools.Problem{
			Argument: "choices", Problem: fmt.Sprintf("there are %d", len(a.Choices)),
			Expected: "at most four; the person can always answer in other words",
		})
	}
	for i, c := range a.Choices {
		if n := len([]rune(strings.TrimSpace(c))); n == 0 || n > maxChoice {
			found = append(found, tools.Problem{
				Argument: fmt.Sprintf("choices[%d]", i), Problem: fmt.Sprintf("it has %d characters", n),
				Expected: fmt.Sprintf("1 to %d; explain in the question", maxChoice),
			})
		}
	}
	return found
}

func clarify(ctx context.Context, call loop.SessionCall, a clarifyArguments) (tools.Result, []sessions.Entry, error) {
	for i, c := range a.Choices {
		a.Choices[i] = strings.Join(strings.Fields(c), " ")
	}
	answer, err := call.Ask(ctx, tools.Question{Text: strings.TrimSpace(a.Question), Choices: a.Choices})
	switch {
	case err != nil:
		return tools.Result{}, nil, err
	case answer.Text == "":
		return tools.Result{Text: fmt.Sprintf("There is no answer: %s. Do not ask again. Take what is most likely wanted and "+
			"say in your answer what you assumed; leave out what cannot be undone.", answer.Note)}, nil, nil
	}
	return tools.Result{Text: "The person answered: " + answer.Text}, nil, nil
}
