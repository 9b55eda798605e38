package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/tools"
)

// TestOnlyTheFirstAnswerIsTaken: what comes after it is an ordinary message, and must not be swallowed.
func TestOnlyTheFirstAnswerIsTaken(t *testing.T) {
	said := func(who, text string) *platforms.Message {
		return &platforms.Message{Origin: platforms.Origin{Sender: platforms.Person{ID: who}}, Text: text}
	}
	for name, c := range map[string]struct {
		answer func(q *pendingQuestion, t *turn) bool
		want   tools.Answer
		err    error
	}{
		"a button":      {func(q *pendingQuestion, _ *turn) bool { return q.choose(2) }, tools.Answer{Text: "b"}, nil},
		"skip":          {func(q *pendingQuestion, _ *turn) bool { return q.choose(0) }, tools.Answer{Note: "the person declined to answer"}, nil},
		"own words":     {func(_ *pendingQuestion, t *turn) bool { return t.answerQuestion(said("alice", " both ")) }, tools.Answer{Text: "both"}, nil},
		"a number":      {func(_ *pendingQuestion, t *turn) bool { return t.answerQuestion(said("alice", "1")) }, tools.Answer{Text: "a"}, nil},
		"no choice":     {func(_ *pendingQuestion, t *turn) bool { return t.answerQuestion(said("alice", "3")) }, tools.Answer{Text: "3"}, nil},
		"somebody else": {func(_ *pendingQuestion, t *turn) bool { return !t.answerQuestion(said("bob", "1")) }, tools.Answer{Note: "nobody answered within an hour"}, nil},
		"stopped":       {func(_ *pendingQuestion, t *turn) bool { t.cancel(loop.ErrStopped); return true }, tools.Answer{}, loop.ErrStopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turn := &turn{requester: "alice"}
				turn.ctx, turn.cancel = context.WithCancelCause(t.Context())
				defer turn.cancel(nil)
				q := &pendingQuestion{turn: turn, choices: []string{"a", "b"}, answer: make(chan tools.Answer, 1)}
				turn.setQuestion(q)
				time.AfterFunc(time.Minute, func() {
					if !c.answer(q, turn) {
						t.Error("it was not taken as expected")
					}
				})
				got, err := q.wait(turn.ctx)
				if got != c.want || err != c.err {
					t.Errorf("the answer is %+v, %v", got, err)
				}
				if turn.answerQuestion(said("alice", "hello")) || q.choose(1) {
					t.Error("a second answer was taken")
				}
			})
		})
	}
}
