package demo

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// planner is what the demonstration model has in place of intelligence: rules that look at what a person asked and at
// what the tools have answered since. It remembers nothing of a conversation, since each request holds all of it.
type planner struct {
	rules []rule
	once  once
}

// rule says what to do with messages that match.
type rule struct {
	pattern *regexp.Regexp
	plan    func(t turn, args []string) Response // args are the groups of the pattern
}

func newPlanner() *planner {
	p := &planner{}
	p.rules = append(p.rules, toolRules()...)
	p.rules = append(p.rules, p.troubleRules()...)
	p.rules = append(p.rules, textRules()...)
	return p
}

// Suggestions returns some of what the model understands, for people to try.
func Suggestions() []string {
	return []string{
		"help", "list files", "read notes/todo.txt", "search for ERROR", "run `date`", "run `rm -rf notes`", "write hello.txt: Hello!", "explore", "parallel",
		"markdown", "long", "slow 10", "run `sleep 30`", "fail once", "fail 429", "unknown tool", "broken arguments", "loop", "empty",
	}
}

// turn is the part of a conversation since the newest message of a person.
type turn struct {
	req     Request
	asked   string
	rounds  int      // replies of ours since then
	results []result // of the newest of them
	all     []result // of all of them
}

// result is what a tool answered to a call of ours.
type result struct {
	tool, arguments, text string
}

func readTurn(req Request) turn {
	asked, at := req.LastUser()
	t := turn{req: req, asked: asked}
	calls := map[string]ToolCall{}
	for _, m := range req.Messages[at+1:] {
		switch m.Role {
		case "assistant":
			t.rounds++
			t.results = nil
			for _, c := range m.ToolCalls {
				calls[c.ID] = c
			}
		case "tool":
			c := calls[m.ToolCallID]
			r := result{tool: c.Function.Name, text: m.Text()}
			if c.Function.Arguments != nil {
				r.arguments = *c.Function.Arguments
			}
			t.results = append(t.results, r)
			t.all = append(t.all, r)
		}
	}
	return t
}

// answer implements the model.
func (p *planner) answer(req Request) Response {
	t := readTurn(req)
	if strings.Contains(t.asked, "<transcript>") {
		return Say(notes(t.asked))
	}
	for _, command := range commands(t.asked) {
		for _, r := range p.rules {
			if args := r.pattern.FindStringSubmatch(command); args != nil {
				return r.plan(t, args[1:])
			}
		}
	}
	return Say(fmt.Sprintf("I do not understand %s.\n\n%s", quoteShort(t.asked), help))
}

var (
	speaker    = regexp.MustCompile(`^(?:\[[^\]\n]{1,80}\]|<[^>\n]{1,80}>|@\S+|[\p{L}\w .-]{1,40}:)\s*`)
	politeness = regexp.MustCompile(`(?i)^(?:please|now|can you|could you|would you)[ ,]+`)
)

// commands returns the beginnings of a message where a command may stand: each line, with what follows, as it is and
// without the name of whoever speaks.
func commands(asked string) []string {
	var all []string
	for rest := asked; rest != ""; {
		line := politeness.ReplaceAllString(strings.TrimSpace(rest), "")
		all = append(all, line)
		if plain := speaker.ReplaceAllString(line, ""); plain != line {
			all = append(all, politeness.ReplaceAllString(plain, ""))
		}
		_, rest, _ = strings.Cut(rest, "\n")
	}
	return all
}

// call makes calls, unless that is not possible, in which case it says why.
func (t turn) call(say string, calls ...Call) Response {
	if t.req.NoTools() {
		return t.close()
	}
	for _, c := range calls {
		if !t.req.Declares(c.Name) {
			return Say(fmt.Sprintf("I would call the tool `%s` now, but it is not available in this conversation. %s", c.Name, t.available()))
		}
	}
	return Response{Text: say, Calls: calls}
}

func (t turn) available() string {
	var names []string
	for _, tool := range t.req.Tools {
		names = append(names, "`"+tool.Function.Name+"`")
	}
	if names == nil {
		return "There are no tools here."
	}
	return "There are " + strings.Join(names, ", ") + "."
}

// close is the answer when no more tools may be called: what is known so far.
func (t turn) close() Response {
	var b strings.Builder
	b.WriteString("I may not call more tools now, so this is where it ends.")
	if len(t.all) > 0 {
		last := t.all[len(t.all)-1]
		fmt.Fprintf(&b, " I made %s; the last, `%s`, answered:\n\n%s", count(len(t.all), "tool call"), last.tool, fence(last.text, 600))
	}
	return Say(b.String())
}

// answered returns the first result of the newest round.
func (t turn) answered() result {
	if len(t.results) == 0 {
		return result{text: "(nothing)"}
	}
	return t.results[0]
}

// call returns a call with arguments.
func call(tool string, arguments map[string]any) Call {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return Call{Name: tool, Arguments: "{}"} // not for texts and numbers
	}
	return Call{Name: tool, Arguments: string(raw)}
}

// once remembers what has failed, so that it works the next time. Its method may be called from any goroutine.
type once struct {
	mu   sync.Mutex
	seen map[[32]byte]bool
}

// first tells whether this is the first try of a turn.
func (o *once) first(t turn) bool {
	key := sha256.New()
	_, at := t.req.LastUser()
	for i := range t.req.messages[:max(at, 0)] {
		key.Write(t.req.messages[i])
	}
	key.Write([]byte(t.asked)) // without the note about the time
	o.mu.Lock()
	defer o.mu.Unlock()
	sum := [32]byte(key.Sum(nil))
	if o.seen[sum] {
		delete(o.seen, sum)
		return false
	}
	if o.seen == nil || len(o.seen) > 1000 {
		o.seen = map[[32]byte]bool{}
	}
	o.seen[sum] = true
	return true
}
