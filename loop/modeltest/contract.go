package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Connection is how a model under test reaches its server.
type Connection struct {
	BaseURL, APIKey string
	Dial            Dial
}

// Closer is a model that holds connections.
type Closer interface {
	loop.Model
	Close()
}

// Open makes a model of the mode under test, one that reasons.
type Open func(c Connection) (Closer, error)

// Run checks what every API mode promises, against a server that is as strict as its provider. Each test runs in
// virtual time, where a goroutine that is left behind fails it.
func Run(t *testing.T, open Open) {
	s := suite{open: open}
	for _, part := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Replies", s.replies},
		{"Rounds", s.rounds},
		{"Reasoning", s.reasoning},
		{"LostReasoning", s.lostReasoning},
		{"Request", s.request},
		{"Images", s.images},
		{"Cache", s.cache},
		{"Ledgers", s.ledgers},
		{"Failures", s.failures},
		{"Silence", s.silence},
		{"Cancel", s.cancel},
	} {
		t.Run(part.name, part.test)
	}
}

type suite struct{ open Open }

const (
	contractKey  = "sk-contract-do-not-show"
	contractHost = "model.test"
)

// bubble runs a test in virtual time.
func bubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// model returns a model and the scripted server that it talks to.
func (s suite) model(t *testing.T, options demo.Options, answer func(demo.Request) demo.Response) (Closer, *demo.Scripted) {
	t.Helper()
	options.APIKey, options.Delay, options.Reasoning = contractKey, -1, demo.ReasoningSigned
	server := demo.NewScripted(options, answer)
	return s.connect(t, contractHost, Serve(t, server)), server
}

func (s suite) connect(t *testing.T, host string, dial Dial) Closer {
	t.Helper()
	m, err := s.open(Connection{BaseURL: "http://" + host + "/v1", APIKey: contractKey, Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// listening calls a model and returns, beside the reply, what it said on the way.
func listening(t *testing.T, m loop.Model, req loop.Request) (loop.Reply, string, error) {
	t.Helper()
	var heard strings.Builder
	reply, err := m.Call(t.Context(), req, func(s string) { heard.WriteString(s) })
	return reply, heard.String(), err
}

// must is listening without a failure.
func must(t *testing.T, m loop.Model, req loop.Request) loop.Reply {
	t.Helper()
	reply, heard, err := listening(t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	if heard != reply.Message.Text {
		t.Errorf("the deltas were %q, the text is %q", heard, reply.Message.Text)
	}
	if reply.Message.Role != sessions.RoleAssistant {
		t.Errorf("the role is %q", reply.Message.Role)
	}
	return reply
}

// greeting is a request that begins a conversation.
func greeting() loop.Request {
	return loop.Request{
		System: "You help.",
		Tools: json.RawMessage(`[{"name":"read_file","description":"Reads.","schema":` +
			`{"type":"object","properties":{"path":{"type":"string"},"all":{"type":"boolean"}},"required":["path"]}}]`),
		Messages: []sessions.Message{{Role: sessions.RoleUser, Text: "Hello <you> & all"}},
	}
}

// answered appends a reply and the results of its calls to a conversation.
func answered(req loop.Request, reply loop.Reply) loop.Request {
	req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], reply.Message)
	for _, c := range reply.Message.ToolCalls {
		req.Messages = append(req.Messages, sessions.Message{
			Role: sessions.RoleTool, ToolCallID: c.ID, Text: "the result of " + c.ID,
		})
	}
	return req
}

func (s suite) replies(t *testing.T) {
	usage := &demo.Usage{Input: 70, Output: 30, Cached: 20, Reasoning: 10}
	for _, test := range []struct {
		name     string
		response demo.Response
		text     string
		finish   loop.Finish
	}{
		{"text", demo.Response{Text: "Hello  you,\nhow are you? ü 你好"}, "Hello  you,\nhow are you? ü 你好", loop.FinishStop},
		{"odd pieces", demo.Response{Deltas: []string{" ", "a", "\n\n", "b ", ""}}, " a\n\nb ", loop.FinishStop},
		{"reasoning", demo.Response{Reasoning: "hm hm", Text: "Hi"}, "Hi", loop.FinishStop},
		{"nothing", demo.Response{}, "", loop.FinishStop},
		{"reasoning only", demo.Response{Reasoning: "hm hm"}, "", loop.FinishStop},
		{"length", demo.Response{Text: "Once upon", Finish: "length"}, "Once upon", loop.FinishLength},
		{"filtered", demo.Response{Text: "How to", Finish: "content_filter"}, "How to", loop.FinishFiltered},
		{"keep-alive flood", demo.Response{Alive: 2000, Text: "Hi"}, "Hi", loop.FinishStop},
	} {
		bubble(t, test.name, func(t *testing.T) {
			test.response.Usage = usage
			m, _ := s.model(t, demo.Options{}, demo.Steps(test.response))
			reply := must(t, m, greeting())
			if reply.Message.Text != test.text || reply.Finish != test.finish || len(reply.Message.ToolCalls) > 0 {
				t.Errorf("reply = %+v", reply)
			}
			if u := reply.Usage; u.Input != 70 || u.Output != 30 || u.Cached != 20 {
				t.Errorf("usage = %+v", u)
			}
		})
	}
}

// rounds plays a task: calls, alone and in parallel, and their results, until the answer.
func (s suite) rounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, server := s.model(t, demo.Options{}, demo.Steps(
			demo.Response{Text: "Let me look.", Calls: []demo.Call{
				{ID: "a", Name: "read_file", Arguments: `{"path": "x y"}`}, {ID: "b", Name: "read_file", Arguments: `{"path":"z","all":true}`},
			}},
			demo.Response{Calls: []demo.Call{{ID: "c", Name: "read_file", Arguments: `{"path":""}`}}},
			demo.Response{Calls: []demo.Call{{ID: "d", Name: "read_file", Arguments: ""}}},
			demo.Say("Done."),
		))
		req := greeting()
		var got []string
		for range 3 {
			reply := must(t, m, req)
			if reply.Finish != loop.FinishTools {
				t.Errorf("finish = %q", reply.Finish)
			}
			for _, c := range reply.Message.ToolCalls {
				got = append(got, c.ID+" "+c.Name+" "+c.Arguments)
			}
			req = answered(req, reply)
		}
		want := `a read_file {"path": "x y"}|b read_file {"path":"z","all":true}|c read_file {"path":""}|d read_file `
		if joined := strings.Join(got, "|"); joined != want {
			t.Errorf("calls = %s", joined)
		}
		if last := must(t, m, req); last.Message.Text != "Done." || last.Finish != loop.FinishStop {
			t.Errorf("last reply = %+v", last)
		}
		if refused := server.Refused(); len(refused) > 0 {
			t.Error(refused)
		}
	})
}

// request checks what a request says beside the messages.
func (s suite) request(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, server := s.model(t, demo.Options{}, func(demo.Request) demo.Response { return demo.Say("Hi") })
		req := greeting()
		req.Hint, req.NoTools, req.MaxOutput = "It is noon.", true, 5000
		must(t, m, req)
		req.Tools = nil
		must(t, m, req)
		for i, got := range server.Requests() {
			if got.NoTools() != (i == 0) || got.Declares("read_file") != (i == 0) {
				t.Errorf("request %d: %s", i, got.Body)
			}
			last := got.Messages[len(got.Messages)-1]
			if said, _ := got.LastUser(); said != "Hello <you> & all" || !strings.Contains(last.Text(), "It is noon.") {
				t.Errorf("request %d: it says %q, %q", i, said, last.Text())
			}
			if got.MaxTokens == nil || *got.MaxTokens < req.MaxOutput {
				t.Errorf("request %d has no fitting limit: %s", i, got.Body)
			}
		}
		if req.Messages[0].Text != "Hello <you> & all" {
			t.Error("the history was changed")
		}
		req.Tools = json.RawMessage(`{"name":"x"}`)
		if _, err := m.Call(t.Context(), req, nil); loop.ModelClass(err) != loop.ModelBadRequest {
			t.Errorf("broken declarations: %v", err)
		}
	})
}

// images checks that pictures go with the newest message, before its text, and with no other.
func (s suite) images(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, server := s.model(t, demo.Options{}, func(demo.Request) demo.Response { return demo.Say("A dot.") })
		req := greeting()
		picture := loop.Image{Image: tools.Image{Type: "image/png", Data: dot}, At: len(req.Messages) - 1}
		req.Hint, req.Images = "It is noon.", []loop.Image{picture, picture}
		must(t, m, req)
		for _, got := range server.Requests() {
			last := got.Messages[len(got.Messages)-1]
			if seen := last.Images(); len(seen) != 2 || seen[0].Type != "image/png" || !bytes.Equal(seen[1].Data, dot) {
				t.Errorf("the pictures are %v", seen)
			}
			if said, _ := got.LastUser(); said != "Hello <you> & all" || !strings.Contains(last.Text(), "It is noon.") {
				t.Errorf("it says %q, %q", said, last.Text())
			}
		}
		at := len(server.Requests()) // and they stay where they are
		req.Messages = append(req.Messages,
			sessions.Message{Role: sessions.RoleAssistant, ToolCalls: []sessions.ToolCall{{ID: "a", Name: "look", Arguments: "{}"}}},
			sessions.Message{Role: sessions.RoleTool, ToolCallID: "a", Text: "a dot"})
		must(t, m, req)
		for _, got := range server.Requests()[at:] {
			var seen []string
			for _, message := range got.Messages {
				if n := len(message.Images()); n > 0 {
					seen = append(seen, fmt.Sprintf("%d: %s", n, message.Text()))
				}
			}
			if len(seen) != 1 || seen[0] != "2: Hello <you> & all" {
				t.Errorf("the pictures are with %q", seen)
			}
		}
		if refused := server.Refused(); len(refused) > 0 {
			t.Error(refused)
		}
		req.Images[0].At = len(req.Messages) - 1
		if _, err := m.Call(t.Context(), req, nil); loop.ModelClass(err) != loop.ModelBadRequest {
			t.Errorf("a picture that the assistant would show: %v", err)
		}
	})
}

// dot is a picture of one pixel.
var dot = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU" +
	"\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82")

// cache checks that a long task is read from the provider's cache: the beginning of a prompt does not change, and the
// cache is told to keep it where it has to be told.
func (s suite) cache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, server := s.model(t, demo.Options{}, func(demo.Request) demo.Response {
			return demo.Response{Reasoning: "hm", Text: "Next.", Calls: []demo.Call{{Name: "read_file", Arguments: `{"path":"x"}`}}}
		})
		req := greeting()
		req.System = strings.Repeat("You help. ", 200)
		var sum sessions.Usage
		for range 20 {
			req.Hint = "It is " + strings.Repeat("I", len(req.Messages)) + " o'clock."
			reply := must(t, m, req)
			sum = sum.Add(reply.Usage)
			req = answered(req, reply)
		}
		if sum.Cached*10 < sum.Input*9 {
			t.Errorf("only %d of %d tokens came from the cache", sum.Cached, sum.Input)
		}
		if refused := server.Refused(); len(refused) > 0 {
			t.Error(refused)
		}
	})
}

// cancel checks that a call ends at once, with the cause, wherever it stands.
func (s suite) cancel(t *testing.T) {
	stopped := loop.ErrStopped
	for _, test := range []struct {
		name     string
		response demo.Response
	}{
		{"before the first byte", demo.Response{Wait: 1 << 40}},
		{"in the middle", demo.Response{Text: "Once upon", Hang: true}},
	} {
		bubble(t, test.name, func(t *testing.T) {
			m, _ := s.model(t, demo.Options{}, demo.Steps(test.response))
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := m.Call(ctx, greeting(), nil)
				done <- err
			}()
			synctest.Wait() // the call is as far as it gets
			cancel(stopped)
			synctest.Wait() // without any time passing
			select {
			case err := <-done:
				if err != stopped {
					t.Errorf("error = %v", err)
				}
			default:
				t.Fatal("the call goes on")
			}
		})
	}
	bubble(t, "while connecting", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		m := s.connect(t, contractHost, func(ctx context.Context, _, _ string) (net.Conn, error) {
			cancel(stopped)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if _, err := m.Call(ctx, greeting(), nil); err != stopped {
			t.Errorf("error = %v", err)
		}
	})
}
