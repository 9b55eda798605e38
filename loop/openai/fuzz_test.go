package openai

import (
	"testing"

	"github.com/talaria-agent/talaria/loop/modeltest"
)

func FuzzAnswers(f *testing.F) {
	m, err := New(Config{Model: "m"})
	if err != nil {
		f.Fatal(err)
	}
	modeltest.Answers(f, m,
		say("Hi")+finish("stop")+usageChunk+done,
		deltas(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":[1]}}}]}`)+finish("tool_calls"),
		deltas(`{"reasoning_details":[{"type":"reasoning.text","text":"a"}]}`)+deltas(`{"reasoning_details":[{"type":"reasoning.text","text":"b"}]}`)+finish("stop"),
		`{"choices":[{"message":{"content":[{"text":"x"}]},"finish_reason":"stop"}]}`, "data:[DONE]", "data: {\"choices\":null}\n")
}

func FuzzResponses(f *testing.F) {
	m, err := NewResponses(Config{Model: "gpt-5"})
	if err != nil {
		f.Fatal(err)
	}
	modeltest.Answers(f, m,
		doneItem(0, messageItem("Hi"))+completed(`[]`),
		`data: {"type":"response.output_text.delta","output_index":0,"delta":"Hi"}`+"\n\n"+completed(`[{"type":"message","content":[]}]`),
		`data: {"type":"response.function_call_arguments.delta","output_index":7,"delta":"{}"}`+"\n\n"+completed(`null`),
		`data: {"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`+"\n\n",
		`{"status":"completed","output":[{"type":"function_call","name":"f","arguments":{"x":1}}]}`)
}
