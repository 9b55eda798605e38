package gateway

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/tools"
)

const (
	// questionWait is how long a person may take to answer a question of the model.
	questionWait = time.Hour
	// choiceLabel is how much of a choice a button shows, in runes.
	choiceLabel = 40
)

// pendingQuestion is a question of the model that waits for the person who started the turn.
type pendingQuestion struct {
	id      string
	turn    *turn
	choices []string
	closed  atomic.Bool       // it has its answer, or will get none any more
	answer  chan tools.Answer // holds one
}

// give answers the question and reports whether it did: only the first answer counts.
func (q *pendingQuestion) give(a tools.Answer) bool {
	if !q.closed.CompareAndSwap(false, true) {
		return false
	}
	q.answer <- a
	return true
}

// choose answers with one of the choices, counted from 1; any other number declines.
func (q *pendingQuestion) choose(n int) bool {
	if n < 1 || n > len(q.choices) {
		return q.give(tools.Answer{Note: "the person declined to answer"})
	}
	return q.give(tools.Answer{Text: q.choices[n-1]})
}

// Ask implements tools.Asker: it asks in the chat, by buttons and for free text, and waits. The worker's slot is free
// meanwhile.
func (g *Gateway) Ask(ctx context.Context, question tools.Question) (tools.Answer, error) {
	t := g.turns.get(question.Scope.Turn)
	if t == nil {
		return tools.Answer{Note: "there is nobody to ask"}, nil
	}
	q := &pendingQuestion{id: newID(), turn: t, choices: question.Choices, answer: make(chan tools.Answer, 1)}
	defer g.questions.put(q.id, q)()
	t.typing.pause()
	defer t.typing.resume()

	text := q.text(question.Text)
	t.bubble.settle()
	message, err := g.adapters[t.address.Platform].Send(ctx, t.address, platforms.Outgoing{
		Text: text, Key: q.id, Class: platforms.PriorityApproval, Buttons: q.buttons(),
	})
	if err != nil && platforms.ClassOf(err) != platforms.OutcomeUnknown {
		if ctx.Err() != nil {
			return tools.Answer{}, context.Cause(ctx)
		}
		return tools.Answer{Note: "the question could not be shown to anybody"}, nil
	}
	t.setQuestion(q) // from here on: what was written before the question stood there is no answer to it
	defer t.setQuestion(nil)
	t.await()
	a, err := q.wait(ctx)
	if err != loop.ErrParked { // the platform is not spoken to any more; a button pressed later says that it is closed
		g.replace(t.address, message, text+"\n\n"+closing(a, err))
	}
	if back := t.done(ctx); err == nil {
		err = back
	}
	return a, err
}

// text is the question as the person sees it.
func (q *pendingQuestion) text(question string) string {
	var b strings.Builder
	b.WriteString("❓ " + strings.TrimSpace(question) + "\n\n")
	for i, c := range q.choices {
		fmt.Fprintf(&b, "%d. %s\n", i+1, c)
	}
	if len(q.choices) > 0 {
		b.WriteString("\nPress a button, or answer in your own words.")
	} else {
		b.WriteString("Answer in your own words.")
	}
	return b.String()
}

func (q *pendingQuestion) buttons() [][]platforms.Button {
	var rows [][]platforms.Button
	for i, c := range q.choices {
		label := []rune(c)
		if len(label) > choiceLabel {
			label = append(label[:choiceLabel-1], '…')
		}
		rows = append(rows, []platforms.Button{{Label: string(label), Data: buttonData(verbPick, q.id+":"+itoa(i+1))}})
	}
	return append(rows, []platforms.Button{{Label: "Skip", Data: buttonData(verbPick, q.id+":0")}})
}

// wait blocks until there is an answer, time is over, or the turn is.
func (q *pendingQuestion) wait(ctx context.Context) (tools.Answer, error) {
	timer := time.NewTimer(questionWait)
	defer timer.Stop()
	select {
	case a := <-q.answer:
		return a, nil
	case <-timer.C:
		q.give(tools.Answer{Note: "nobody answered within an hour"})
		return <-q.answer, nil // somebody may have come first
	case <-ctx.Done():
		q.closed.Store(true)
		return tools.Answer{}, context.Cause(ctx)
	}
}

// closing says under a question how it ended.
func closing(a tools.Answer, err error) string {
	switch {
	case err != nil:
		return "No longer needed."
	case a.Text != "":
		return "Answer: " + clip(a.Text, 200)
	default:
		return "Not answered: " + a.Note + "."
	}
}

func (t *turn) setQuestion(q *pendingQuestion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.question = q
}

// answerQuestion takes a message as the answer to the question that waits, and reports whether it did. Only the person
// who started the turn is asked. The number of a choice stands for the choice.
func (t *turn) answerQuestion(m *platforms.Message) bool {
	t.mu.Lock()
	q := t.question
	t.mu.Unlock()
	text := strings.TrimSpace(m.Text)
	if q == nil || m.Sender.ID != t.requester || text == "" {
		return false
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.choices) {
		return q.choose(n)
	}
	return q.give(tools.Answer{Text: text})
}

// questionPart reads "<question>:<choice>".
func questionPart(about string) (id string, choice int) {
	id, n, _ := strings.Cut(about, ":")
	choice, err := strconv.Atoi(n)
	if err != nil {
		choice = 0
	}
	return id, choice
}
