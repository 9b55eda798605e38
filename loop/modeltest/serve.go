package modeltest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Dial makes a connection, as net.Dialer does.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Serve serves a handler, to whatever address is dialed, over connections in memory, so that it works in virtual time.
// It stops with the test; idle connections must have been closed by then.
func Serve(t testing.TB, handler http.Handler) Dial {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), gone: make(chan struct{})}
	server := &http.Server{Handler: handler}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(p) })
	t.Cleanup(func() {
		server.Close()
		serving.Wait()
	})
	return p.dial
}

// pipes is a listener whose connections are net.Pipes.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	gone  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.gone:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.gone) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.gone:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
