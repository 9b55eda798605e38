package terminal

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// How many commands there may be in the background.
const (
	maxRunning    = 8  // of one conversation
	maxRunningAll = 64 // of all together
	maxEnded      = 16 // of one conversation that are still known after their end
	maxOutputs    = 64 // of all together whose output is still known after their end
)

// The reasons for which a command in the background is ended.
var (
	errKilled   = errors.New("killed")
	errStopped  = errors.New("stopped by the person")
	errForTime  = errors.New("killed: its time was up")
	errShutdown = errors.New("the program ends")
)

// Processes looks after the commands that run in the background. All of it may be used from any goroutine. A nil one has
// none and takes none.
type Processes struct {
	ledger ledger
	mark   string // begins the marks of all commands
	log    *slog.Logger

	mu      sync.Mutex
	of      map[string][]*job // by conversation, in the order of their beginning
	over    bool
	watch   func(tools.LeftOver) // told of the end of those of which the person wants to know
	running sync.WaitGroup
}

// job is a command in the background.
type job struct {
	tools.LeftRunning
	work    string
	network bool
	earlier bool          // a restart ago
	done    chan struct{} // closed at its end

	// The registry's mutex guards the rest.
	command *running // nil = not started yet
	cancel  context.CancelCauseFunc
	out     *output // nil = not known any more
	ended   bool
	how     string // it ended
	known   bool   // the model has seen that it has ended
	read    int64  // how much of its output the model has seen
}

// NewProcesses returns a Processes that keeps in a folder what is running, to say after a restart what is gone; empty =
// nowhere. The instance names this program's data for as long as it exists: whatever an earlier process of it has left
// running, if that was killed, is killed now.
func NewProcesses(folder, instance string, sandbox Sandbox, log *slog.Logger) (*Processes, error) {
	p := &Processes{ledger: ledger{folder}, mark: instance, log: log, of: map[string][]*job{}}
	if instance != "" {
		p.mark += "."
		sweep(0, p.mark)
		if sandbox.clean != nil {
			sandbox.clean(instance)
		}
	}
	left, err := p.ledger.read()
	if err != nil {
		return nil, err
	}
	for _, l := range left {
		j := &job{LeftRunning: l.LeftRunning, earlier: true, ended: true, how: cmp.Or(l.How, gone), done: make(chan struct{})}
		close(j.done)
		p.of[l.Conversation] = append(p.of[l.Conversation], j)
	}
	return p, nil
}

// gone is how a command ended that was running when the program was.
const gone = "killed by a restart of the program"

func (p *Processes) instance() string {
	if p == nil {
		return ""
	}
	return p.mark
}

// leave starts a command and leaves it running. The output is its own from now on.
func (p *Processes) leave(scope tools.Scope, a arguments, start process, out *output) (tools.Result, error) {
	free := func() { out.root.Close() }
	if p == nil {
		free()
		return tools.Wrongf("Nothing can be left running here. Run the command without `background`."), nil
	}
	j := &job{
		LeftRunning: tools.LeftRunning{
			ID: newID(), Conversation: scope.Conversation, Requester: scope.Requester, Reply: scope.Reply, Command: a.Command,
			Started: time.Now(), Notify: a.Notify,
		},
		work: scope.Work, network: start.network, done: make(chan struct{}), out: out,
	}
	if why := p.enter(j); why != "" {
		free()
		return tools.Wrongf("The command was not started: %s.", why), nil
	}
	err := p.ledger.write(record{LeftRunning: j.LeftRunning})
	var command *running
	if err == nil {
		if command, err = start.begin(); err != nil {
			p.ledger.remove(j.ID)
		}
	}
	if err != nil {
		p.withdraw(j)
		free()
		return tools.Failf("The command could not be started: %v.", err), nil
	}
	lasting, cancel := context.WithCancelCause(context.Background()) // it outlives the call
	stop := func() bool { return false }
	if a.Timeout > 0 {
		timer := time.AfterFunc(time.Duration(min(a.Timeout, maxBackground))*time.Second, func() { cancel(errForTime) })
		stop = timer.Stop
	}
	p.mu.Lock()
	j.command, j.cancel = command, cancel
	over := p.over
	p.mu.Unlock()
	if over { // meanwhile
		cancel(errShutdown)
	}
	go func() {
		defer p.running.Done()
		defer stop()
		p.see(lasting, j, command, out)
	}()
	return tools.Result{Text: fmt.Sprintf("Started in the background as %s. It goes on when your turn ends. `process` shows what it says, waits for it and ends it.", j.ID)}, nil
}

// maxBackground is the longest timeout of a command in the background, in seconds.
const maxBackground = 86400

// newID returns a name for a command in the background: short, because a model has to repeat it.
func newID() string { return "p-" + strings.ToLower(rand.Text()[:8]) }

// enter takes a place for a job, or says why there is none.
func (p *Processes) enter(j *job) (why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine, all := 0, 0
	for conversation, jobs := range p.of {
		for _, other := range jobs {
			if !other.ended {
				all++
				if conversation == j.Conversation {
					mine++
				}
			}
		}
	}
	switch {
	case p.over:
		return "the program is about to end"
	case mine >= maxRunning:
		return fmt.Sprintf("%d commands run in the background already; end one first", mine)
	case all >= maxRunningAll:
		return fmt.Sprintf("%d commands of all conversations run in the background already; try again later", all)
	}
	p.of[j.Conversation] = append(p.of[j.Conversation], j)
	p.running.Add(1)
	return ""
}

// withdraw gives the place back of a job that did not start.
func (p *Processes) withdraw(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[j.Conversation] = slices.DeleteFunc(p.of[j.Conversation], func(other *job) bool { return other == j })
	p.running.Done()
	close(j.done)
}

// see waits for the end of a job and takes it down.
func (p *Processes) see(ctx context.Context, j *job, command *running, out *output) {
	defer close(j.done)
	end, err := command.end(ctx)
	out.close()
	took := time.Since(j.Started)
	why := context.Cause(ctx)
	how := fmt.Sprintf("%v after %s", end, span(took))
	switch {
	case why != nil:
		how = fmt.Sprintf("%v after %s", why, span(took))
	case err != nil:
		how = fmt.Sprintf("%v after %s", err, span(took))
	}
	over := tools.LeftOver{LeftRunning: j.LeftRunning, How: how, Last: out.last()}
	if why == errStopped || why == errKilled { // who did that knows
		over.Notify = false
	}
	p.mu.Lock()
	j.ended, j.how = true, how
	known := j.known
	watch := p.watch
	p.forget(j.Conversation)
	p.mu.Unlock()
	p.tidy(out.root, j.work)
	out.root.Close()
	switch {
	case why == errShutdown: // what is written down says that it ran
		return
	case known:
		p.ledger.remove(j.ID)
	default:
		if err := p.ledger.write(record{LeftRunning: over.LeftRunning, How: how}); err != nil {
			p.log.Warn("the end of a command in the background could not be written down", "process", j.ID, "error", err)
		}
	}
	if over.Notify && watch != nil {
		watch(over)
	}
}

// forget drops what is known of jobs that ended long ago. The mutex must be held.
func (p *Processes) forget(conversation string) {
	var ended []*job
	for _, j := range p.of[conversation] {
		if j.ended {
			ended = append(ended, j)
		}
	}
	for _, j := range ended[:max(0, len(ended)-maxEnded)] {
		p.of[conversation] = slices.DeleteFunc(p.of[conversation], func(other *job) bool { return other == j })
	}
	var kept []*job
	for _, jobs := range p.of {
		for _, j := range jobs {
			if j.ended && j.out != nil {
				kept = append(kept, j)
			}
		}
	}
	slices.SortFunc(kept, func(a, b *job) int { return a.Started.Compare(b.Started) })
	for _, j := range kept[:max(0, len(kept)-maxOutputs)] {
		j.out = nil
	}
}

// tidy removes the folder for temporary files if it is empty and nothing runs in the background that may want it.
func (p *Processes) tidy(root *os.Root, work string) {
	if p != nil {
		p.mu.Lock()
		for _, jobs := range p.of {
			for _, j := range jobs {
				if !j.ended && j.work == work {
					p.mu.Unlock()
					return
				}
			}
		}
		p.mu.Unlock()
	}
	_ = root.Remove(scratch) // which works only if it is empty
}

// span writes a duration for a model.
func span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Truncate(time.Second).String()
}
