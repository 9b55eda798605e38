package openai

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// minOutput is the least output limit that the Responses API takes.
const minOutput = 16

// responsesMode is the Responses mode. Nothing is stored at the provider: each request holds the whole conversation,
// encrypted reasoning included.
type responsesMode struct{ config Config }

// Send implements provider.Mode.
func (m responsesMode) Send(x *provider.Exchange, c provider.Conversation, b *provider.Builder) error {
	options := []option.RequestOption{
		option.WithBaseURL(m.config.BaseURL), option.WithHTTPClient(x), option.WithMaxRetries(0),
	}
	if m.config.APIKey != "" {
		options = append(options, option.WithAPIKey(m.config.APIKey))
	}
	service := responses.NewResponseService(options...)
	stream := service.NewStreaming(x.Context(), m.request(c))
	defer stream.Close()
	items := itemAssembly{b: b, items: map[int64]*item{}}
	for stream.Next() {
		if err := items.take(stream.Current()); err != nil {
			return err
		}
	}
	return stream.Err()
}

// Frame implements provider.Mode.
func (responsesMode) Frame(to, event, data []byte) []byte {
	return provider.AppendEvent(to, event, data)
}

// Whole implements provider.Mode. The last event of a stream has the whole response in it, so that event is made of one.
func (responsesMode) Whole(body []byte) []byte {
	if !hasList(body, "output") {
		return nil
	}
	var response struct {
		Status string `json:"status"`
	}
	if json.Unmarshal(body, &response) != nil || response.Status == "" {
		response.Status = "completed"
	}
	return fmt.Appendf(nil, `{"type":"response.%s","response":%s}`, response.Status, body)
}

// request words a conversation for the Responses API. The same beginning of a conversation gives the same bytes.
func (m responsesMode) request(c provider.Conversation) responses.ResponseNewParams {
	out := responses.ResponseNewParams{Model: m.config.Model, Store: param.NewOpt(false)}
	if c.System != "" {
		out.Instructions = param.NewOpt(c.System)
	}
	if m.config.Reasoning == loop.ReasoningEffort {
		out.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
		out.Reasoning.Effort = shared.ReasoningEffort(m.config.Effort)
	}
	if c.MaxOutput > 0 {
		out.MaxOutputTokens = param.NewOpt(int64(max(c.MaxOutput, minOutput)))
	}
	for _, t := range c.Tools {
		out.Tools = append(out.Tools, responses.ToolUnionParam{OfFunction: wireTool(t)})
	}
	if c.NoTools {
		out.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptionsNone)
	}
	for i, message := range c.Noted() {
		items := wireItems(message)
		if images := c.ImagesAt(i); len(images) > 0 {
			m := items[0].OfMessage
			m.Content.OfInputItemContentList = inputParts(images, m.Content.OfString.Value)
			m.Content.OfString = param.Opt[string]{}
		}
		out.Input.OfInputItemList = append(out.Input.OfInputItemList, items...)
	}
	return out
}

func inputParts(images []provider.Image, text string) (parts responses.ResponseInputMessageContentListParam) {
	for _, i := range images {
		part := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
		part.OfInputImage.ImageURL = param.NewOpt(i.URL())
		parts = append(parts, part)
	}
	return append(parts, responses.ResponseInputContentParamOfInputText(text))
}

// wireTool declares a function whose schema stays as it is: without strict, no field is made required.
func wireTool(t provider.Tool) *responses.FunctionToolParam {
	tool := &responses.FunctionToolParam{Name: t.Name, Strict: param.NewOpt(false)}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	var schema map[string]json.RawMessage
	if json.Unmarshal(t.Schema, &schema) != nil || schema == nil {
		schema = map[string]json.RawMessage{"type": json.RawMessage(`"object"`), "properties": json.RawMessage(`{}`)}
	}
	tool.Parameters = make(map[string]any, len(schema))
	for name, value := range schema {
		tool.Parameters[name] = value
	}
	return tool
}

func wireItems(m sessions.Message) []responses.ResponseInputItemUnionParam {
	switch m.Role {
	case sessions.RoleTool:
		output := responses.ResponseInputItemParamOfFunctionCallOutput(m.Text)
		output.OfFunctionCallOutput.CallID = param.NewOpt(m.ToolCallID)
		return []responses.ResponseInputItemUnionParam{output}
	case sessions.RoleUser:
		return []responses.ResponseInputItemUnionParam{
			responses.ResponseInputItemParamOfMessage(m.Text, responses.EasyInputMessageRoleUser),
		}
	}
	var items []responses.ResponseInputItemUnionParam
	for _, part := range provider.Parts(m) {
		switch {
		case part.Opaque != nil:
			items = append(items, param.Override[responses.ResponseInputItemUnionParam](part.Opaque))
		case part.Call != nil:
			items = append(items, responses.ResponseInputItemParamOfFunctionCall(part.Call.Arguments, part.Call.ID, part.Call.Name))
		default:
			items = append(items, responses.ResponseInputItemParamOfMessage(part.Text, responses.EasyInputMessageRoleAssistant))
		}
	}
	return items
}
