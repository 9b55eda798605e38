package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Pipe returns the two ends of a connection. Unlike net.Pipe it buffers: a write returns at once.
func Pipe() (net.Conn, net.Conn) {
	a, b := newHalf(), newHalf()
	return &conn{in: a, out: b}, &conn{in: b, out: a}
}

// conn is one end: it reads from one half and writes to the other.
type conn struct {
	in, out *half

	mu            sync.Mutex
	writeDeadline time.Time
}

func (c *conn) Read(p []byte) (int, error) { return c.in.read(p) }

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	deadline := c.writeDeadline
	c.mu.Unlock()
	if !deadline.IsZero() && !deadline.After(time.Now()) {
		return 0, os.ErrDeadlineExceeded
	}
	return c.out.write(p)
}

// Close ends both directions: the peer reads what was written before, then io.EOF.
func (c *conn) Close() error {
	c.in.closeRead()
	c.out.closeWrite()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return addr("memory:0") }
func (c *conn) RemoteAddr() net.Addr { return addr("memory:0") }

func (c *conn) SetDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeDeadline = t
	return nil
}

// half is one direction: bytes that were written and not yet read.
type half struct {
	mu       sync.Mutex
	changed  *sync.Cond
	bytes    []byte
	ended    bool // the writer is gone: io.EOF once the bytes are read
	dead     bool // the reader is gone: writes fail
	deadline time.Time
	timer    *time.Timer
}

func newHalf() *half {
	h := &half{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.dead:
			return 0, net.ErrClosed
		case !h.deadline.IsZero() && !h.deadline.After(time.Now()):
			return 0, os.ErrDeadlineExceeded
		case len(h.bytes) > 0:
			n := copy(p, h.bytes)
			h.bytes = h.bytes[n:]
			if len(h.bytes) == 0 {
				h.bytes = nil
			}
			return n, nil
		case h.ended:
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		}
		h.changed.Wait()
	}
}

func (h *half) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended:
		return 0, net.ErrClosed
	case h.dead:
		return 0, io.ErrClosedPipe
	}
	h.bytes = append(h.bytes, p...)
	h.changed.Broadcast()
	return len(p), nil
}

func (h *half) closeRead() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dead, h.bytes = true, nil
	h.stopTimer()
	h.changed.Broadcast()
}

func (h *half) closeWrite() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.changed.Broadcast()
}

// setDeadline wakes the readers at the deadline; they look at the clock themselves.
func (h *half) setDeadline(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopTimer()
	h.deadline = t
	if wait := time.Until(t); !t.IsZero() && wait > 0 && !h.dead {
		h.timer = time.AfterFunc(wait, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.changed.Broadcast()
		})
	}
	h.changed.Broadcast()
}

func (h *half) stopTimer() {
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}
