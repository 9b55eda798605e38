package discord

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	sendsPerMinute = 120  // gateway sends of a client, heartbeats included
	maxPayload     = 4096 // bytes of one client payload
)

// socket is one websocket connection. Frames are queued without bound and written by a goroutine of its own, so that
// no one waits for a slow reader with a lock held.
type socket struct {
	conn    *websocket.Conn
	session *session // guarded by the server's lock

	mu    sync.Mutex
	queue [][]byte
	code  int // close with this code once the queue is written; -1 = without a word
	wake  chan struct{}
}

func (k *socket) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *socket) send(frame []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, frame)
	k.signal()
}

func (k *socket) op(op int, d any) {
	b, _ := json.Marshal(object{"op": op, "d": d, "s": nil, "t": nil})
	k.send(b)
}

// close closes the connection with a code, after what is queued.
func (k *socket) close(code int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.code == 0 {
		k.code = code
	}
	k.signal()
}

// cut drops the connection without a close frame.
func (k *socket) cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue, k.code = nil, -1
	k.signal()
}

// write sends what is queued until the socket is closed. It owns the closing of the connection.
func (k *socket) write() {
	defer k.conn.Close()
	for range k.wake {
		k.mu.Lock()
		queue, code := k.queue, k.code
		k.queue = nil
		k.mu.Unlock()
		for _, frame := range queue {
			if k.conn.WriteMessage(websocket.TextMessage, frame) != nil {
				return
			}
		}
		if code > 0 {
			_ = k.conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, closeText(code)))
		}
		if code != 0 {
			return
		}
	}
}

func closeText(code int) string {
	switch code {
	case 4004:
		return "Authentication failed."
	case 4014:
		return "Disallowed intent(s)."
	default:
		return ""
	}
}

// connect serves one websocket of the gateway.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	conn, err := s.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	conn.SetCloseHandler(func(int, string) error { return nil })
	k := &socket{conn: conn, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		conn.Close()
		return
	}
	s.gateway.sockets[k] = true
	s.sockets.Add(1)
	s.mu.Unlock()
	defer s.sockets.Done()

	written := make(chan struct{})
	go func() {
		defer close(written)
		k.write()
	}()
	k.op(opHello, object{"heartbeat_interval": s.opts.HeartbeatInterval.Milliseconds()})
	if v := r.URL.Query().Get("v"); v != "9" && v != "10" {
		k.close(4012)
	}
	resumeURL := s.opts.ResumeURL
	if resumeURL == "" {
		resumeURL = s.gatewayURL(r)
	}
	clean := s.read(k, resumeURL)

	s.mu.Lock()
	delete(s.gateway.sockets, k)
	if ses := k.session; ses != nil && ses.socket == k {
		ses.socket, ses.detached = nil, time.Now()
		if clean { // 1000 and 1001 end the session, by the documentation
			delete(s.gateway.sessions, ses.id)
		}
	}
	s.forgetSessions()
	s.mu.Unlock()
	k.cut()
	<-written
}

// forgetSessions drops what can no longer be resumed. The caller holds the lock.
func (s *Server) forgetSessions() {
	for id, ses := range s.gateway.sessions {
		if ses.socket == nil && time.Since(ses.detached) > s.opts.ResumeWindow {
			delete(s.gateway.sessions, id)
		}
	}
}

// read handles what the client sends until the connection ends; true if the client closed it with 1000 or 1001.
func (s *Server) read(k *socket, resumeURL string) (clean bool) {
	var window time.Time
	sends := 0
	for {
		_ = k.conn.SetReadDeadline(time.Now().Add(2 * s.opts.HeartbeatInterval))
		_, data, err := k.conn.ReadMessage()
		if err != nil {
			return websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway)
		}
		now := time.Now()
		if now.Sub(window) > time.Minute {
			window, sends = now, 0
		}
		if sends++; sends > sendsPerMinute {
			k.close(4008)
			continue
		}
		var frame struct {
			Op *int            `json:"op"`
			D  json.RawMessage `json:"d"`
		}
		if len(data) > maxPayload || json.Unmarshal(data, &frame) != nil || frame.Op == nil {
			k.close(4002)
			continue
		}
		s.obey(k, *frame.Op, frame.D, resumeURL)
	}
}

// obey handles one payload of the client.
func (s *Server) obey(k *socket, op int, raw json.RawMessage, resumeURL string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d object
	_ = json.Unmarshal(raw, &d) // a heartbeat's d is a number; the others are checked field by field
	switch {
	case op == opHeartbeat:
		if !s.gateway.zombie {
			k.op(opHeartbeatAck, nil)
		}
	case op == opIdentify && k.session != nil:
		k.close(4005)
	case op == opIdentify:
		s.identify(k, d, strings.TrimSuffix(resumeURL, "?"))
	case op == opResume:
		s.resume(k, d)
	case op == opPresence, op == opVoiceState, op == opRequestMembers:
		if k.session == nil {
			k.close(4003)
		}
	default:
		k.close(4001)
	}
}
