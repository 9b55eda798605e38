package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// This is what the gateway wants of Processes.

// Begin has somebody told of the end of each command of which the person is to be told, also of those that ended before a
// restart or by it, perhaps once more. The function must not block.
func (p *Processes) Begin(watch func(tools.LeftOver)) {
	p.mu.Lock()
	p.watch = watch
	var lost []tools.LeftOver
	for _, jobs := range p.of {
		for _, j := range jobs {
			if j.earlier && j.Notify {
				lost = append(lost, tools.LeftOver{LeftRunning: j.LeftRunning, How: j.how})
			}
		}
	}
	p.mu.Unlock()
	slices.SortFunc(lost, func(a, b tools.LeftOver) int { return a.Started.Compare(b.Started) })
	for _, l := range lost {
		watch(l)
	}
}

// Running returns what runs in the background of a conversation, oldest first.
func (p *Processes) Running(conversation string) []tools.LeftRunning {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []tools.LeftRunning
	for _, j := range p.of[conversation] {
		if !j.ended {
			all = append(all, j.LeftRunning)
		}
	}
	return all
}

// Stop ends what runs in the background of a conversation, of one person or, if none is named, of all, and waits for that. It
// returns what it was.
func (p *Processes) Stop(conversation, requester string) []tools.LeftRunning {
	return p.end(errStopped, func(j *job) bool {
		return j.Conversation == conversation && (requester == "" || j.Requester == requester)
	})
}

// Forget ends what runs in the background of a conversation and forgets all that ran there.
func (p *Processes) Forget(conversation string) {
	p.end(errStopped, func(j *job) bool { return j.Conversation == conversation })
	p.mu.Lock()
	jobs := p.of[conversation]
	delete(p.of, conversation)
	p.mu.Unlock()
	for _, j := range jobs {
		p.ledger.remove(j.ID)
	}
}

// Close ends everything and waits for that. Nothing is started any more, and nobody is told of an end.
func (p *Processes) Close() {
	p.mu.Lock()
	p.over, p.watch = true, nil
	p.mu.Unlock()
	p.end(errShutdown, func(*job) bool { return true })
	p.running.Wait()
}

// end ends some jobs and waits for that.
func (p *Processes) end(why error, which func(*job) bool) (ended []tools.LeftRunning) {
	p.mu.Lock()
	var jobs []*job
	for _, all := range p.of {
		for _, j := range all {
			if !j.ended && j.cancel != nil && which(j) {
				jobs = append(jobs, j)
			}
		}
	}
	p.mu.Unlock()
	slices.SortFunc(jobs, func(a, b *job) int { return a.Started.Compare(b.Started) })
	for _, j := range jobs {
		j.cancel(why)
	}
	for _, j := range jobs {
		<-j.done
		ended = append(ended, j.LeftRunning)
	}
	return ended
}

// News returns what the model has to be told of a conversation's commands in the background: those that have ended without
// its having seen it. Told is called once it has been.
func (p *Processes) News(conversation string) (text string, told func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var jobs []*job
	var b strings.Builder
	for _, j := range p.of[conversation] {
		if j.ended && !j.known {
			jobs = append(jobs, j)
			fmt.Fprintf(&b, "- %s `%s`: %s\n", j.ID, brief(j.Command), j.how)
		}
	}
	if len(jobs) == 0 {
		return "", func() {}
	}
	return "[Commands in the background that have ended since your last turn:\n" + b.String() + "]", func() { p.saw(jobs...) }
}

// saw notes that the model knows of the end of jobs.
func (p *Processes) saw(jobs ...*job) {
	p.mu.Lock()
	for _, j := range jobs {
		j.known = true
	}
	p.mu.Unlock()
	for _, j := range jobs {
		p.ledger.remove(j.ID)
	}
}

// brief is a command on one short line.
func brief(command string) string {
	line := strings.ReplaceAll(strings.Join(strings.Fields(command), " "), "`", "'")
	if r := []rune(line); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return line
}

// state says how a job does. The mutex must be held.
func (j *job) state() string {
	if j.ended {
		return "ended: " + j.how
	}
	return "running for " + span(time.Since(j.Started))
}
