package demo

import (
	"fmt"
	"strings"
	"testing"
)

// Building blocks of requests, in JSON.
const (
	sys  = `{"role":"system","content":"You help."}`
	user = `{"role":"user","content":"Hello"}`
	said = `{"role":"assistant","content":"Hi"}`
	tool = `{"type":"function","function":{"name":"read_file","description":"Reads.","parameters":{"type":"object"}}}`
)

func called(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"read_file","arguments":"{}"}}`, id))
	}
	return `{"role":"assistant","tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func oneCall(call string) string { return `{"role":"assistant","tool_calls":[` + call + `]}` }

func answered(id string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":""}`, id)
}

func request(messages ...string) string {
	return `{"model":"m","tools":[` + tool + `],"messages":[` + strings.Join(messages, ",") + `]}`
}

func check(body string) error {
	req, err := Parse([]byte(body))
	if err != nil {
		return err
	}
	return Check(req)
}

func TestValidRequests(t *testing.T) {
	for _, body := range []string{
		request(user),
		request(sys, user),
		request(`{"role":"developer","content":[{"type":"text","text":"You help."}]}`, user),
		request(user, said, user),
		request(sys, user, called("1", "2"), answered("2"), answered("1"), said, user),
		request(user, called("1"), answered("1")),
		request(user, called("1"), answered("1"), called("2"), answered("2"), user),
		request(user, `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"gone","arguments":" {\"a\":1} "}}]}`, answered("1")),
		`{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"tools":[` + tool + `],"tool_choice":"none","messages":[` + user + `]}`,
		`{"model":"m","tools":[` + tool + `],"tool_choice":{"type":"function","function":{"name":"read_file"}},"messages":[` + user + `]}`,
	} {
		if err := check(body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	for _, test := range []struct{ body, why string }{
		{`{`, "cannot be read"},
		{`[]`, "cannot be read"},
		{request(user) + "{}", "something follows"},
		{`{"messages":[` + user + `]}`, "model is missing"},
		{`{"model":"m"}`, "must not be empty"},
		{`{"model":"m","message":[]}`, "unknown field"},
		{request(sys), "nothing to answer"},
		{request(user, said), "nothing to answer"},
		{request(said, user), "begins with a user message"},
		{request(sys, said, user), "begins with a user message"},
		{request(user, sys), "must be the first"},
		{request(sys, sys, user), "must be the first"},
		{request(user, user), "two user messages"},
		{request(user, said, said, user), "two assistant messages"},
		{request(user, called("1"), answered("1"), said, said, user), "two assistant messages"},
		{request(`{"role":"user","content":" "}`), "user message is empty"},
		{request(`{"role":"user"}`), "user message is empty"},
		{request(`{"role":"system","content":""}`, user), "system message is empty"},
		{request(`{"role":"user","content":{"x":1}}`), "string or a list"},
		{request(`{"role":"user","content":[{"type":"image_url"}]}`), "expected a data URL"},
		{request(`{"role":"user","content":[{"type":"input_audio"}]}`), "only parts of type text"},
		{request(`{"role":"human","content":"x"}`), "no role human"},
		{request(user, `{"role":"assistant","content":""}`, user), "assistant message is empty"},
		{request(user, `{"role":"assistant","content":"x","tool_calls":[]}`, user), "empty list"},
		{request(user, called("1"), user), "followed by its result"},
		{request(user, called("1")), `"1" has no result`},
		{request(user, called("1", "2"), answered("1")), `"2" has no result`},
		{request(user, called("1", "2"), answered("1"), user), "2 must be followed"},
		{request(user, called("1"), answered("1"), answered("1")), "answers no open tool call"},
		{request(user, answered("1"), called("1")), "answers no open tool call"},
		{request(user, said, answered("1")), "answers no open tool call"},
		{request(user, called("1"), `{"role":"tool","tool_call_id":"1"}`), "no content"},
		{request(user, called("1", "1"), answered("1"), answered("1")), "is taken"},
		{request(user, called("1"), answered("1"), called("1"), answered("1")), "is taken"},
		{request(user, called(""), answered("")), "no valid id"},
		{request(user, called("call 1"), answered("call 1")), "no valid id"},
		{request(user, oneCall(`{"id":"1","function":{"name":"f","arguments":"{}"}}`), answered("1")), "type function"},
		{request(user, oneCall(`{"id":"1","type":"function","function":{"name":"","arguments":"{}"}}`), answered("1")), "no valid name"},
		{request(user, oneCall(`{"id":"1","type":"function","function":{"name":"a b","arguments":"{}"}}`), answered("1")), "no valid name"},
		{request(user, oneCall(`{"id":"1","type":"function","function":{"name":"f"}}`), answered("1")), "no arguments"},
		{request(user, oneCall(`{"id":"1","type":"function","function":{"name":"f","arguments":""}}`), answered("1")), "no JSON object"},
		{request(user, oneCall(`{"id":"1","type":"function","function":{"name":"f","arguments":"null"}}`), answered("1")), "no JSON object"},
		{request(user, oneCall(`{"id":"1","type":"function","function":{"name":"f","arguments":"[1]"}}`), answered("1")), "no JSON object"},
		{request(user, oneCall(`{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a"}}`), answered("1")), "no JSON object"},
		{request(`{"role":"user","content":"x","tool_calls":[]}`), "only the assistant"},
		{request(`{"role":"user","content":"x","tool_call_id":"1"}`), "only a result"},
		{`{"model":"m","messages":[` + user + "," + called("1") + "," + answered("1") + `]}`, "no tools are declared"},
		{`{"model":"m","tools":[],"messages":[` + user + `]}`, "empty list"},
		{`{"model":"m","tools":[` + tool + "," + tool + `],"messages":[` + user + `]}`, "two tools"},
		{`{"model":"m","tools":[{"type":"function","function":{"name":""}}],"messages":[` + user + `]}`, "no name of a tool"},
		{`{"model":"m","tools":[{"function":{"name":"f"}}],"messages":[` + user + `]}`, "must be function"},
		{`{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"array"}}}],"messages":[` + user + `]}`, "no schema of an object"},
		{`{"model":"m","tool_choice":"none","messages":[` + user + `]}`, "only allowed when tools"},
		{`{"model":"m","tools":[` + tool + `],"tool_choice":"never","messages":[` + user + `]}`, "tool_choice must be"},
		{`{"model":"m","tools":[` + tool + `],"tool_choice":{"type":"function","function":{"name":"x"}},"messages":[` + user + `]}`, "tool_choice must be"},
		{`{"model":"m","stream_options":{},"messages":[` + user + `]}`, "only allowed with stream"},
		{`{"model":"m","max_tokens":0,"messages":[` + user + `]}`, "at least 1"},
		{`{"model":"m","max_tokens":1,"max_completion_tokens":1,"messages":[` + user + `]}`, "exclude each other"},
		{`{"model":"m","n":2,"messages":[` + user + `]}`, "one answer"},
	} {
		err := check(test.body)
		if err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: %v; want %q", test.body, err, test.why)
			continue
		}
		if got := asRefusal(err); got.Status != 400 || got.Type != "invalid_request_error" {
			t.Errorf("%s: %+v", test.body, got)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(request(sys, user, called("1"), answered("1"))))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := Parse(body)
		if err != nil || Check(req) != nil {
			return
		}
		newPlanner().answer(req) // whatever is valid can be answered
	})
}
