// Package chattools has the tools that need the gateway: cronjob, for what is to run by itself, and send_message, for
// other chats. They know no platform and no store; what they ask for is judged and done by the gateway (Desk), in the name
// of the person whose turn calls them. They start no goroutine.
package chattools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// The toolsets.
const (
	Jobs      = "jobs"      // cronjob
	Messaging = "messaging" // send_message
)

// Toolsets returns the names of all of them.
func Toolsets() []string { return []string{Jobs, Messaging} }

// Desk is what the gateway does for the tools. What it refuses comes back as a problem, in words for the model; an error is
// trouble of the infrastructure. All methods may be called from any goroutine.
type Desk interface {
	// Chats lists where the person of a call may have messages sent.
	Chats(ctx context.Context, scope tools.Scope) (lines []string, err error)
	// Message returns what has to be written down so that a text is sent to a chat, and that chat's name.
	Message(ctx context.Context, scope tools.Scope, chat, text string) (m sessions.MessageSent, name, problem string, err error)
	// AddJob makes a job and describes it. Of one call it makes one job, however often it is called.
	AddJob(ctx context.Context, scope tools.Scope, job Job) (done, problem string, err error)
	// ListJobs describes the jobs that the person of a call may change.
	ListJobs(ctx context.Context, scope tools.Scope) (list string, err error)
	// ChangeJob does one of the Changes to a job.
	ChangeJob(ctx context.Context, scope tools.Scope, change string, number int) (done, problem string, err error)
}

// Job is what a job is made of.
type Job struct {
	Schedule string
	Prompt   string
	Name     string   // empty = how the prompt begins
	Chat     string   // where the answer goes; empty = where it is made
	Zone     string   // IANA name; empty = as it is set there
	Toolsets []string // empty = all that jobs may use
	MaxTurns int      // 0 = as many as jobs may
}

// What can be done to a job.
const (
	Remove = "remove"
	Pause  = "pause"
	Resume = "resume"
	Run    = "run"
)

// Changes returns all of them.
func Changes() []string { return []string{Remove, Pause, Resume, Run} }

var (
	//go:embed cronjob.md
	cronjobDescription string
	//go:embed send_message.md
	sendDescription string
)

// New makes the tools of some toolsets.
func New(desk Desk, sets ...string) (all []tools.Tool, err error) {
	for _, set := range sets {
		var tool tools.Tool
		switch set {
		case Jobs:
			tool, err = newCronjob(desk)
		case Messaging:
			tool, err = newSendMessage(desk)
		default:
			err = fmt.Errorf("there is no toolset %q", set)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, tool)
	}
	return all, nil
}

const longestMessage = 16_000 // bytes of a message

type sendArguments struct {
	Action  string `json:"action,omitempty" jsonschema:"send, or list to see the chats; default send"`
	Chat    string `json:"chat,omitempty" jsonschema:"where to: a name or an id from the list; here or left out = this chat"`
	Message string `json:"message,omitempty" jsonschema:"the text, Markdown"`
}

// sendMessage is a loop.SessionTool, so that the message is committed with the call's result: it can neither be lost nor
// be sent twice.
type sendMessage struct {
	tools.Tool
	desk Desk
}

func newSendMessage(desk Desk) (tools.Tool, error) {
	plain, err := tools.New(tools.Spec{
		Name: "send_message", Toolset: Messaging, Description: sendDescription, Risk: tools.Outside,
		Check: checkMessage, Judge: judgeMessage, Preview: previewMessage, Details: detailMessage,
	}, func(context.Context, tools.Scope, sendArguments) (tools.Result, error) {
		return tools.Failf("send_message works only within a turn."), nil
	})
	if err != nil {
		return nil, err
	}
	plain.Spec().Schema.Properties["action"].Enum = []any{"send", "list"}
	return sendMessage{plain, desk}, nil
}

func readMessage(arguments json.RawMessage) (a sendArguments) {
	_ = json.Unmarshal(arguments, &a) // they match the schema
	return a
}

func checkMessage(arguments json.RawMessage) (found []tools.Problem) {
	a := readMessage(arguments)
	switch {
	case a.Action == "list":
	case strings.TrimSpace(a.Message) == "":
		found = append(found, tools.Problem{Argument: "message", Problem: "it is empty"})
	case len(a.Message) > longestMessage:
		found = append(found, tools.Problem{Argument: "message", Problem: "it is too long", Expected: fmt.Sprintf("at most %d bytes", longestMessage)})
	}
	return found
}

// judgeMessage lets a call through that only looks, or speaks where the person reads anyway.
func judgeMessage(_ tools.Scope, arguments json.RawMessage) tools.Judgement {
	if a := readMessage(arguments); a.Action == "list" || a.Chat == "" || a.Chat == "here" {
		return tools.Judgement{Verdict: tools.Allow}
	}
	return tools.Judgement{}
}

func previewMessage(arguments json.RawMessage) string {
	a := readMessage(arguments)
	if a.Action == "list" {
		return "the chats"
	}
	if a.Chat == "" {
		a.Chat = "here"
	}
	return fmt.Sprintf("to %s: %s", a.Chat, a.Message)
}

func detailMessage(arguments json.RawMessage) string {
	a := readMessage(arguments)
	return fmt.Sprintf("to %s:\n%s", a.Chat, a.Message)
}

// CallSession implements loop.SessionTool.
func (t sendMessage) CallSession(ctx context.Context, call loop.SessionCall, arguments json.RawMessage) (tools.Result, []sessions.Entry, error) {
	a := readMessage(arguments)
	if a.Action == "list" {
		lines, err := t.desk.Chats(ctx, call.Scope)
		if err != nil {
			return tools.Result{}, nil, err
		}
		return tools.Result{Text: "Messages can be sent to:\n" + strings.Join(lines, "\n")}, nil, nil
	}
	m, name, problem, err := t.desk.Message(ctx, call.Scope, a.Chat, a.Message)
	switch {
	case err != nil:
		return tools.Result{}, nil, err
	case problem != "":
		return tools.Wrongf("%s", problem), nil, nil
	case ctx.Err() != nil: // somebody said stop, or something else: nothing is sent any more
		return tools.Result{}, nil, context.Cause(ctx)
	}
	return tools.Result{Text: fmt.Sprintf("The message is on its way to %s. Do not send it again.", name)}, []sessions.Entry{m}, nil
}
