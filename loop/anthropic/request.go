package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// markedMessages is how many of the last messages are marked for the cache. With the system prompt that makes four
// marks, the most that the API takes. The oldest of them stands where the last request ended, so that all of that
// request is read from the cache; the newest is where the next one will look.
const markedMessages = 3

// request words a conversation for the Messages API. The same beginning of a conversation gives the same bytes, but for
// the marks, which the cache does not look at.
func (m messages) request(c provider.Conversation) sdk.MessageNewParams {
	out := sdk.MessageNewParams{Model: m.config.Model, MaxTokens: int64(c.MaxOutput), Messages: wireMessages(c)}
	if out.MaxTokens <= 0 {
		out.MaxTokens = DefaultMaxOutput
	}
	if c.System != "" {
		out.System = []sdk.TextBlockParam{{Text: c.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, t := range c.Tools {
		out.Tools = append(out.Tools, sdk.ToolUnionParam{OfTool: wireTool(t)})
	}
	if c.NoTools {
		out.ToolChoice.OfNone = &sdk.ToolChoiceNoneParam{}
	}
	mark(out.Messages)
	if last := len(out.Messages) - 1; c.Note != "" && last >= 0 {
		out.Messages[last].Content = append(out.Messages[last].Content, sdk.NewTextBlock(c.Note))
	}
	m.think(&out, c)
	return out
}

func wireTool(t provider.Tool) *sdk.ToolParam {
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	return tool
}

// wireMessages makes messages of two roles that take turns: results of tools are the beginning of a user's message, and
// pictures stand before the text that they came with, where they are seen best.
func wireMessages(c provider.Conversation) []sdk.MessageParam {
	var out []sdk.MessageParam
	for i, m := range c.Messages {
		if m.Role == sessions.RoleAssistant {
			out = append(out, sdk.NewAssistantMessage(assistantBlocks(m)...))
			continue
		}
		var blocks []sdk.ContentBlockParamUnion
		for _, image := range c.ImagesAt(i) {
			blocks = append(blocks, sdk.NewImageBlockBase64(image.Type, image.Base64))
		}
		if m.Role == sessions.RoleTool {
			blocks = append(blocks, sdk.NewToolResultBlock(m.ToolCallID, m.Text, false))
		} else {
			blocks = append(blocks, sdk.NewTextBlock(m.Text))
		}
		if last := len(out) - 1; last >= 0 && out[last].Role == sdk.MessageParamRoleUser {
			out[last].Content = append(out[last].Content, blocks...)
		} else {
			out = append(out, sdk.NewUserMessage(blocks...))
		}
	}
	return out
}

func assistantBlocks(m sessions.Message) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	for _, part := range provider.Parts(m) {
		switch {
		case part.Opaque != nil:
			blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](part.Opaque))
		case part.Call != nil:
			blocks = append(blocks, sdk.NewToolUseBlock(part.Call.ID, json.RawMessage(part.Call.Arguments), part.Call.Name))
		default:
			blocks = append(blocks, sdk.NewTextBlock(part.Text))
		}
	}
	return blocks
}

// mark marks the last messages for the cache, at their last block that can be marked.
func mark(all []sdk.MessageParam) {
	for i := max(0, len(all)-markedMessages); i < len(all); i++ {
		blocks := all[i].Content
		for j := len(blocks) - 1; j >= 0; j-- {
			if control := blocks[j].GetCacheControl(); control != nil {
				*control = sdk.NewCacheControlEphemeralParam()
				break
			}
		}
	}
}

// think asks for thinking, if that is configured. What is thought counts as output, so the limit grows by it, as far as
// the model can write so much.
func (m messages) think(out *sdk.MessageNewParams, c provider.Conversation) {
	budget := int64(m.config.Thinking())
	limit := out.MaxTokens + budget
	if most := int64(m.config.MostOutput); most > 0 {
		limit = min(limit, most)
	}
	switch {
	case budget == 0:
	case m.config.Reasoning == loop.ReasoningAdaptive:
		out.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
		out.OutputConfig.Effort = sdk.OutputConfigEffort(m.config.Effort)
		out.MaxTokens = limit
	case m.config.Reasoning == loop.ReasoningBudget && thoughtBefore(c.Messages):
		out.Thinking = sdk.ThinkingConfigParamOfEnabled(min(budget, limit/2))
		out.MaxTokens = limit
	}
}

// thoughtBefore tells whether thinking is allowed: in the middle of a task only if the message that called the tools
// begins with its thinking, which it does not if another model wrote it.
func thoughtBefore(all []sessions.Message) bool {
	for i := len(all) - 1; i >= 0; i-- {
		if m := all[i]; m.Role == sessions.RoleAssistant {
			return len(m.ToolCalls) == 0 || len(m.Reasoning) > 0 && m.Reasoning[0].Text == 0 && m.Reasoning[0].Calls == 0
		}
	}
	return true
}
