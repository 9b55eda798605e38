package slack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	pingEvery = 10 * time.Second // clients expect one within 30 s
	pongFor   = 45 * time.Second
)

// link is one Socket Mode connection. Frames are queued and written by one goroutine; the queue is unbounded but holds
// only what was sent within the last seconds.
type link struct {
	ws    *websocket.Conn
	ended chan struct{}
	once  sync.Once
	wake  chan struct{} // capacity 1

	mu    sync.Mutex
	queue [][]byte
	last  bool // close after the queue is written

	deaf bool // guarded by the hub's lock
}

func newLink(ws *websocket.Conn) *link {
	return &link{ws: ws, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
}

func (l *link) push(frame []byte) {
	l.mu.Lock()
	l.queue = append(l.queue, frame)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// dismiss sends a disconnect message, then closes.
func (l *link) dismiss(reason string) {
	data, _ := json.Marshal(object{"type": "disconnect", "reason": reason, "debug_info": object{"host": "applink-sim"}})
	l.mu.Lock()
	l.last = true
	l.mu.Unlock()
	l.push(data)
}

// end closes the connection; its reader and writer then return.
func (l *link) end() {
	l.once.Do(func() {
		close(l.ended)
		_ = l.ws.Close()
	})
}

func (l *link) take() (frames [][]byte, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	frames, l.queue = l.queue, nil
	return frames, l.last
}

// ticket returns the address of a new connection, given the address under which the client knows us. It can be used
// once.
func (h *hub) ticket(address string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serial++
	h.address = address
	id := fmt.Sprintf("%x-%016x", h.serial, h.rand.Uint64())
	h.tickets[id] = true
	return "ws" + strings.TrimPrefix(address, "http") + "/link/?ticket=" + id + "&app_id=" + appID
}

// serveLink runs a connection: the goroutine of the handler reads, another one writes.
func (h *hub) serveLink(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	id := r.URL.Query().Get("ticket")
	valid := h.tickets[id] && !h.closed
	delete(h.tickets, id)
	if valid {
		h.handlers.Add(1)
	}
	h.mu.Unlock()
	if !valid {
		http.Error(w, "invalid ticket", http.StatusUnauthorized)
		return
	}
	defer h.handlers.Done()
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	l := newLink(ws)
	defer l.end()
	_ = ws.SetReadDeadline(time.Now().Add(pongFor))
	ws.SetPongHandler(func(string) error { return ws.SetReadDeadline(time.Now().Add(pongFor)) })
	written := make(chan struct{})
	go func() {
		defer close(written)
		h.write(l)
	}()
	h.welcome(l)
	for {
		_, data, err := ws.ReadMessage()
		if err != nil {
			break
		}
		h.acknowledge(l, data)
	}
	h.forget(l)
	l.end()
	<-written
}

// welcome says hello on a new connection and gives it what waits, or turns it away.
func (h *hub) welcome(l *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[l] = true
	h.opened++
	switch {
	case h.closed:
		l.end()
		return
	case h.disabled:
		l.dismiss("link_disabled")
		return
	case len(h.links) >= mostSockets:
		l.dismiss("too_many_websockets")
		return
	}
	h.links = append(h.links, l)
	hello, _ := json.Marshal(object{
		"type": "hello", "num_connections": len(h.links),
		"debug_info":      object{"host": "applink-sim", "build_number": 1, "approximate_connection_time": 18060},
		"connection_info": object{"app_id": appID},
	})
	l.push(hello)
	waiting := h.waiting
	h.waiting = nil
	for _, e := range waiting {
		h.send(e)
	}
}

func (h *hub) forget(l *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, l)
	h.links = slices.DeleteFunc(h.links, func(other *link) bool { return other == l })
}

func (h *hub) silent(l *link) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return l.deaf
}

// write sends queued frames and pings until the connection ends.
func (h *hub) write(l *link) {
	defer l.end()
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.ended:
			return
		case <-ticker.C:
			if h.silent(l) {
				_ = l.ws.SetReadDeadline(time.Time{})
				continue
			}
			if l.ws.WriteControl(websocket.PingMessage, []byte("Ping"), time.Now().Add(5*time.Second)) != nil {
				return
			}
		case <-l.wake:
			frames, last := l.take()
			if h.silent(l) {
				continue
			}
			for _, frame := range frames {
				if l.ws.WriteMessage(websocket.TextMessage, frame) != nil {
					return
				}
			}
			if last {
				closing := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
				_ = l.ws.WriteControl(websocket.CloseMessage, closing, time.Now().Add(time.Second))
				return
			}
		}
	}
}
