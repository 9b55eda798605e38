package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// background are programs that a tool leaves running in virtual time. It outlives the gateway, as what is written down
// about real ones does.
type background struct {
	mu    sync.Mutex
	jobs  []*launched
	watch func(tools.LeftOver)
}

type launched struct {
	tools.LeftRunning
	timer *time.Timer
	how   string // it ended; empty = it runs
	known bool
}

// tool returns the tool that starts them.
func (b *background) tool() (tools.Tool, error) {
	type launchArgs struct {
		Name    string `json:"name"`
		Seconds int    `json:"seconds"`
		Notify  bool   `json:"notify,omitempty"`
	}
	return tools.New(tools.Spec{Name: "launch", Toolset: "test", Description: "Leaves something running.", Risk: tools.ReadOnly},
		func(_ context.Context, scope tools.Scope, a launchArgs) (tools.Result, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			j := &launched{LeftRunning: tools.LeftRunning{
				ID: fmt.Sprintf("p-%d", len(b.jobs)+1), Conversation: scope.Conversation, Requester: scope.Requester, Reply: scope.Reply,
				Command: a.Name, Started: time.Now(), Notify: a.Notify,
			}}
			j.timer = time.AfterFunc(time.Duration(a.Seconds)*time.Second, func() { b.end(j, "exit code 0") })
			b.jobs = append(b.jobs, j)
			return tools.Result{Text: "started " + j.ID}, nil
		})
}

func (b *background) end(j *launched, how string) {
	b.mu.Lock()
	if j.how != "" {
		b.mu.Unlock()
		return
	}
	j.how = how
	watch := b.watch
	b.mu.Unlock()
	if j.Notify && watch != nil {
		watch(tools.LeftOver{LeftRunning: j.LeftRunning, How: how, Last: "last words of " + j.Command})
	}
}

func (b *background) Begin(watch func(tools.LeftOver)) {
	b.mu.Lock()
	b.watch = watch
	var told []tools.LeftOver
	for _, j := range b.jobs {
		if j.how != "" && j.Notify {
			told = append(told, tools.LeftOver{LeftRunning: j.LeftRunning, How: j.how})
		}
	}
	b.mu.Unlock()
	for _, over := range told {
		watch(over)
	}
}

func (b *background) Running(conversation string) (all []tools.LeftRunning) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if j.Conversation == conversation && j.how == "" {
			all = append(all, j.LeftRunning)
		}
	}
	return all
}

func (b *background) Stop(conversation, requester string) (ended []tools.LeftRunning) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs {
		if j.Conversation == conversation && j.how == "" && (requester == "" || j.Requester == requester) {
			j.timer.Stop()
			j.how, j.Notify = "stopped by the person", false
			ended = append(ended, j.LeftRunning)
		}
	}
	return ended
}

func (b *background) News(conversation string) (string, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var news []string
	var all []*launched
	for _, j := range b.jobs {
		if j.Conversation == conversation && j.how != "" && !j.known {
			news, all = append(news, fmt.Sprintf("[%s has ended: %s]", j.ID, j.how)), append(all, j)
		}
	}
	return strings.Join(news, "\n"), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, j := range all {
			j.known = true
		}
	}
}

func (b *background) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watch = nil
	for _, j := range b.jobs {
		if j.how == "" {
			j.timer.Stop()
			j.how = "killed by a restart"
		}
	}
}
