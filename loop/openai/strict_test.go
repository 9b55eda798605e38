package openai

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/loop/provider"
	"github.com/talaria-agent/talaria/sessions"
)

// serveStrict returns a model whose server checks what every provider checks, and answers as scripted.
func serveStrict(t *testing.T, options demo.Options, answer func(demo.Request) demo.Response) (*provider.Model, *demo.Scripted) {
	t.Helper()
	s := demo.NewScripted(options, answer)
	return serveHandler(t, s), s
}

func TestStrictEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := serveStrict(t, demo.Options{APIKey: testKey}, demo.Steps(
			demo.Response{Text: "Let me look.", Calls: []demo.Call{
				{ID: "a", Name: "read_file", Arguments: `{"path": "x y"}`}, {ID: "b", Name: "read_file", Arguments: "{}"},
			}},
			demo.Say("Done."),
		))
		req := conversation()
		req.Hint = "It is noon."
		first, err := m.Call(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if first.Finish != loop.FinishTools || len(first.Message.ToolCalls) != 2 || first.Message.ToolCalls[0].Arguments != `{"path": "x y"}` {
			t.Errorf("first reply: %+v", first)
		}
		req.Messages = append(req.Messages, first.Message,
			sessions.Message{Role: sessions.RoleTool, ToolCallID: "a"}, sessions.Message{Role: sessions.RoleTool, ToolCallID: "b", Text: "x"})
		req.NoTools, req.MaxOutput = true, 50
		second, err := m.Call(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if second.Message.Text != "Done." || second.Usage.Input <= first.Usage.Input || second.Usage.Cached*10 < first.Usage.Input*8 {
			t.Errorf("second reply: %+v after %+v", second, first.Usage)
		}
		if refused := s.Refused(); len(refused) > 0 {
			t.Error(refused)
		}
		if got := s.Requests()[1]; !got.NoTools() || !got.Declares("read_file") || *got.MaxTokens != 50 {
			t.Errorf("second request: %+v", got)
		}
	})
}

func TestStrictFailures(t *testing.T) {
	for _, test := range []struct {
		name     string
		response demo.Response
		class    loop.ErrorClass
		wait     time.Duration
	}{
		{"500", demo.Fail(500, "oops"), loop.ModelOverloaded, 0},
		{"429", demo.Response{Refusal: demo.Fail(429, "slow").Refusal, Header: http.Header{"Retry-After": {"4"}}}, loop.ModelRateLimited, 4 * time.Second},
		{"cut", demo.Response{Text: "Half of", Cut: true}, loop.ModelNetwork, 0},
		{"hang", demo.Response{Text: "Half of", Hang: true}, loop.ModelNetwork, 0},
		{"never", demo.Response{Wait: time.Hour}, loop.ModelNetwork, 0},
		{"raw", demo.Response{Raw: "data: {\"error\":{\"message\":\"x\",\"code\":401}}\n\n"}, loop.ModelAuth, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _ := serveStrict(t, demo.Options{}, demo.Steps(test.response))
				_, err := m.Call(t.Context(), hello(), nil)
				var failed *loop.ModelError
				if !errors.As(err, &failed) || failed.Class != test.class || failed.Wait != test.wait {
					t.Errorf("error = %v", err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		m, _ := serveStrict(t, demo.Options{Window: 50}, demo.Steps())
		req := hello()
		req.Messages[0].Text = strings.Repeat("long ", 100)
		if _, err := m.Call(t.Context(), req, nil); loop.ModelClass(err) != loop.ModelTooLong {
			t.Errorf("error = %v", err)
		}
	})
}
