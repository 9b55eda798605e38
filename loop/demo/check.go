package demo

import (
	"encoding/json"
	"regexp"
	"strings"
)

// toolName is what a tool may be called.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// callID is what the id of a call may be: Anthropic's letters, OpenAI's length.
var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// Check refuses, with a *Refusal, what at least one provider refuses: OpenAI, Anthropic and Gemini behind their
// compatible endpoints, or the chat templates that vLLM and llama.cpp run. In particular
//
//   - a system message that is not the first one;
//   - user and assistant that do not take turns, or a last message to which there is nothing to answer;
//   - a message that says nothing, and an empty list of calls;
//   - a call without valid id and name, with an id that is taken, or with arguments that are no JSON object;
//   - calls that are not followed at once by one result each, results without a call;
//   - calls in the history, or a tool choice, while no tools are declared.
func Check(req Request) error {
	if req.Model == "" {
		return badRequest("model is missing")
	}
	if len(req.Messages) == 0 {
		return badRequest("messages must not be empty")
	}
	if err := checkOptions(req); err != nil {
		return err
	}
	if err := checkTools(req); err != nil {
		return err
	}
	c := checker{req: req, ids: map[string]bool{}}
	for i, m := range req.Messages {
		if problem := c.next(m); problem != "" {
			return badRequest("messages[%d]: %s", i, problem)
		}
	}
	switch {
	case len(c.open) > 0:
		return badRequest("the call %q has no result", c.open[0])
	case c.last != "user" && c.last != "tool":
		return badRequest("the last message is of role %q; there is nothing to answer", c.last)
	}
	return nil
}

func checkOptions(req Request) error {
	switch {
	case req.StreamOptions != nil && !req.Stream:
		return badRequest("stream_options is only allowed with stream")
	case req.MaxTokens != nil && req.MaxCompletionTokens != nil:
		return badRequest("max_tokens and max_completion_tokens exclude each other")
	case req.MaxTokens != nil && *req.MaxTokens < 1, req.MaxCompletionTokens != nil && *req.MaxCompletionTokens < 1:
		return badRequest("the output limit must be at least 1")
	case req.N != nil && *req.N != 1:
		return badRequest("this model gives one answer")
	}
	return nil
}

func checkTools(req Request) error {
	if req.Tools != nil && len(req.Tools) == 0 {
		return badRequest("tools must not be an empty list")
	}
	seen := map[string]bool{}
	for i, t := range req.Tools {
		var schema struct {
			Type string `json:"type"`
		}
		switch {
		case t.Type != "function":
			return badRequest("tools[%d]: the type must be function", i)
		case !toolName.MatchString(t.Function.Name):
			return badRequest("tools[%d]: %q is no name of a tool", i, t.Function.Name)
		case seen[t.Function.Name]:
			return badRequest("tools[%d]: there are two tools %q", i, t.Function.Name)
		case t.Function.Parameters != nil && (json.Unmarshal(t.Function.Parameters, &schema) != nil || schema.Type != "object"):
			return badRequest("tools[%d]: the parameters of %q are no schema of an object", i, t.Function.Name)
		}
		seen[t.Function.Name] = true
	}
	return checkToolChoice(req)
}

func checkToolChoice(req Request) error {
	if len(req.ToolChoice) == 0 || string(req.ToolChoice) == "null" {
		return nil
	}
	if len(req.Tools) == 0 {
		return badRequest("tool_choice is only allowed when tools are declared")
	}
	switch string(req.ToolChoice) {
	case `"none"`, `"auto"`, `"required"`:
		return nil
	}
	var choice struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(req.ToolChoice, &choice) != nil || choice.Type != "function" || !req.Declares(choice.Function.Name) {
		return badRequest("tool_choice must be none, auto, required or a declared function")
	}
	return nil
}

// checker goes through the messages of a request.
type checker struct {
	req  Request
	ids  map[string]bool // of all calls so far
	open []string        // calls that still need a result
	last string          // role of the message before, "" before the first
}

// next checks the next message and returns what is wrong with it.
func (c *checker) next(m Message) string {
	if len(c.open) > 0 && m.Role != "tool" {
		return "the call " + c.open[0] + " must be followed by its result"
	}
	if m.Role != "assistant" && m.ToolCalls != nil {
		return "only the assistant calls tools"
	}
	if m.Role != "tool" && m.ToolCallID != "" {
		return "only a result has a tool_call_id"
	}
	if m.Role != "user" && len(m.Images()) > 0 {
		return "only a user message has pictures"
	}
	var problem string
	switch m.Role {
	case "system", "developer":
		problem = c.system(m)
	case "user":
		problem = c.user(m)
	case "assistant":
		problem = c.assistant(m)
	case "tool":
		problem = c.result(m)
	default:
		problem = "there is no role " + m.Role
	}
	c.last = m.Role
	return problem
}

func blank(m Message) bool { return strings.TrimSpace(m.Text()) == "" }

func (c *checker) system(m Message) string {
	switch {
	case c.last != "":
		return "the system message must be the first"
	case blank(m):
		return "the system message is empty"
	}
	return ""
}

func (c *checker) user(m Message) string {
	switch {
	case c.last == "user":
		return "two user messages in a row"
	case blank(m):
		return "the user message is empty"
	}
	return ""
}

func (c *checker) assistant(m Message) string {
	switch {
	case c.last == "assistant":
		return "two assistant messages in a row"
	case c.last != "user" && c.last != "tool":
		return "a conversation begins with a user message"
	case m.ToolCalls == nil && blank(m):
		return "the assistant message is empty"
	case m.ToolCalls != nil && len(m.ToolCalls) == 0:
		return "tool_calls must not be an empty list"
	}
	for _, call := range m.ToolCalls {
		if problem := c.call(call); problem != "" {
			return problem
		}
		c.ids[call.ID] = true
		c.open = append(c.open, call.ID)
	}
	return ""
}

func (c *checker) call(call ToolCall) string {
	var object map[string]json.RawMessage
	arguments := call.Function.Arguments
	switch {
	case len(c.req.Tools) == 0:
		return "there are tool calls, but no tools are declared"
	case !callID.MatchString(call.ID):
		return "a tool call has no valid id"
	case c.ids[call.ID]:
		return "the id " + call.ID + " of a tool call is taken"
	case call.Type != "function":
		return "the tool call " + call.ID + " is not of type function"
	case !toolName.MatchString(call.Function.Name):
		return "the tool call " + call.ID + " has no valid name"
	case arguments == nil:
		return "the tool call " + call.ID + " has no arguments"
	case json.Unmarshal([]byte(*arguments), &object) != nil || object == nil:
		return "the arguments of the tool call " + call.ID + " are no JSON object"
	}
	return ""
}

func (c *checker) result(m Message) string {
	if m.Content == nil {
		return "the result has no content"
	}
	for i, id := range c.open {
		if id == m.ToolCallID {
			c.open = append(c.open[:i:i], c.open[i+1:]...)
			return ""
		}
	}
	return "the result answers no open tool call: " + m.ToolCallID
}
