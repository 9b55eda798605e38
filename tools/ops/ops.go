// Package ops is the toolset of those who look after systems: grep_log reads logs, query_metrics asks Prometheus, and
// search_knowledge_base finds what was written down. All of them only read; a chart is a new file in the work folder.
//
// Files are reached through an os.Root on each folder that the operator named, so no symbolic link and no ".." leads out
// of it. The tools start no goroutines that outlive a call, and end early, with an error, when the context does. The
// index of the documents is kept in memory and brought up to date at each search; nothing watches the folders.
package ops

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

const toolset = "ops"

var (
	//go:embed grep_log.md
	grepDescription string
	//go:embed query_metrics.md
	metricsDescription string
	//go:embed search_knowledge_base.md
	knowledgeDescription string
)

// Options says what the tools may look at. A tool with nothing to look at is not made.
type Options struct {
	Logs  []string // absolute paths with wildcards, "/var/log/app/*.log"; what they were rotated to counts, too
	Units []string // systemd units whose journal may be read, with wildcards

	Prometheus string // address of the server; empty = none
	Token      string // for its Authorization header; empty = none

	Documents []string // absolute paths of folders

	Secret     func(path string) bool // tells that a file of the work folder holds credentials
	Journalctl string                 // path of the program; empty = there is none
	Zone       *time.Location         // of times in logs that do not say theirs; nil = the machine's
	Dial       func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns the tools of the set for which there is something to look at.
func New(o Options) ([]tools.Tool, error) {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	var set []tools.Tool
	for _, newTool := range []func(Options) (tools.Tool, error){newGrep, newMetrics, newKnowledge} {
		tool, err := newTool(o)
		if err != nil {
			return nil, err
		}
		if tool != nil {
			set = append(set, tool)
		}
	}
	return set, nil
}

// bound says between which numbers an argument must be.
func bound(tool tools.Tool, argument string, low, high float64) {
	p := tool.Spec().Schema.Properties[argument]
	p.Minimum, p.Maximum = &low, &high
}

// count returns a number of things, in words: "1 line", "2 lines".
func count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
