package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// blockAssembly puts a reply together from the events of a Messages stream.
type blockAssembly struct {
	b      *provider.Builder
	blocks map[int64]*block // by index
	counts counts
}

// block is a content block that is coming in.
type block struct {
	call      *provider.Call // if it is one
	input     string         // of the call, as far as its beginning had it
	thinking  strings.Builder
	signature string
}

// counts are the token counts so far. Each event that has some has them from the beginning.
type counts struct{ fresh, created, read, output, thought int64 }

// take takes the next event.
func (a *blockAssembly) take(e sdk.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		a.count(counts{
			u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens,
			u.OutputTokensDetails.ThinkingTokens,
		})
		a.whole(e.Message)
	case "content_block_start":
		a.begin(e.Index, e.ContentBlock)
	case "content_block_delta":
		a.add(e.Index, e.Delta)
	case "content_block_stop":
		a.end(e.Index)
	case "message_delta":
		u := e.Usage
		a.count(counts{
			u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens,
			u.OutputTokensDetails.ThinkingTokens,
		})
		a.finish(string(e.Delta.StopReason))
	}
}

func (a *blockAssembly) at(index int64) *block {
	if a.blocks[index] == nil {
		a.blocks[index] = &block{}
	}
	return a.blocks[index]
}

func (a *blockAssembly) begin(index int64, start sdk.ContentBlockStartEventContentBlockUnion) {
	at := a.at(index)
	switch start.Type {
	case "text":
		a.b.Text(start.Text)
	case "tool_use":
		at.call = a.b.Call(start.ID, start.Name)
		if input := start.JSON.Input.Raw(); input != "{}" {
			at.input = input
		}
	case "thinking":
		at.thinking.WriteString(start.Thinking)
		at.signature = start.Signature
	case "redacted_thinking":
		a.keep(map[string]string{"type": start.Type, "data": start.Data})
	}
}

func (a *blockAssembly) add(index int64, delta sdk.MessageStreamEventUnionDelta) {
	at := a.at(index)
	switch delta.Type {
	case "text_delta":
		a.b.Text(delta.Text)
	case "input_json_delta":
		if at.call != nil {
			at.call.Arguments(delta.PartialJSON)
		}
	case "thinking_delta":
		at.thinking.WriteString(delta.Thinking)
	case "signature_delta":
		at.signature += delta.Signature
	}
}

func (a *blockAssembly) end(index int64) {
	at := a.at(index)
	if at.call != nil {
		at.call.Complete(at.input)
	}
	if at.signature != "" { // without it, it cannot go back
		a.keep(map[string]string{"type": "thinking", "thinking": at.thinking.String(), "signature": at.signature})
	}
}

func (a *blockAssembly) keep(block map[string]string) {
	if raw, err := json.Marshal(block); err == nil {
		a.b.Reasoning(raw)
	}
}

// whole takes a message that is complete already: a stream's beginning has neither content nor a reason to stop.
func (a *blockAssembly) whole(m sdk.Message) {
	for i, c := range m.Content {
		var start sdk.ContentBlockStartEventContentBlockUnion
		if json.Unmarshal([]byte(c.RawJSON()), &start) == nil {
			a.begin(int64(i), start)
			a.end(int64(i))
		}
	}
	a.finish(string(m.StopReason))
}

func (a *blockAssembly) count(c counts) {
	sum := &a.counts
	sum.fresh, sum.created, sum.read = max(sum.fresh, c.fresh), max(sum.created, c.created), max(sum.read, c.read)
	sum.output, sum.thought = max(sum.output, c.output), max(sum.thought, c.thought)
	a.b.Usage = sessions.Usage{
		Input: int(sum.fresh + sum.created + sum.read), Output: int(sum.output), Cached: int(sum.read), Reasoning: int(sum.thought),
	}
}

func (a *blockAssembly) finish(reason string) {
	switch sdk.StopReason(reason) {
	case "":
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		a.b.Finish(loop.FinishLength)
	case sdk.StopReasonRefusal:
		a.b.Finish(loop.FinishFiltered)
	default:
		a.b.Finish(loop.FinishStop)
	}
}
