//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/talaria-agent/talaria/loop/demo"
	"github.com/talaria-agent/talaria/sessions"
)

// givenUpText begins what a person sees instead of an answer if the program was killed three times in a turn.
const givenUpText = "The program crashed three times"

// person is somebody who asks one question after the other, each when the last one came to an end.
type person struct {
	seat     seat
	number   int
	asked    []string         // the kinds of the questions
	doubtful []sessions.RowID // answers that were on their way at a kill

	over    bool // the last question came to an end
	givenUp int  // questions that were given up before it
}

// The kinds of questions.
const (
	plain = "plain"
	quick = "quick" // the answer needs a tool call
	long  = "long"  // the answer comes in several messages
)

func (p *person) id(n int) string { return fmt.Sprintf("%03d-%03d", p.number, n) }
func (p *person) last() string    { return p.id(len(p.asked) - 1) }

func (p *person) ask(t *testing.T, chance *rand.Rand) {
	t.Helper()
	kind := []string{plain, plain, quick, quick, quick, long}[chance.IntN(6)]
	p.givenUp, p.over = p.seat.count(givenUpText), false
	p.asked = append(p.asked, kind)
	p.seat.say(t, "asking-"+p.last()+" "+kind)
}

// settled tells whether nothing that was asked is open.
func (s *storm) settled(p *person) bool {
	if !p.over {
		p.over = len(p.asked) == 0 || p.seat.count(ending(p.last(), p.asked[len(p.asked)-1])) > 0 ||
			p.seat.count(givenUpText) > p.givenUp ||
			slices.ContainsFunc(p.doubtful, func(row sessions.RowID) bool { return s.sending[row] == p.last() && p.offers(row) > 0 })
	}
	return p.over
}

// offers counts the buttons that offer to send an answer again.
func (p *person) offers(row sessions.RowID) (n int) {
	for _, m := range p.seat.stage.Visible(p.seat.chat) {
		for _, b := range slices.Concat(m.Buttons...) {
			if strings.Contains(b.Data, string(row)) {
				n++
			}
		}
	}
	return n
}

// answeredBy returns the question that a row answers; one that names none answers the last.
func (p *person) answeredBy(row sessions.Row) string {
	if found := answering.FindSubmatch(row.Payload); found != nil {
		return string(found[1])
	}
	return p.last()
}

// ending is the last thing that is said in an answer.
func ending(id, kind string) string {
	if kind == long {
		return "end-" + id
	}
	return "answer-" + id
}

func (p *person) show(t *testing.T) {
	t.Helper()
	for _, m := range p.seat.stage.Visible(p.seat.chat) {
		t.Logf("  %s: %.120s", m.User, m.Visible)
	}
}

var (
	asking    = regexp.MustCompile(`asking-(\d{3}-\d{3}) (\w+)`)
	answering = regexp.MustCompile(`answer-(\d{3}-\d{3})`)
)

// reply is the model: it answers each question in its own time, after a tool call if the question's kind wants one.
func (s *storm) reply(req demo.Request) demo.Response {
	var asked []string
	called := false
	for _, m := range req.Messages {
		if found := asking.FindStringSubmatch(m.Text()); found != nil && m.Role == "user" {
			asked, called = found, false
		}
		called = called || m.Role == "tool"
	}
	if asked == nil {
		return demo.Fail(http.StatusBadRequest, "nothing was asked")
	}
	id, kind := asked[1], asked[2]
	r := demo.Say("answer-" + id)
	switch {
	case kind == long:
		r = demo.Say("answer-" + id + strings.Repeat("\n\nSome more words, so that this does not fit into one message.", 75) + "\n\nend-" + id)
	case kind == quick && !called:
		arguments, err := json.Marshal(map[string]string{"command": fmt.Sprintf("echo %s >> %q", id, s.effects)})
		if err != nil {
			return demo.Fail(http.StatusInternalServerError, err.Error())
		}
		r = demo.CallTool("terminal", string(arguments))
	}
	r.Wait = time.Duration(rand.IntN(400)) * time.Millisecond
	return r
}
