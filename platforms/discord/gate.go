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
	"strings"
	"sync"
	"time"
)

// The ways in which a gateway connection ends that are not errors of the network.
var (
	errReconnect = errors.New("the gateway asked for a reconnect")
	errResumable = errors.New("the gateway cannot go on with this connection")
	errInvalid   = errors.New("the gateway no longer knows the session")
	errDeaf      = errors.New("heartbeats are no longer acknowledged") // found by the link
	errStuck     = errors.New("the gateway never got ready")           // found by the watchdog
	errBehind    = errors.New("updates pile up")
	errStopped   = errors.New("stopped")
)

// closedError is a close frame of the gateway.
type closedError struct {
	code int
	text string
}

func (e closedError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("closed by the gateway with code %d %s", e.code, e.text))
}

const maxFrame = 64 << 20 // bytes; a big server's GUILD_CREATE takes a few megabytes

// watcher is told what passes a gate.
type watcher interface {
	hello(interval time.Duration)
	acknowledged()
	ready(data json.RawMessage)
	resumed()
	oddFrame(kind string)
}

// gate is the connection under discordgo's websocket: it reads the server's frames and decides which of them discordgo
// gets to see. It keeps from it what would hang it or make it give its session up:
//
//   - op 7 and op 11 before the first event, which deadlock Session.Open (bwmarrin/discordgo#513): an early op 11 is
//     dropped, an op 7 ends the connection;
//   - op 7 and op 9 later on: discordgo would answer op 7 by a sleep and op 9 by an IDENTIFY at once, whatever "d" says;
//   - close frames: it hides their codes;
//   - frames that it could not decode.
//
// Ending means cutting the connection: a close frame, which discordgo would send with code 1000, ends the session too.
// Reads come from one goroutine; end may be called from any.
type gate struct {
	net.Conn
	watch watcher
	r     *bufio.Reader

	pending  []byte // what discordgo reads next
	upgraded bool   // the HTTP response has passed
	foreign  bool   // it was not an upgrade: pass all the rest
	started  bool   // an event has passed
	frames   []byte // frames of a message whose last one has not come
	message  []byte // their payload

	mu     sync.Mutex
	reason error
}

func newGate(conn net.Conn, watch watcher) *gate {
	return &gate{Conn: conn, watch: watch, r: bufio.NewReader(conn)}
}

// end cuts the connection; the first reason stays.
func (g *gate) end(reason error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reason == nil {
		g.reason = reason
		if errors.Is(reason, errStopped) {
			// A masked close frame with code 1000: the session is over and the bot shows as offline at once.
			_ = g.Conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = g.Conn.Write([]byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8})
		}
		g.Conn.Close()
	}
	return g.reason
}

// Read gives discordgo what it may see.
func (g *gate) Read(p []byte) (int, error) {
	for len(g.pending) == 0 {
		if err := g.fill(); err != nil {
			return 0, g.end(fmt.Errorf("connection to the gateway lost: %w", err))
		}
	}
	n := copy(p, g.pending)
	g.pending = g.pending[n:]
	return n, nil
}

// Close is discordgo's: it has given up, or has been told of the end.
func (g *gate) Close() error {
	_ = g.end(errors.New("connection to the gateway closed"))
	return nil
}

func (g *gate) fill() error {
	switch {
	case !g.upgraded:
		return g.response()
	case g.foreign:
		if _, err := g.r.Peek(1); err != nil {
			return err
		}
		g.pending, _ = g.r.Peek(g.r.Buffered())
		_, err := g.r.Discard(len(g.pending))
		g.pending = bytes.Clone(g.pending)
		return err
	default:
		return g.frame()
	}
}

// response passes the HTTP response to the upgrade.
func (g *gate) response() error {
	var head []byte
	for {
		line, err := g.r.ReadBytes('\n')
		if err != nil {
			return err
		}
		head = append(head, line...)
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
		if len(head) > 64<<10 {
			return errors.New("the response to the upgrade is too long")
		}
	}
	g.upgraded, g.pending = true, head
	status, _, _ := bytes.Cut(head, []byte("\n"))
	g.foreign = !bytes.Contains(status, []byte(" 101"))
	return nil
}

// Opcodes of websocket frames (RFC 6455, section 5.2).
const (
	frameClose   = 8
	frameControl = 8 // this bit marks control frames
	frameFinal   = 0x80
)

// frame reads one websocket frame of the server and passes, holds or drops it.
func (g *gate) frame() error {
	raw, payload, err := readFrame(g.r)
	if err != nil {
		return err
	}
	opcode, final := raw[0]&0x0f, raw[0]&frameFinal != 0
	switch {
	case opcode == frameClose:
		return closeReason(payload)
	case opcode&frameControl != 0:
		g.pending = raw
		return nil
	}
	g.frames = append(g.frames, raw...)
	g.message = append(g.message, payload...)
	if len(g.message) > maxFrame {
		return errors.New("a message of the gateway is too large")
	}
	if !final {
		return nil
	}
	frames, message := g.frames, g.message
	g.frames, g.message = nil, nil
	pass, err := g.inspect(message)
	if pass {
		g.pending = frames
	}
	return err
}

func closeReason(payload []byte) error {
	if len(payload) < 2 {
		return closedError{code: 1005}
	}
	return closedError{code: int(binary.BigEndian.Uint16(payload)), text: strings.ToValidUTF8(string(payload[2:]), "")}
}

// readFrame reads one frame, as it came and its payload, which is a part of it.
func readFrame(r *bufio.Reader) (raw, payload []byte, err error) {
	head := make([]byte, 2, 10)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, nil, err
	}
	if head[1]&0x80 != 0 {
		return nil, nil, errors.New("the gateway sent a masked frame")
	}
	size := uint64(head[1])
	if extra := map[uint64]int{126: 2, 127: 8}[size]; extra > 0 {
		head = head[:2+extra]
		if _, err := io.ReadFull(r, head[2:]); err != nil {
			return nil, nil, err
		}
		size = 0
		for _, b := range head[2:] {
			size = size<<8 | uint64(b)
		}
	}
	if size > maxFrame {
		return nil, nil, errors.New("a frame of the gateway is too large")
	}
	whole := bytes.NewBuffer(head) // grows with what comes, not with what is announced
	if _, err := io.CopyN(whole, r, int64(size)); err != nil {
		return nil, nil, err
	}
	raw = whole.Bytes()
	return raw, raw[len(head):], nil
}

// inspect decides over one gateway payload.
func (g *gate) inspect(message []byte) (pass bool, err error) {
	var p struct {
		Op int             `json:"op"`
		T  string          `json:"t"`
		D  json.RawMessage `json:"d"`
	}
	if json.Unmarshal(message, &p) != nil {
		g.watch.oddFrame("undecodable frame")
		return false, nil
	}
	switch p.Op {
	case 0:
		return g.event(p.T, p.D), nil
	case 1: // discordgo answers with a heartbeat
		return true, nil
	case 7:
		return false, errReconnect
	case 9:
		if bytes.Equal(bytes.TrimSpace(p.D), []byte("true")) {
			return false, errResumable
		}
		return false, errInvalid
	case 10:
		var h struct {
			Interval int64 `json:"heartbeat_interval"`
		}
		if json.Unmarshal(p.D, &h) != nil || h.Interval <= 0 {
			return false, errors.New("the gateway's greeting names no heartbeat interval")
		}
		g.watch.hello(time.Duration(h.Interval) * time.Millisecond)
		return true, nil
	case 11:
		g.watch.acknowledged()
		return g.started, nil
	default:
		g.watch.oddFrame(fmt.Sprintf("frame with opcode %d", p.Op))
		return false, nil
	}
}

// event tells whether an event passes. One without data would make discordgo panic.
func (g *gate) event(name string, data json.RawMessage) bool {
	empty := len(data) == 0 || bytes.Equal(data, []byte("null"))
	switch {
	case name == "RESUMED":
		g.watch.resumed()
	case empty:
		g.watch.oddFrame("event without data: " + name)
		return false
	case name == "READY":
		g.watch.ready(data)
	}
	g.started = true
	return true
}
