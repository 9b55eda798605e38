package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// scripted is a model that answers by rules: a rule is chosen by the newest user message, and its steps are played by
// how many replies that message has had. So it needs no memory, and conversations in parallel, repeats and restarts
// play right. It refuses a ledger that no provider would take.
type scripted struct {
	rules []rule

	mu     sync.Mutex
	calls  int
	asked  []loop.Request // all requests so far
	failed map[string]int // how often a failing step has failed
	held   chan struct{}  // closed by release
	broken []string
}

// rule answers messages that contain its text.
type rule struct {
	on    string
	steps []modelStep
}

// modelStep is what one model call does: verb lines in order.
type modelStep []string

// parseModel reads the "model" section: "on TEXT" begins a rule, "on hint: TEXT" one for calls with such a hint, each "say", "call", "empty" or "fail" line ends a
// step; lines like "wait", "hold" and "after" belong to the step that follows; "stream" lines are what
// it says beforehand, joined by spaces; "and call" adds a call to the step before.
// A step behind "after TEXT" is played only if the newest tool result contains the text; if not, the model gives up. In
// what it says {result} is that result, {pictures} how many pictures it is shown and the message that they are with, and in a call {file} is the file of a whole result that it names.
func parseModel(text string) (*scripted, error) {
	m := &scripted{failed: map[string]int{}, held: make(chan struct{})}
	var open modelStep
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "":
			continue
		case "on":
			m.rules = append(m.rules, rule{on: rest})
			open = nil
			continue
		}
		if len(m.rules) == 0 {
			return nil, fmt.Errorf("model: %q stands before the first rule", line)
		}
		r := &m.rules[len(m.rules)-1]
		switch verb {
		case "and":
			last := len(r.steps) - 1
			r.steps[last] = append(r.steps[last], rest)
		case "wait", "hold", "stream", "fail", "after":
			open = append(open, line)
		case "say", "call", "empty", "refuse", "again":
			r.steps = append(r.steps, append(open, line))
			open = nil
		default:
			return nil, fmt.Errorf("model: no such step %q", line)
		}
	}
	return m, nil
}

func (m *scripted) Name() string { return "scripted" }

func (m *scripted) Call(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	m.mu.Lock()
	m.calls++
	req.Messages = slices.Clone(req.Messages)
	m.asked = append(m.asked, req)
	if err := loop.CheckLedger(req.Messages); err != nil {
		m.broken = append(m.broken, err.Error())
	}
	m.mu.Unlock()
	step, last := m.step(req)
	var reply loop.Reply
	reply.Message.Role, reply.Finish = sessions.RoleAssistant, loop.FinishStop
	streamed := ""
	for i, line := range step {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "say":
			reply.Message.Text = strings.NewReplacer("{result}", last, "{pictures}", pictures(req)).Replace(expandRepeat(rest))
			onText(strings.TrimPrefix(reply.Message.Text, streamed))
		case "stream":
			piece := expandRepeat(rest)
			if streamed != "" {
				piece = " " + piece
			}
			streamed += piece
			reply.Message.Text = streamed
			onText(piece)
		case "after":
			if !strings.Contains(last, rest) {
				reply.Message.Text = fmt.Sprintf("(I do not see %q in the result)", rest)
				return reply, nil
			}
		case "call":
			name, arguments, _ := strings.Cut(strings.ReplaceAll(rest, "{file}", keptFile.FindString(last)), " ")
			reply.Finish = loop.FinishTools
			reply.Message.ToolCalls = append(reply.Message.ToolCalls, sessions.ToolCall{
				ID: fmt.Sprintf("call-%d-%d", len(req.Messages), i), Name: name, Arguments: arguments,
			})
		case "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				return loop.Reply{}, err
			}
			if err := wait(ctx, time.After(d)); err != nil {
				return loop.Reply{}, err
			}
		case "hold":
			m.mu.Lock()
			held := m.held
			m.mu.Unlock()
			if err := wait(ctx, held); err != nil {
				return loop.Reply{}, err
			}
		case "fail":
			if err := m.fail(rest, len(req.Messages)); err != nil {
				return loop.Reply{}, err
			}
		case "refuse":
			return loop.Reply{}, &loop.ModelError{Class: loop.ErrorClass(rest), Err: errors.New("scripted")}
		}
	}
	reply.Usage = sessions.Usage{Input: size(req) / 4, Output: len(reply.Message.Text) / 4}
	if req.NoTools {
		reply.Message.ToolCalls, reply.Finish = nil, loop.FinishStop
	}
	return reply, nil
}

// pictures says what pictures a request shows.
func pictures(req loop.Request) string {
	var all []string
	for _, i := range req.Images {
		text, _, _ := strings.Cut(req.Messages[i.At].Text, "\n")
		all = append(all, fmt.Sprintf("%s with %q", i.Type, text))
	}
	if all == nil {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// keptFile is where the whole of a result that was cut can be read.
var keptFile = regexp.MustCompile(`results/[\w-]+\.txt`)

// wait blocks until a channel yields or the context ends.
func wait[T any](ctx context.Context, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release lets everything go on that is held now.
func (m *scripted) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.held)
	m.held = make(chan struct{})
}

// step finds what a request is answered with, and the newest tool result.
func (m *scripted) step(req loop.Request) (modelStep, string) {
	newest, replies, last := "", 0, ""
	for _, msg := range req.Messages {
		switch msg.Role {
		case sessions.RoleUser:
			newest, replies = msg.Text, 0
		case sessions.RoleAssistant:
			replies++
		case sessions.RoleTool:
			last = strings.TrimSpace(msg.Text)
		}
	}
	if req.NoTools && m.rule("grace") != nil {
		return m.rule("grace").steps[0], last
	}
	if r := m.hinted(req.Hint); r != nil {
		return r.steps[0], last
	}
	r := m.rule(newest)
	if r == nil {
		return modelStep{"say (nothing is scripted for this)"}, last
	}
	if i := len(r.steps) - 1; replies >= i && r.steps[i][0] == "again" {
		replies = i - 1
	}
	if replies >= len(r.steps) {
		return modelStep{"say (the script is over)"}, last
	}
	return r.steps[replies], last
}

// hinted returns the rule "on hint: TEXT" for a call whose hint contains the text.
func (m *scripted) hinted(hint string) *rule {
	for i, r := range m.rules {
		if text, ok := strings.CutPrefix(r.on, "hint: "); ok && strings.Contains(hint, text) {
			return &m.rules[i]
		}
	}
	return nil
}

// rule returns the rule whose text stands last in a message: the newest of several merged ones.
func (m *scripted) rule(text string) *rule {
	best, at := -1, -1
	for i, r := range m.rules {
		if j := strings.LastIndex(text, r.on); j > at {
			best, at = i, j
		}
	}
	if best < 0 {
		return nil
	}
	return &m.rules[best]
}

// fail fails the first n calls of a step: "2 overloaded".
func (m *scripted) fail(what string, at int) error {
	var n int
	var class string
	if _, err := fmt.Sscanf(what, "%d %s", &n, &class); err != nil {
		return fmt.Errorf("fail %q: %w", what, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprint(what, at)
	if m.failed[key] >= n {
		return nil
	}
	m.failed[key]++
	return &loop.ModelError{Class: loop.ErrorClass(strings.ReplaceAll(class, "_", " ")), Err: errors.New("scripted")}
}

// expandRepeat turns "{100 x some text }" into a hundred times "some text ".
func expandRepeat(s string) string {
	for {
		i := strings.Index(s, "{")
		j := strings.Index(s, "}")
		if i < 0 || j < i {
			return strings.ReplaceAll(s, `\n`, "\n")
		}
		var n int
		if _, err := fmt.Sscanf(s[i:], "{%d x ", &n); err != nil {
			return strings.ReplaceAll(s, `\n`, "\n")
		}
		text := s[i+strings.Index(s[i:], " x ")+3 : j]
		s = s[:i] + strings.Repeat(text, n) + s[j+1:]
	}
}

func size(req loop.Request) int {
	n := len(req.System) + len(req.Tools)
	for _, m := range req.Messages {
		n += len(m.Text)
	}
	return n
}
