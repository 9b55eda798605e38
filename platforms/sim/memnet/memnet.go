// Package memnet is a network inside the process: a net.Listener whose connections are byte buffers instead of sockets.
// Waiting on them is waiting on a condition variable, so servers and clients that talk over it run inside a
// testing/synctest bubble, where waits on real sockets would stop virtual time.
//
// It starts no goroutine but the timers of deadlines. Each direction of a connection keeps the order of its bytes.
// Buffers are unbounded: a writer never waits for its reader, so a test of a stalled writer needs net.Pipe instead.
// Make the listener, and everything that uses it, inside the bubble.
package memnet

import (
	"context"
	"net"
	"sync"
)

// Listener accepts the connections that Dial makes. All methods may be called from any goroutine.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen returns an open listener.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to the listener, whatever the address says; it has the signature of net.Dialer.DialContext. It waits
// until the connection is accepted; an error is a *net.OpError.
func (l *Listener) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	here, there := Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: network, Addr: addr(address), Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: network, Addr: addr(address), Err: context.Cause(ctx)}
	}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "memory", Addr: l.Addr(), Err: net.ErrClosed}
	}
}

// Close ends Accept and Dial; accepted connections live on.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns a placeholder.
func (l *Listener) Addr() net.Addr { return addr("memory:0") }

// addr is an address that is only a name.
type addr string

func (addr) Network() string  { return "memory" }
func (a addr) String() string { return string(a) }
