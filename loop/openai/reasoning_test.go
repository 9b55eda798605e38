package openai

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
)

// TestReasoningDetails: what comes in pieces goes back as a whole.
func TestReasoningDetails(t *testing.T) {
	details := func(list string) string { return deltas(`{"content":"","reasoning_details":` + list + `}`) }
	for name, test := range map[string]struct{ stream, want string }{
		"pieces": {
			details(`[{"type":"reasoning.text","text":"a","index":0,"id":null}]`) + details(`[{"type":"reasoning.text","text":"b","index":0}]`) +
				details(`[{"type":"reasoning.text","signature":"s","id":"r","index":0}]`),
			`[{"id":"r","index":0,"signature":"s","text":"ab","type":"reasoning.text"}]`,
		},
		"kinds and indexes": {
			details(`[{"type":"reasoning.summary","summary":"a","index":0},{"type":"reasoning.encrypted","data":"x","index":0}]`) +
				details(`[{"type":"reasoning.encrypted","data":"y","index":0}]`) + details(`[{"type":"reasoning.text","text":"b","index":1}]`),
			`[{"type":"reasoning.summary","summary":"a","index":0},{"type":"reasoning.encrypted","data":"x","index":0},` +
				`{"type":"reasoning.encrypted","data":"y","index":0},{"type":"reasoning.text","text":"b","index":1}]`,
		},
		"nonsense": {details(`{"a":1}`) + details(`[1]`) + details(`"x"`) + details(`null`), `[1]`},
	} {
		m, err := New(Config{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		reply, _, err := modeltest.Play(t, m, test.stream+say("Hi")+finish("stop"))
		if err != nil || len(reply.Message.Reasoning) != 1 {
			t.Fatalf("%s: %+v, %v", name, reply, err)
		}
		if diff := cmp.Diff(`{"reasoning_details":`+test.want+`}`, string(reply.Message.Reasoning[0].Data)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPlainReasoning: some models want their reasoning text back, the others must not get it.
func TestPlainReasoning(t *testing.T) {
	for style, replay := range map[demo.ReasoningStyle]bool{demo.ReasoningShown: false, demo.ReasoningWanted: true} {
		synctest.Test(t, func(t *testing.T) {
			answer := demo.CallTool("read_file", "{}")
			answer.Reasoning = "I should <look>."
			s := demo.NewScripted(demo.Options{Delay: -1, Reasoning: style}, demo.Steps(answer, demo.Say("Done.")))
			m, err := New(Config{BaseURL: "http://model.test/v1", Model: "m", Dial: modeltest.Serve(t, s), ReplayReasoning: replay})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			req := conversation()
			req.Messages = req.Messages[:1]
			reply, err := m.Call(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, reply.Message,
				sessions.Message{Role: sessions.RoleTool, ToolCallID: reply.Message.ToolCalls[0].ID, Text: "x"})
			if _, err := m.Call(t.Context(), req, nil); err != nil || len(s.Refused()) > 0 {
				t.Errorf("%q: %v, %v", style, err, s.Refused())
			}
		})
	}
}

// TestReasoningKeepsTheRest: putting it into a request changes nothing else.
func TestReasoningKeepsTheRest(t *testing.T) {
	m, err := New(Config{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	req := conversation()
	_, without := modeltest.Sent(t, m, req)
	req.Messages[1].Reasoning = []sessions.Opaque{{
		Provider: "chat api.openai.com m", Data: json.RawMessage(`{"reasoning_details":[{"type":"x"}]}`),
	}}
	_, with := modeltest.Sent(t, m, req)
	if strings.Count(string(with), `,"reasoning_details":[{"type":"x"}]}`) != 1 {
		t.Fatalf("the reasoning is not in %s", with)
	}
	var a, b any
	if json.Unmarshal(without, &a) != nil ||
		json.Unmarshal([]byte(strings.Replace(string(with), `,"reasoning_details":[{"type":"x"}]`, "", 1)), &b) != nil {
		t.Fatal("not JSON")
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}
