package openai

import (
	"encoding/json"

	chat "github.com/sashabaranov/go-openai"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
)

// request words a conversation for chat completions, but for messages and tools: see wording. The same beginning of a
// conversation gives the same bytes.
func (m completions) request(c provider.Conversation) chat.ChatCompletionRequest {
	out := chat.ChatCompletionRequest{
		Model:         m.config.Model,
		Stream:        true,
		StreamOptions: &chat.StreamOptions{IncludeUsage: true},
	}
	if m.config.Reasoning == loop.ReasoningEffort {
		out.MaxCompletionTokens, out.ReasoningEffort = c.MaxOutput, m.config.Effort
	} else {
		//lint:ignore SA1019 deprecated at OpenAI, but the only name that most imitators know
		out.MaxTokens = c.MaxOutput
	}
	if c.NoTools {
		out.ToolChoice = "none"
	}
	return out
}

// hasList tells whether a body is an object that has a list with something in it under a name.
func hasList(body []byte, name string) bool {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	return json.Unmarshal(body, &object) == nil && json.Unmarshal(object[name], &list) == nil && len(list) > 0
}
