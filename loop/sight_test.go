package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/modeltest"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// TestPictures: a model that sees is shown the pictures of this turn, in every round where they came; a fallback that does
// not is told of them, and the rest of the turn goes on as ever.
func TestPictures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{t: t, s: &sessions.Session{Key: "k"}}
		say := func(turn string, pictures ...string) {
			m := sessions.Message{Role: sessions.RoleUser, Text: "look"}
			for _, p := range pictures {
				m.Pictures = append(m.Pictures, sessions.Picture{File: "attachments/" + p, Digest: p})
			}
			j.must(sessions.TurnStarted{Turn: turn, Requester: "u", At: time.Now()}, sessions.UserMessage{Turn: turn, Message: m})
		}
		say("t0", "old")
		j.must(sessions.AssistantMessage{Turn: "t0", Message: sessions.Message{Role: sessions.RoleAssistant, Text: "seen"}},
			sessions.TurnEnded{Turn: "t0", Reason: "answered", At: time.Now()})
		say("t1", "one", "gone", "two")
		eye := model("eye", modeltest.Call("echo", `{"text":"1"}`), modeltest.Fail(loop.ModelQuota, 0))
		blind := model("blind", modeltest.Text("done"))
		r := &loop.Runner{Model: loop.NewChain(loop.Link{Model: eye, Profile: loop.Profile{Vision: true}}, loop.Link{Model: blind})}
		if !r.Sees() {
			t.Error("the runner does not see")
		}
		out := r.Run(t.Context(), loop.Turn{
			ID: "t1", Journal: j, Tools: registry(t, echo(t)), Scope: tools.Scope{},
			See: func(_ context.Context, p sessions.Picture) (tools.Image, error) {
				if p.Digest == "gone" {
					return tools.Image{}, errors.New("it is gone")
				}
				return tools.Image{Type: "image/png", Data: []byte(p.Digest)}, nil
			},
		})
		if out.Reason != loop.EndAnswered || len(eye.Requests()) != 2 || len(blind.Requests()) != 1 {
			t.Fatalf("outcome %+v", out)
		}
		for i, req := range eye.Requests() {
			var shown []string
			for _, image := range req.Images {
				shown = append(shown, string(image.Data))
				if image.At != 2 {
					t.Errorf("request %d shows %s with message %d", i, image.Data, image.At)
				}
			}
			if got := strings.Join(shown, " "); got != "one two" || strings.Contains(req.Hint, "cannot see") {
				t.Errorf("request %d shows %q, hint %q", i, got, req.Hint)
			}
		}
		if req := blind.Requests()[0]; len(req.Images) != 0 || !strings.Contains(req.Hint, "you cannot see them") {
			t.Errorf("the blind one is shown %d pictures, hint %q", len(req.Images), req.Hint)
		}
	})
}
