package discord

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// script is a connection that yields given bytes and takes everything.
type script struct {
	net.Conn
	r      io.Reader
	w      bytes.Buffer
	closed bool
}

func (s *script) Read(p []byte) (int, error)       { return s.r.Read(p) }
func (s *script) Write(p []byte) (int, error)      { return s.w.Write(p) }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) Close() error                     { s.closed = true; return nil }

// witness is a watcher that remembers.
type witness struct {
	interval time.Duration
	acks     int
	odd      []string
}

func (w *witness) hello(d time.Duration) { w.interval = d }
func (w *witness) acknowledged()         { w.acks++ }
func (w *witness) ready(json.RawMessage) {}
func (w *witness) resumed()              {}
func (w *witness) oddFrame(kind string)  { w.odd = append(w.odd, kind) }

// frame writes a server's websocket frame.
func frame(opcode byte, final bool, payload string) []byte {
	first := opcode
	if final {
		first |= 0x80
	}
	n := len(payload)
	switch {
	case n < 126:
		return append([]byte{first, byte(n)}, payload...)
	case n < 1<<16:
		return append(binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(n)), payload...)
	default:
		return append(binary.BigEndian.AppendUint64([]byte{first, 127}, uint64(n)), payload...)
	}
}

const upgrade = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"

func TestGate(t *testing.T) {
	hello := frame(1, true, `{"op":10,"d":{"heartbeat_interval":41250}}`)
	ack := frame(1, true, `{"op":11}`)
	ready := frame(1, true, `{"op":0,"t":"READY","s":1,"d":{}}`)
	big := frame(1, true, fmt.Sprintf(`{"op":0,"t":"GUILD_CREATE","s":2,"d":{"pad":%q}}`, bytes.Repeat([]byte("x"), 70_000)))
	parts := append(frame(1, false, `{"op":0,"t":"X",`), frame(9, true, "ping")...)
	parts = append(parts, frame(0, true, `"s":3,"d":{}}`)...)
	joined := append(frame(9, true, "ping"), frame(1, false, `{"op":0,"t":"X",`)...)
	joined = append(joined, frame(0, true, `"s":3,"d":{}}`)...)
	closing := frame(8, true, string([]byte{0x0f, 0xae})+"no intent")

	for name, c := range map[string]struct {
		in     [][]byte
		passes [][]byte
		end    error
		acks   int
		odd    int
	}{
		"in order":               {in: [][]byte{hello, ready, ack}, passes: [][]byte{hello, ready, ack}, end: io.EOF, acks: 1},
		"ack before READY":       {in: [][]byte{hello, ack, ready, ack}, passes: [][]byte{hello, ready, ack}, end: io.EOF, acks: 2},
		"op 7 before READY":      {in: [][]byte{hello, frame(1, true, `{"op":7,"d":null}`), ready}, passes: [][]byte{hello}, end: errReconnect},
		"op 9":                   {in: [][]byte{hello, ready, frame(1, true, `{"op":9,"d":false}`)}, passes: [][]byte{hello, ready}, end: errInvalid},
		"op 9, resumable":        {in: [][]byte{hello, ready, frame(1, true, `{"op":9,"d":true}`)}, passes: [][]byte{hello, ready}, end: errResumable},
		"close":                  {in: [][]byte{hello, closing}, passes: [][]byte{hello}, end: closedError{4014, "no intent"}},
		"empty close":            {in: [][]byte{hello, frame(8, true, "")}, passes: [][]byte{hello}, end: closedError{code: 1005}},
		"big":                    {in: [][]byte{hello, ready, big}, passes: [][]byte{hello, ready, big}, end: io.EOF},
		"in parts":               {in: [][]byte{hello, parts}, passes: [][]byte{hello, joined}, end: io.EOF},
		"nonsense":               {in: [][]byte{hello, frame(1, true, "{"), ready}, passes: [][]byte{hello, ready}, end: io.EOF, odd: 1},
		"event without data":     {in: [][]byte{hello, frame(1, true, `{"op":0,"t":"GUILD_CREATE","d":null}`), ready}, passes: [][]byte{hello, ready}, end: io.EOF, odd: 1},
		"greeting without pulse": {in: [][]byte{frame(1, true, `{"op":10,"d":{}}`)}, end: errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			conn := &script{r: io.MultiReader(bytes.NewReader([]byte(upgrade)), bytes.NewReader(bytes.Join(c.in, nil)))}
			w := &witness{}
			g := newGate(conn, w)
			got, err := io.ReadAll(g)
			if c.end == io.EOF {
				if err != nil && !errors.Is(err, io.EOF) {
					t.Errorf("ended with %v", err)
				}
			} else if c.end == errors.ErrUnsupported {
				if err == nil {
					t.Error("did not end")
				}
			} else if !errors.Is(err, c.end) {
				t.Errorf("ended with %v, want %v", err, c.end)
			}
			want := append([]byte(upgrade), bytes.Join(c.passes, nil)...)
			if !bytes.Equal(got, want) {
				t.Errorf("passed %d bytes, want %d:\n%q", len(got), len(want), got)
			}
			if w.acks != c.acks || len(w.odd) != c.odd {
				t.Errorf("%d acks, odd %q", w.acks, w.odd)
			}
			if !conn.closed || conn.w.Len() > 0 {
				t.Errorf("closed %v, wrote %x", conn.closed, conn.w.Bytes())
			}
		})
	}
}

func TestGateForeignAnswer(t *testing.T) {
	const answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nsorry"
	g := newGate(&script{r: bytes.NewReader([]byte(answer))}, &witness{})
	got := make([]byte, len(answer))
	if _, err := io.ReadFull(g, got); err != nil || string(got) != answer {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestGateGoodbye looks at the close frame that ends the session when the bot is stopped.
func TestGateGoodbye(t *testing.T) {
	conn := &script{r: bytes.NewReader(nil)}
	g := newGate(conn, &witness{})
	_ = g.end(errStopped)
	_ = g.end(errDeaf)
	want := []byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8}
	if !bytes.Equal(conn.w.Bytes(), want) || !errors.Is(g.end(nil), errStopped) {
		t.Errorf("wrote %x", conn.w.Bytes())
	}
}

func FuzzGate(f *testing.F) {
	f.Add([]byte(upgrade + string(frame(1, true, `{"op":10,"d":{"heartbeat_interval":1}}`))))
	f.Add([]byte(upgrade + string(frame(1, false, `{"op":0,`)) + string(frame(0, true, `"t":"X"}`))))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\nbody"))
	f.Fuzz(func(t *testing.T, data []byte) {
		conn := &script{r: bytes.NewReader(data)}
		got, _ := io.ReadAll(newGate(conn, &witness{}))
		if len(got) > len(data) {
			t.Errorf("%d bytes became %d", len(data), len(got))
		}
		if !conn.closed {
			t.Error("left open")
		}
		_, _, _ = readFrame(bufio.NewReader(bytes.NewReader(data)))
	})
}
