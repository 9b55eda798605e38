// Package mcp lets models use the tools of MCP servers: programs that it starts and talks to over their standard input and
// output, and servers that it reaches by streamable HTTP. Of the protocol it uses tools and nothing else: a server cannot
// ask the model or a person anything, and learns no folders.
//
// Goroutines: Client.Run has one a server, which connects, reads the list of tools, and connects again after a wait that
// grows with each failure; the library has a few more for each connection, which end with it. A tool that is called while
// its server is away waits for the next attempt, and hastens it. What a server has once offered stays offered while it is
// away, also over a restart, so that an outage changes no prompt.
//
// A server never gets the gateway's environment, a program of one is gone with all of its group when Run returns, and no
// tool is there whose description or schema looks like an attempt to take the assistant over.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/talaria-agent/talaria/tools"
)

// Toolset is the name of the toolset.
const Toolset = "mcp"

// DefaultTimeout bounds a call of a server for which nothing else is said.
const DefaultTimeout = 2 * time.Minute

// Closing is about how long the end of all connections may take.
const Closing = time.Second

// Server says how one server is reached, and what is used of it.
type Server struct {
	Name    string        // part of its tools' names
	Command []string      // the program to start, with its arguments; or
	Env     []string      // of that program, beside the usual: NAME=value
	URL     string        // the address to talk to
	Token   string        // sent there as a bearer token; empty = none
	Headers []string      // sent there: "Name: value"
	Tools   []string      // patterns of names of its tools that are used ("get_*"); empty = all
	Timeout time.Duration // of one call; 0 = DefaultTimeout
}

// Options is what a Client is made of.
type Options struct {
	Servers []Server
	Version string                   // of this program, told to the servers
	Folder  string                   // where it is written down what servers offer; empty = nowhere. It need not exist
	Redact  func(text string) string // takes secrets out of what servers say; nil = nothing does
	// Suspicious says why a text looks like an attempt to take the assistant over, empty if it does not; nil = nobody looks.
	Suspicious func(text string) string
	Log        *slog.Logger // nil = nothing is logged
}

// Client knows the servers and their tools. It implements tools.Source.
type Client struct {
	servers []*server

	mu      sync.Mutex // guards what follows, and the state of all servers; never held over anything that waits
	all     []tools.Tool
	version uint64
}

// New makes a client, which does nothing before Run.
func New(o Options) (*Client, error) {
	c := &Client{}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	if o.Suspicious == nil {
		o.Suspicious = func(string) string { return "" }
	}
	names := map[string]bool{}
	for _, config := range o.Servers {
		if err := config.Check(); err != nil {
			return nil, err
		}
		if prefix := clean(config.Name); names[prefix] {
			return nil, fmt.Errorf("two servers are called %q", prefix)
		} else {
			names[prefix] = true
		}
		config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
		s := &server{
			Server: config, o: o, client: c, log: o.Log.With("server", config.Name), state: tools.ServerConnecting, since: time.Now(),
			changed: make(chan struct{}), wake: make(chan struct{}, 1), listed: make(chan struct{}, 1),
		}
		s.dial = s.reach
		c.servers = append(c.servers, s)
		before, err := s.recall()
		if err != nil {
			s.log.Warn("what an MCP server offered before is not known", "error", err)
		}
		listed, refused := s.take(before)
		c.offer(s, listed, refused)
	}
	return c, nil
}

// Run keeps the connections to all servers until the context ends, and returns when they are closed. It runs once.
func (c *Client) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, s := range c.servers {
		running.Go(func() { s.run(ctx) })
	}
	running.Wait()
}

// Tools implements tools.Source.
func (c *Client) Tools() ([]tools.Tool, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all, c.version
}

// Missing implements tools.Source.
func (c *Client) Missing() (all []tools.Missing) {
	for _, s := range c.Servers() {
		if s.State != tools.ServerUp {
			reason := "not connected yet"
			if s.Trouble != "" {
				reason = s.Trouble + "; I keep trying"
			}
			all = append(all, tools.Missing{Toolset: Toolset, Name: "MCP server " + s.Name, Reason: reason})
		}
		all = append(all, s.Refused...)
	}
	return all
}

// Servers implements tools.Source.
func (c *Client) Servers() (all []tools.ServerStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		status := tools.ServerStatus{Name: s.Name, State: s.state, Since: s.since, Refused: slices.Clone(s.refused)}
		for _, t := range s.tools {
			status.Tools = append(status.Tools, t.Spec().Name)
		}
		if s.err != nil {
			status.Trouble = s.o.Redact(oneLine(s.err.Error()))
		}
		all = append(all, status)
	}
	return all
}

// offer takes over what a server offers now. If that is what it offered before, nothing changes but the tools' own data.
func (c *Client) offer(s *server, listed []tools.Tool, refused []tools.Missing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.refused = refused
	if slices.EqualFunc(s.tools, listed, same) {
		return
	}
	s.tools = listed
	c.all = nil
	for _, s := range c.servers {
		c.all = append(c.all, s.tools...)
	}
	c.version++
}

// Check says whether the server answers, and what it offers: the names of the tools, and what is not used of them. It
// connects once and closes the connection again.
func Check(ctx context.Context, o Options) (tools.ServerStatus, error) {
	if len(o.Servers) != 1 {
		return tools.ServerStatus{}, errors.New("one server is checked at a time")
	}
	c, err := New(o)
	if err != nil {
		return tools.ServerStatus{}, err
	}
	running, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { c.Run(running) })
	_, err = c.servers[0].ready(ctx)
	status := c.Servers()[0]
	stop()
	done.Wait()
	if err != nil {
		return status, errors.New(o.redacted(err))
	}
	return status, nil
}

func (o Options) redacted(err error) string {
	text := oneLine(err.Error())
	if o.Redact != nil {
		text = o.Redact(text)
	}
	return text
}

// implementation is how the program introduces itself.
func (o Options) implementation() *sdk.Implementation {
	return &sdk.Implementation{Name: "talaria", Title: "Talaria", Version: cmp.Or(o.Version, "0")}
}
