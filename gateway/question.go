package gateway

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

const (
	// questionWait is how long a person may take to answer a question of the model.
	questionWait = time.Hour
	// choiceLabel is how much of a choice a button shows, in runes.
	choiceLabel = 40
)

// Ask implements tools.Asker: it asks in the chat, by buttons and for free text, and waits.
func (g *Gateway) Ask(ctx context.Context, question tools.Question) (tools.Answer, error) {
	t := g.turns.get(question.Scope.Turn)
	if t == nil {
		return tools.Answer{Note: "there is nobody to ask"}, nil
	}
	call := callOf(question.Scope)
	q := inquiry{
		Asked: sessions.Asked{
			Turn: t.id, Call: call, ID: questionID(t.id, call), Choices: question.Choices, Text: questionText(question), At: time.Now(),
		},
		wait: questionWait, late: "nobody answered within an hour", closing: closing,
	}
	q.buttons = choiceButtons(q.Asked)
	d, err := t.inquire(ctx, q)
	return tools.Answer{Text: d.Answer, Note: d.Note}, err
}

// questionText is the question as the person sees it.
func questionText(q tools.Question) string {
	var b strings.Builder
	b.WriteString("❓ " + strings.TrimSpace(q.Text) + "\n\n")
	for i, c := range q.Choices {
		fmt.Fprintf(&b, "%d. %s\n", i+1, c)
	}
	if len(q.Choices) > 0 {
		b.WriteString("\nPress a button, or answer in your own words.")
	} else {
		b.WriteString("Answer in your own words.")
	}
	return b.String()
}

func choiceButtons(q sessions.Asked) [][]platforms.Button {
	var rows [][]platforms.Button
	for i, c := range q.Choices {
		label := []rune(c)
		if len(label) > choiceLabel {
			label = append(label[:choiceLabel-1], '…')
		}
		rows = append(rows, []platforms.Button{{Label: string(label), Data: buttonData(verbPick, q.ID+":"+itoa(i+1))}})
	}
	return append(rows, []platforms.Button{{Label: "Skip", Data: buttonData(verbPick, q.ID+":0")}})
}

// closing says under a question how it ended.
func closing(d sessions.Decided, err error) string {
	switch {
	case err != nil:
		return "No longer needed."
	case d.Answer != "":
		return "Answer: " + clip(d.Answer, 200)
	default:
		return "Not answered: " + d.Note + "."
	}
}

// picked is the answer of one of the choices, counted from 1; any other number declines.
func picked(q sessions.Question, n int) sessions.Decided {
	if n < 1 || n > len(q.Choices) {
		return sessions.Decided{Note: "the person declined to answer"}
	}
	return sessions.Decided{Answer: q.Choices[n-1]}
}

// choice is the answer of a text: the number of a choice stands for the choice.
func choice(q sessions.Question, text string) sessions.Decided {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Choices) {
		return picked(q, n)
	}
	return sessions.Decided{Answer: text}
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
