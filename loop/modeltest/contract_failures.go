package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/sessions"
)

// page is what a proxy answers when it cannot reach what is behind it.
const page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

// failures checks that whatever goes wrong becomes an error of the right class, without half a reply, and that no error
// says more than it may.
func (s suite) failures(t *testing.T) {
	half := func(r demo.Response) demo.Response {
		r.Text = "Once upon"
		r.Calls = []demo.Call{{Name: "read_file", Arguments: `{"path":"x"}`}}
		return r
	}
	fail := func(status int, code, message string) *demo.Refusal {
		r := demo.Fail(status, message).Refusal
		r.Code = code
		return r
	}
	wait := http.Header{"Retry-After": {"7"}}
	for _, test := range []struct {
		name     string
		response demo.Response
		class    loop.ErrorClass
		wait     time.Duration
	}{
		{"cut", half(demo.Response{Cut: true}), loop.ModelNetwork, 0},
		{"cut at once", demo.Response{Cut: true}, loop.ModelNetwork, 0},
		{"overloaded in the middle", half(demo.Response{Failure: fail(529, "overloaded_error", "Overloaded")}), loop.ModelOverloaded, 0},
		{"rate limit in the middle", half(demo.Response{Failure: fail(429, "rate_limit_exceeded", "slow down")}), loop.ModelRateLimited, 0},
		{"failure at once", demo.Response{Failure: fail(500, "server_error", "oops")}, loop.ModelOverloaded, 0},
		{"a page", demo.Response{Raw: page}, loop.ModelBadRequest, 0},
		{"nothing but comments", demo.Response{Raw: ": hello\n\n"}, loop.ModelNetwork, 0},
		{"garbled", demo.Response{Raw: "event: response.created\ndata: {\"ty\n\n"}, loop.ModelNetwork, 0},
		{"an error in place of a stream", demo.Response{Raw: `{"error":{"type":"overloaded_error","message":"busy"}}`}, loop.ModelOverloaded, 0},
		{"an object in place of a stream", demo.Response{Raw: `{}`}, loop.ModelBadRequest, 0},
		{"429", demo.Response{Refusal: fail(429, "", "slow down"), Header: wait}, loop.ModelRateLimited, 7 * time.Second},
		{"503", demo.Response{Refusal: fail(503, "", "busy"), Header: wait}, loop.ModelOverloaded, 7 * time.Second},
		{"500", demo.Fail(500, "oops"), loop.ModelOverloaded, 0},
		{"529", demo.Fail(529, "Overloaded"), loop.ModelOverloaded, 0},
		{"401", demo.Fail(401, "invalid key "+contractKey), loop.ModelAuth, 0},
		{"403", demo.Fail(403, "not yours"), loop.ModelAuth, 0},
		{"402", demo.Fail(402, "Your credit balance is too low"), loop.ModelQuota, 0},
		{"429 for money", demo.Response{Refusal: fail(429, "insufficient_quota", "You exceeded your current quota")}, loop.ModelQuota, 0},
		{"400 for money", demo.Fail(400, "Your credit balance is too low to access the API"), loop.ModelQuota, 0},
		{"413", demo.Fail(413, "Request exceeds the maximum size"), loop.ModelTooLong, 0},
		{"too long", demo.Fail(400, "prompt is too long: 131073 tokens > 131072 maximum"), loop.ModelTooLong, 0},
		{"filtered", demo.Response{Refusal: fail(400, "content_policy_violation", "Output blocked by content filtering policy")}, loop.ModelFiltered, 0},
		{"400", demo.Fail(400, "no"), loop.ModelBadRequest, 0},
		{"404", demo.Fail(404, "no such model"), loop.ModelBadRequest, 0},
	} {
		bubble(t, test.name, func(t *testing.T) {
			m, _ := s.model(t, demo.Options{}, demo.Steps(test.response))
			reply, err := m.Call(t.Context(), greeting(), nil)
			var failed *loop.ModelError
			if !errors.As(err, &failed) || failed.Class != test.class || failed.Wait != test.wait {
				t.Fatalf("error = %v, want %q and a wait of %v", err, test.class, test.wait)
			}
			if !reflect.DeepEqual(reply, loop.Reply{}) {
				t.Errorf("half a reply was given out: %+v", reply)
			}
			if text := err.Error(); strings.Contains(text, contractKey) || strings.Contains(text, contractHost) {
				t.Errorf("the error says too much: %v", err)
			}
		})
	}
	bubble(t, "window", func(t *testing.T) {
		m, _ := s.model(t, demo.Options{Window: 100}, demo.Steps())
		req := greeting()
		req.Messages[0].Text = strings.Repeat("long ", 200)
		if _, err := m.Call(t.Context(), req, nil); loop.ModelClass(err) != loop.ModelTooLong {
			t.Errorf("error = %v", err)
		}
	})
	bubble(t, "no connection", func(t *testing.T) {
		refused := errors.New("connection refused")
		m := s.connect(t, "user:password@"+contractHost, func(context.Context, string, string) (net.Conn, error) { return nil, refused })
		_, err := m.Call(t.Context(), greeting(), nil)
		if !errors.Is(err, refused) || loop.ModelClass(err) != loop.ModelNetwork || strings.Contains(err.Error(), "password") {
			t.Errorf("error = %v", err)
		}
	})
}

// silence checks that a server that stops talking is given up, and one that says it is alive is not.
func (s suite) silence(t *testing.T) {
	for _, test := range []struct {
		name     string
		response demo.Response
	}{
		{"before the first byte", demo.Response{Wait: 1 << 40}},
		{"in the middle", demo.Response{Text: "Once upon", Hang: true}},
	} {
		bubble(t, test.name, func(t *testing.T) {
			m, _ := s.model(t, demo.Options{}, demo.Steps(test.response))
			if _, err := m.Call(t.Context(), greeting(), nil); loop.ModelClass(err) != loop.ModelNetwork || err == nil {
				t.Errorf("error = %v", err)
			}
		})
	}
	bubble(t, "slow", func(t *testing.T) {
		m, _ := s.model(t, demo.Options{}, demo.Steps(demo.Response{Text: "one two three four five", Pause: 2 * time.Minute}))
		if reply := must(t, m, greeting()); reply.Message.Text != "one two three four five" {
			t.Errorf("reply = %+v", reply)
		}
	})
}

// reasoning checks that a provider gets its reasoning back, unchanged and in its place, and that no other does.
func (s suite) reasoning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := demo.Response{
			Reasoning: "The file is <x> & y.", Text: "I look.", Calls: []demo.Call{{Name: "read_file", Arguments: `{"path":"x"}`}},
		}
		server := demo.NewScripted(demo.Options{APIKey: contractKey, Delay: -1, Reasoning: demo.ReasoningSigned},
			demo.Steps(answer, answer, demo.Say("Done."), demo.Say("Done.")))
		dial := Serve(t, server)
		m, other := s.connect(t, contractHost, dial), s.connect(t, "other.test", dial)
		req, proof := greeting(), ""
		for range 2 {
			reply := must(t, m, req)
			if len(reply.Message.Reasoning) != 1 {
				t.Fatalf("reasoning = %+v", reply.Message.Reasoning)
			}
			proof = longest(t, reply.Message.Reasoning[0].Data)
			req = answered(req, reply)
		}
		req.Messages = stored(t, req.Messages)
		must(t, m, req)
		must(t, other, req)
		if refused := server.Refused(); len(refused) > 0 {
			t.Fatal(refused)
		}
		requests := server.Requests()
		if mine := string(requests[2].Body); !strings.Contains(mine, proof) {
			t.Errorf("the reasoning %s did not come back: %s", proof, mine)
		}
		if foreign := string(requests[3].Body); strings.Contains(foreign, proof) {
			t.Errorf("the reasoning %s went to another provider: %s", proof, foreign)
		}
	})
}

// lostReasoning checks that a conversation goes on when its provider cannot read its own reasoning any more.
func (s suite) lostReasoning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := demo.Options{APIKey: contractKey, Delay: -1, Reasoning: demo.ReasoningSigned}
		before := demo.NewScripted(options, demo.Steps(demo.Response{
			Reasoning: "hm hm", Calls: []demo.Call{{Name: "read_file", Arguments: `{"path":"x"}`}},
		}))
		after := demo.NewScripted(options, demo.Steps(demo.Say("Done.")))
		req := greeting()
		req = answered(req, must(t, s.connect(t, contractHost, Serve(t, before)), req))
		if reply := must(t, s.connect(t, contractHost, Serve(t, after)), req); reply.Message.Text != "Done." {
			t.Errorf("reply = %+v", reply)
		}
		if refused := after.Refused(); len(refused) != 1 {
			t.Errorf("refused: %v", refused)
		}
	})
}

// stored returns messages as they come back from a log.
func stored(t *testing.T, in []sessions.Message) (out []sessions.Message) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, out) {
		t.Error("storing changes the messages")
	}
	return out
}

// longest returns the longest string in some JSON.
func longest(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	found := ""
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) > len(found) {
				found = v
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return found
}
