package openai

import (
	"encoding/json"
	"strings"

	chat "github.com/sashabaranov/go-openai"

	"github.com/talaria-agent/talaria/loop/provider"
)

// request words a conversation for chat completions. The same beginning of a conversation gives the same bytes. No
// content and no arguments are empty here, but for an assistant's: go-openai leaves out empty fields, and providers
// refuse a result without the one and a call without the other.
func (m completions) request(c provider.Conversation) chat.ChatCompletionRequest {
	out := chat.ChatCompletionRequest{
		Model:         m.config.Model,
		Stream:        true,
		StreamOptions: &chat.StreamOptions{IncludeUsage: true},
	}
	if reasons(m.config.Model) {
		out.MaxCompletionTokens = c.MaxOutput
	} else {
		//lint:ignore SA1019 deprecated at OpenAI, but the only name that most imitators know
		out.MaxTokens = c.MaxOutput
	}
	for _, t := range c.Tools {
		out.Tools = append(out.Tools, chat.Tool{Type: chat.ToolTypeFunction, Function: &chat.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: t.Schema,
		}})
	}
	if c.NoTools {
		out.ToolChoice = "none"
	}
	if c.System != "" {
		out.Messages = append(out.Messages, chat.ChatCompletionMessage{Role: chat.ChatMessageRoleSystem, Content: c.System})
	}
	for _, message := range c.Noted() {
		wire := chat.ChatCompletionMessage{Role: string(message.Role), Content: message.Text, ToolCallID: message.ToolCallID}
		for _, call := range message.ToolCalls {
			wire.ToolCalls = append(wire.ToolCalls, chat.ToolCall{
				ID: call.ID, Type: chat.ToolTypeFunction, Function: chat.FunctionCall{Name: call.Name, Arguments: call.Arguments},
			})
		}
		out.Messages = append(out.Messages, wire)
	}
	if last := len(out.Messages) - 1; len(c.Images) > 0 {
		out.Messages[last].MultiContent = chatParts(c.Images, out.Messages[last].Content)
		out.Messages[last].Content = ""
	}
	return out
}

func chatParts(images []provider.Image, text string) (parts []chat.ChatMessagePart) {
	for _, i := range images {
		parts = append(parts, chat.ChatMessagePart{
			Type: chat.ChatMessagePartTypeImageURL, ImageURL: &chat.ChatMessageImageURL{URL: i.URL()},
		})
	}
	return append(parts, chat.ChatMessagePart{Type: chat.ChatMessagePartTypeText, Text: text})
}

// reasons tells which of OpenAI's models reason. They take the output limit of a chat completion under its newer name
// only, while most imitators know only the older one, and they alone have encrypted reasoning to give.
func reasons(model string) bool {
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, family) {
			return true
		}
	}
	return false
}

// hasList tells whether a body is an object that has a list with something in it under a name.
func hasList(body []byte, name string) bool {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	return json.Unmarshal(body, &object) == nil && json.Unmarshal(object[name], &list) == nil && len(list) > 0
}
