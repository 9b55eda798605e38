package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	chat "github.com/sashabaranov/go-openai"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// What stands where the wire format would lose an empty field: go-openai omits empty content and arguments, and
// providers refuse a result without the one and a call without the other.
const (
	emptyText      = "(empty)"
	emptyArguments = "{}"
)

// declaration is a tool as loop.Declare describes it, in no provider's format.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// wireRequest converts a request to chat completions. The same beginning of a conversation gives the same bytes.
func (m *Model) wireRequest(req loop.Request) (chat.ChatCompletionRequest, error) {
	out := chat.ChatCompletionRequest{
		Model:         m.config.Model,
		Stream:        true,
		StreamOptions: &chat.StreamOptions{IncludeUsage: true},
	}
	if wantsCompletionTokens(m.config.Model) {
		out.MaxCompletionTokens = req.MaxOutput
	} else {
		//lint:ignore SA1019 deprecated at OpenAI, but the only name that most imitators know
		out.MaxTokens = req.MaxOutput
	}
	if len(req.Tools) > 0 {
		var declared []declaration
		if err := json.Unmarshal(req.Tools, &declared); err != nil {
			return out, fmt.Errorf("read tool declarations: %w", err)
		}
		for _, d := range declared {
			out.Tools = append(out.Tools, chat.Tool{Type: chat.ToolTypeFunction, Function: &chat.FunctionDefinition{
				Name: d.Name, Description: d.Description, Parameters: d.Schema,
			}})
		}
		if req.NoTools && len(declared) > 0 {
			out.ToolChoice = "none"
		}
	}
	if req.System != "" {
		out.Messages = append(out.Messages, chat.ChatCompletionMessage{Role: chat.ChatMessageRoleSystem, Content: req.System})
	}
	ids := callIDs{used: map[string]bool{}}
	for _, message := range req.Messages {
		out.Messages = append(out.Messages, wireMessage(message, &ids))
	}
	out.Messages = withHint(out.Messages, req.Hint)
	return out, nil
}

func wireMessage(m sessions.Message, ids *callIDs) chat.ChatCompletionMessage {
	out := chat.ChatCompletionMessage{Role: string(m.Role), Content: m.Text}
	if m.Text == "" && m.Role != sessions.RoleAssistant {
		out.Content = emptyText
	}
	if m.Role == sessions.RoleTool {
		out.ToolCallID = ids.result(m.ToolCallID)
	}
	ids.begin(m)
	for _, call := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, chat.ToolCall{
			ID: ids.call(call.ID), Type: chat.ToolTypeFunction,
			Function: chat.FunctionCall{Name: wireName(call.Name), Arguments: wireArguments(call.Arguments)},
		})
	}
	return out
}

// wireName makes a name of a tool that providers take of what a model once wrote. They refuse a history with any other
// name in it, although the call with it was refused already.
func wireName(written string) string {
	clean := strings.Map(func(r rune) rune {
		if isWordByte(r) {
			return r
		}
		return '_'
	}, written)
	return clean[:min(len(clean), 64)]
}

func isWordByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// wireArguments makes a JSON object of what a model once wrote. Providers refuse a history with anything else in it,
// so broken arguments go back as the string that they were.
func wireArguments(written string) string {
	if strings.TrimSpace(written) == "" {
		return emptyArguments
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(written), &object) == nil && object != nil {
		return written
	}
	quoted, err := json.Marshal(map[string]string{"not_json": written})
	if err != nil {
		return emptyArguments
	}
	return string(quoted)
}

// withHint puts a call-time note at the end. It is a user message, or part of the last one: several chat templates
// refuse a system message that is not the first, or two user messages in a row.
func withHint(messages []chat.ChatCompletionMessage, hint string) []chat.ChatCompletionMessage {
	if hint == "" {
		return messages
	}
	note := "[Note from the runtime, not from a person: " + hint + "]"
	if last := len(messages) - 1; last >= 0 && messages[last].Role == chat.ChatMessageRoleUser {
		messages[last].Content += "\n\n" + note
		return messages
	}
	return append(messages, chat.ChatCompletionMessage{Role: chat.ChatMessageRoleUser, Content: note})
}

// wantsCompletionTokens tells which models take the output limit under its newer name only; most imitators of the
// protocol know only the older one.
func wantsCompletionTokens(model string) bool {
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, family) {
			return true
		}
	}
	return false
}
