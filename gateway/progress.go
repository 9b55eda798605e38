package gateway

import (
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
)

// Progress says what a turn's progress message shows.
type Progress string

const (
	ProgressOff     Progress = "off"     // no progress message
	ProgressNew     Progress = "new"     // a line when another tool is used
	ProgressAll     Progress = "all"     // a line for every call
	ProgressVerbose Progress = "verbose" // and what the model says between its calls
)

const (
	progressLines = 12 // lines shown; older ones are counted
	previewRunes  = 60
	verboseRunes  = 300
	verboseSaid   = 3 // lines shown of what a running call says; 1 in the other modes
)

// progress is what a turn has done so far, folded from its events. A plain value; the bubble guards it.
type progress struct {
	mode    Progress
	started time.Time
	round   int
	calls   int
	lines   []line
	status  string // what goes on between tool calls: thinking, waiting
	usage   sessions.Usage
	todos   []sessions.Todo // shown as a checklist once it changes
}

// line is one tool call, or several equal ones in a row, or a remark.
type line struct {
	call, tool, preview string
	times               int
	running             int
	outcome             sessions.Outcome
	took                time.Duration
	said                string // by the call, while it runs
	remark              string
	task                int // of a sub-agent, from 1; 0 = it is no sub-agent's
}

// apply folds one event.
func (p *progress) apply(e loop.Event) {
	switch e := e.(type) {
	case loop.RoundStarted:
		p.round, p.status = e.Round, "💭 thinking"
	case loop.Replied:
		p.usage = p.usage.Add(e.Usage)
		p.status = ""
		if e.Calls > 0 && p.mode == ProgressVerbose && strings.TrimSpace(e.Text) != "" {
			p.lines = append(p.lines, line{remark: oneLine(e.Text, verboseRunes)})
		}
	case loop.Nudged:
		p.status = "🔎 checking"
	case loop.CallStarted:
		p.calls++
		p.callStarted(e, 0)
	case loop.CallSaid:
		p.callSaid(e, 0)
	case loop.CallEnded:
		p.callEnded(e, 0)
	case loop.SubAgent:
		p.subAgent(e)
	case loop.Changed:
		if list, ok := e.Entry.(sessions.TodoChanged); ok {
			p.todos = list.Items
		}
	case loop.AwaitingApproval:
		p.status = "✋ waiting for your permission"
	case loop.ApprovalOver:
		p.status = ""
	case loop.Retrying:
		p.status = fmt.Sprintf("⏳ the model is not answering (%s); trying again in %s", e.Class, short(e.Wait))
	case loop.FellBack:
		p.lines = append(p.lines, line{remark: fmt.Sprintf("🔀 %s is not answering (%s); going on with %s", e.From, e.Class, e.To)})
	case loop.TakenIn:
		text := strings.TrimPrefix(e.Text, steerMark)
		p.lines = append(p.lines, line{remark: "⏩ taken in: " + oneLine(text, previewRunes)})
	case loop.Compacted:
		if e.Pruned {
			break
		}
		p.lines = append(p.lines, line{remark: fmt.Sprintf("🗜 history compressed: %d → %d tokens", e.Before, e.After)})
	}
}

// subAgent shows what a sub-agent does below the call that it works for.
func (p *progress) subAgent(e loop.SubAgent) {
	within := fmt.Sprintf("%s/%d/", e.CallID, e.Task)
	switch inner := e.Event.(type) {
	case loop.CallStarted:
		p.calls++
		inner.CallID = within + inner.CallID
		p.callStarted(inner, e.Task)
	case loop.CallSaid:
		inner.CallID = within + inner.CallID
		p.callSaid(inner, e.Task)
	case loop.CallEnded:
		inner.CallID = within + inner.CallID
		p.callEnded(inner, e.Task)
	case loop.Replied:
		p.usage = p.usage.Add(inner.Usage)
	case loop.AwaitingApproval, loop.ApprovalOver:
		p.apply(inner)
	}
}

func (p *progress) callStarted(e loop.CallStarted, task int) {
	limit := previewRunes
	if p.mode == ProgressVerbose {
		limit = verboseRunes
	}
	l := line{task: task, call: e.CallID, tool: e.Tool, preview: oneLine(e.Preview, limit), times: 1, running: 1}
	if n := len(p.lines); n > 0 {
		last := &p.lines[n-1]
		same := last.tool == l.tool && last.task == l.task && (last.preview == l.preview || p.mode == ProgressNew)
		if same && last.remark == "" {
			last.times++
			last.running++
			last.call, last.preview = l.call, l.preview
			return
		}
	}
	p.lines = append(p.lines, l)
}

func (p *progress) callSaid(e loop.CallSaid, task int) {
	for i := len(p.lines) - 1; i >= 0; i-- {
		if l := &p.lines[i]; l.call == e.CallID && l.task == task && l.running > 0 {
			l.said = e.Text
			return
		}
	}
}

func (p *progress) callEnded(e loop.CallEnded, task int) {
	for i := len(p.lines) - 1; i >= 0; i-- {
		l := &p.lines[i]
		if l.tool == e.Tool && l.task == task && l.running > 0 && (l.call == e.CallID || l.times > 1) {
			l.running--
			l.outcome, l.took = e.Outcome, l.took+e.Took
			return
		}
	}
}

// render writes the message while the turn runs.
func (p *progress) render(now time.Time) string {
	var rows []string
	head := fmt.Sprintf("**Working** · %s", short(now.Sub(p.started).Truncate(time.Second)))
	if p.round > 1 {
		head += fmt.Sprintf(" · round %d", p.round)
	}
	rows = append(rows, head)
	shown := p.lines
	if hidden := len(shown) - progressLines; hidden > 0 {
		rows = append(rows, fmt.Sprintf("… %d earlier", hidden))
		shown = shown[hidden:]
	}
	for _, l := range shown {
		rows = append(rows, l.render())
		if l.running > 0 {
			rows = append(rows, p.sayings(l.said)...)
		}
	}
	rows = append(rows, checklist(p.todos)...)
	if p.status != "" {
		rows = append(rows, p.status+" …")
	}
	return strings.Join(rows, "  \n")
}

// sayings are the rows for what a running call says. It comes from a program, so whatever looks like a secret is taken out.
func (p *progress) sayings(text string) (rows []string) {
	lines := strings.Split(strings.TrimSpace(loop.WithoutSecrets(text)), "\n")
	most, limit := 1, previewRunes
	if p.mode == ProgressVerbose {
		most, limit = verboseSaid, verboseRunes
	}
	for _, l := range lines[max(0, len(lines)-most):] {
		if l = oneLine(l, limit); l != "" {
			rows = append(rows, "↳ `"+l+"`")
		}
	}
	return rows
}

// summary writes the message once the turn is over: one line.
func (p *progress) summary(o loop.Outcome, now time.Time) string {
	var b strings.Builder
	b.WriteString(heading(o.Reason))
	fmt.Fprintf(&b, " · %s", short(now.Sub(p.started)))
	if p.round > 1 {
		fmt.Fprintf(&b, " · %d rounds", p.round)
	}
	if p.calls == 1 {
		b.WriteString(" · 1 tool call")
	} else if p.calls > 1 {
		fmt.Fprintf(&b, " · %d tool calls", p.calls)
	}
	for _, l := range p.lines {
		if strings.HasPrefix(l.remark, "🗜") {
			b.WriteString(" · " + l.remark)
		}
	}
	return b.String()
}

func heading(r loop.EndReason) string {
	switch r {
	case loop.EndAnswered:
		return "✅ Done"
	case loop.EndStopped:
		return "⏹ Stopped"
	case loop.EndSuperseded:
		return "↪️ Interrupted by a new message"
	case loop.EndModelFailed, loop.EndEmpty, loop.EndInternal, loop.EndCrashed:
		return "⚠️ Failed"
	default:
		return "⚠️ Ended early: " + string(r)
	}
}

func (l line) render() string {
	if l.remark != "" {
		return l.remark
	}
	s := icon(l.tool) + " " + l.tool
	if l.task > 0 {
		s = fmt.Sprintf("↳ %d · %s", l.task, s)
	}
	if l.preview != "" {
		s += " `" + l.preview + "`"
	}
	if l.times > 1 {
		s += fmt.Sprintf(" (×%d)", l.times)
	}
	switch {
	case l.running > 0:
		return s + " …"
	case l.outcome == sessions.OutcomeOK:
		return s + " ✓ " + short(l.took)
	default:
		return s + " ✗ " + string(l.outcome) + ", " + short(l.took)
	}
}

func icon(tool string) string {
	switch tool {
	case "read_file":
		return "📖"
	case "write_file", "patch":
		return "✏️"
	case "search_files":
		return "🔎"
	case "terminal", "process":
		return "💻"
	case "todo":
		return "📋"
	case "clarify":
		return "❓"
	case "memory":
		return "🧠"
	case "session_search":
		return "🔎"
	case "delegate_task":
		return "👥"
	default:
		return "🔧"
	}
}

// oneLine makes a preview fit for an inline code span: one line, no backticks, at most n runes.
func oneLine(s string, n int) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "`", "'")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
