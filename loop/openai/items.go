package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/responses"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// itemAssembly puts a reply together from the events of a Responses stream. The events repeat themselves: pieces of an
// item, the item, and at the end the whole response. Whichever comes first counts, since imitators leave some out.
type itemAssembly struct {
	b     *provider.Builder
	items map[int64]*item // by output index
}

// item is an output item that is coming in.
type item struct {
	texts map[int64]bool // the content parts of which something came
	call  *provider.Call // if it is one
	done  bool
}

func (a *itemAssembly) at(index int64) *item {
	if a.items[index] == nil {
		a.items[index] = &item{texts: map[int64]bool{}}
	}
	return a.items[index]
}

// take takes the next event.
func (a *itemAssembly) take(e responses.ResponseStreamEventUnion) error {
	switch e.Type {
	case "response.output_item.added":
		if e.Item.Type == "function_call" {
			a.call(e.OutputIndex, e.Item)
		}
	case "response.output_text.delta", "response.refusal.delta": // a refusal is the model's own words to the person
		a.at(e.OutputIndex).texts[e.ContentIndex] = true
		a.b.Text(e.Delta)
	case "response.output_text.done":
		a.text(e.OutputIndex, e.ContentIndex, e.Text)
	case "response.refusal.done":
		a.text(e.OutputIndex, e.ContentIndex, e.Refusal)
	case "response.function_call_arguments.delta":
		a.call(e.OutputIndex, responses.ResponseOutputItemUnion{}).Arguments(e.Delta)
	case "response.function_call_arguments.done":
		a.call(e.OutputIndex, responses.ResponseOutputItemUnion{}).Complete(e.Arguments)
	case "response.output_item.done":
		a.done(e.OutputIndex, e.Item)
	case "response.completed", "response.incomplete":
		a.finish(e.Response)
	case "response.failed":
		return provider.Failed([]byte(e.Response.Error.RawJSON()))
	case "response.cancelled":
		return provider.Network(provider.ErrCut)
	}
	return nil
}

// call returns the call at an index, with what the item says of it.
func (a *itemAssembly) call(index int64, i responses.ResponseOutputItemUnion) *provider.Call {
	at := a.at(index)
	if at.call == nil {
		at.call = a.b.Call("", "")
	}
	if i.CallID != "" {
		at.call.ID = i.CallID
	}
	if i.Name != "" {
		at.call.Name = i.Name
	}
	return at.call
}

// text adds a text that is whole, unless its pieces came before.
func (a *itemAssembly) text(index, content int64, text string) {
	if at := a.at(index); !at.texts[content] && text != "" {
		at.texts[content] = true
		a.b.Text(text)
	}
}

// done takes an item that is complete.
func (a *itemAssembly) done(index int64, i responses.ResponseOutputItemUnion) {
	at := a.at(index)
	if at.done {
		return
	}
	at.done = true
	switch i.Type {
	case "message":
		for n, part := range i.Content {
			a.text(index, int64(n), part.Text+part.Refusal)
		}
	case "function_call":
		a.call(index, i).Complete(i.Arguments.OfString)
	case "reasoning":
		a.reasoning([]byte(i.RawJSON()))
	}
}

// reasoning keeps a reasoning item, if the provider can read it again: it stored nothing. Its status and what is null
// are left out, since the API does not take back all that it gives.
func (a *itemAssembly) reasoning(raw []byte) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return
	}
	delete(fields, "status")
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	if fields["encrypted_content"] == nil {
		return
	}
	if raw, err := json.Marshal(fields); err == nil {
		a.b.Reasoning(raw)
	}
}

func (a *itemAssembly) finish(r responses.Response) {
	for index, i := range r.Output {
		a.done(int64(index), i)
	}
	a.b.Usage = sessions.Usage{
		Input: int(r.Usage.InputTokens), Output: int(r.Usage.OutputTokens),
		Cached: int(r.Usage.InputTokensDetails.CachedTokens), Reasoning: int(r.Usage.OutputTokensDetails.ReasoningTokens),
	}
	switch r.IncompleteDetails.Reason {
	case "max_output_tokens":
		a.b.Finish(loop.FinishLength)
	case "content_filter":
		a.b.Finish(loop.FinishFiltered)
	default:
		a.b.Finish(loop.FinishStop)
	}
}
