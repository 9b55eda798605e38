package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/talaria-agent/talaria/tools"
)

const (
	connectFor  = time.Minute // what connecting and reading the list may take; a program may have to be fetched first
	firstWait   = time.Second // before the second attempt to connect, then twice as long each time
	longestWait = 5 * time.Minute
	calm        = time.Minute // a connection that lasted as long begins the waits anew
	hasteAfter  = time.Second // how soon after a failure a call may have it tried again
	legacy      = "2025-11-25"
)

var (
	errClosed = errors.New("the program is about to end")
	errLost   = errors.New("the connection was lost")
)

// server is one server and the connection to it.
type server struct {
	Server
	o      Options
	client *Client
	log    *slog.Logger
	dial   func() *link  // makes a way to it, unused
	wake   chan struct{} // somebody wants to call it
	listed chan struct{} // its list of tools has changed
	old    bool          // it is asked in the old way, because the new one got no answer; run's own
	kept   []byte        // what is written down of it; New's, then run's own

	// guarded by client.mu
	conn     *connection
	state    tools.ServerState
	since    time.Time
	err      error         // why the last attempt failed or the last connection ended
	attempts int           // that have ended, whether or not they failed
	failed   time.Time     // when the last one did
	closed   bool          // there will be no other
	changed  chan struct{} // closed when any of that changes
	tools    []tools.Tool
	refused  []tools.Missing
}

// connection is a session that is up. Its context ends with it.
type connection struct {
	*sdk.ClientSession
	ctx  context.Context
	lose context.CancelCauseFunc
}

// run keeps up the connection until the context ends.
func (s *server) run(ctx context.Context) {
	if len(s.Command) > 0 { // a program that dies with its parent dies with the thread that started it
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	wait := firstWait
	for ctx.Err() == nil {
		began := time.Now()
		err := s.serve(ctx)
		if ctx.Err() != nil {
			break
		}
		if s.conn != nil && time.Since(began) >= calm {
			wait = firstWait
		}
		s.log.Warn("an MCP server cannot be used; trying again", "error", s.o.redacted(err), "wait", wait)
		s.note(func() {
			s.conn, s.err, s.attempts, s.failed = nil, err, s.attempts+1, time.Now()
			s.become(tools.ServerDown)
		})
		s.rest(ctx, wait)
		wait = min(2*wait, longestWait)
	}
	s.note(func() { s.conn, s.closed, s.err = nil, true, errClosed; s.become(tools.ServerDown) })
}

// note changes the state, and tells whoever waits for that.
func (s *server) note(change func()) {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *server) become(state tools.ServerState) {
	if s.state != state {
		s.state, s.since = state, time.Now()
	}
}

// rest waits before the next attempt; not as long if somebody wants to call the server.
func (s *server) rest(ctx context.Context, wait time.Duration) {
	select { // whoever wanted to call it before has had his attempt
	case <-s.wake:
	default:
	}
	began := time.Now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-s.wake:
		timer.Reset(max(0, hasteAfter-time.Since(began)))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// serve connects, and returns why the connection ended or did not come about.
func (s *server) serve(ctx context.Context) error {
	way := s.dial()
	life, lose := context.WithCancelCause(ctx)
	defer way.close()
	defer lose(errLost)
	session, err := s.connect(ctx, way)
	if err != nil {
		return way.explain(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	defer func() { // before way.close, which makes sure of it
		stop := time.AfterFunc(Closing, way.kill)
		lose(errLost) // calls under way would keep it open
		_ = session.Close()
		stop.Stop()
		way.kill()
		<-ended
	}()
	if err := s.list(ctx, session); err != nil {
		return way.explain(fmt.Errorf("read its list of tools: %w", err))
	}
	s.note(func() {
		s.conn, s.err, s.attempts = &connection{session, life, lose}, nil, s.attempts+1
		s.become(tools.ServerUp)
	})
	s.log.Info("an MCP server is connected", "tools", s.count())
	for {
		select {
		case <-life.Done():
			return context.Cause(life)
		case err := <-ended:
			ended <- err // for the end
			return way.explain(errors.Join(errLost, err))
		case <-s.listed:
			if err := s.list(ctx, session); err != nil {
				return fmt.Errorf("read its list of tools again: %w", err)
			}
		}
	}
}

func (s *server) count() int {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	return len(s.tools)
}

// connect opens a session.
func (s *server) connect(ctx context.Context, way *link) (*sdk.ClientSession, error) {
	ctx, cancel := context.WithTimeout(ctx, connectFor)
	defer cancel()
	client := sdk.NewClient(s.o.implementation(), &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{}, // no folders; sampling and elicitation need handlers
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		Logger:         slog.New(slog.DiscardHandler), // what it says may hold what servers said
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case s.listed <- struct{}{}:
			default:
			}
		},
	})
	var options *sdk.ClientSessionOptions
	if s.old {
		options = &sdk.ClientSessionOptions{ProtocolVersion: legacy}
	}
	session, err := client.Connect(ctx, way, options)
	if err != nil && ctx.Err() != nil {
		s.old = !s.old // some servers do not answer what they do not know
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return session, nil
}

// list reads what the server offers.
func (s *server) list(ctx context.Context, session *sdk.ClientSession) error {
	ctx, cancel := context.WithTimeout(ctx, connectFor)
	defer cancel()
	var all []*sdk.Tool
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if all = append(all, t); len(all) > mostListed {
			return fmt.Errorf("it lists more than %d tools", mostListed)
		}
	}
	listed, refused := s.take(all)
	for _, r := range refused {
		s.log.Warn("a tool of an MCP server is not used", "tool", r.Name, "reason", r.Reason)
	}
	s.client.offer(s, listed, refused)
	if err := s.remember(all); err != nil {
		s.log.Warn("what an MCP server offers was not written down", "error", err)
	}
	return nil
}

// ready returns the connection. Where there is none it hastens the next attempt and waits for that. If one has just failed,
// or that one does, it returns why.
func (s *server) ready(ctx context.Context) (*connection, error) {
	before := -1
	for {
		s.client.mu.Lock()
		conn, err, changed := s.conn, s.err, s.changed
		attempts, closed, failed := s.attempts, s.closed, s.failed
		s.client.mu.Unlock()
		if before < 0 {
			before = attempts
		}
		switch {
		case conn != nil && conn.ctx.Err() == nil:
			return conn, nil
		case closed, err != nil && (attempts > before || time.Since(failed) < hasteAfter):
			return nil, err
		}
		select {
		case s.wake <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
