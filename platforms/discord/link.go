package discord

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

// openTimeout is how long a connection may take until READY or RESUMED. A replay before RESUMED counts in.
const openTimeout = 45 * time.Second

// intents: what the bot wants to hear of. Message content is privileged and has to be enabled in the developer portal.
const intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages | discordgo.IntentMessageContent

// link is one gateway session, over as many connections as it can be resumed on. discordgo's Session object cannot
// change its session id, so a new session is a new link; the old one is dropped once its connection has ended.
type link struct {
	a       *Adapter
	session *discordgo.Session
	down    chan struct{} // discordgo has noticed that the connection ended

	mu        sync.Mutex
	ctx       context.Context // of the connection being made or kept
	target    *url.URL        // where the next connection goes
	gate      *gate           // nil before the connection is made
	interval  time.Duration
	lastAck   time.Time
	connected bool // READY or RESUMED came on this connection
	attempts  int  // connections in a row on which neither came
	begun     bool // READY came once: there is a session
}

// newLink makes a session that will identify itself at the given gateway.
func (a *Adapter) newLink(gateway *url.URL, lanes *lanes) (*link, error) {
	session, err := discordgo.New("Bot " + a.cfg.Token)
	if err != nil {
		return nil, err
	}
	l := &link{a: a, session: session, target: gateway, down: make(chan struct{}, 1)}
	session.LogLevel = -1 // its debug log holds the token
	session.SyncEvents = true
	session.StateEnabled = false
	session.ShouldReconnectOnError = false
	session.Compress = false // the gate reads along
	session.Identify.Intents = intents
	session.Client = &http.Client{Transport: roundTripper(l.whereIsTheGateway)}
	session.Dialer = &websocket.Dialer{HandshakeTimeout: dialTimeout, NetDialContext: l.dialer(a.cfg.Dial), NetDialTLSContext: l.dialer(a.dialTLS)}
	session.AddHandler(func(_ *discordgo.Session, e *discordgo.Event) {
		a.receive(lanes, e.Type, e.RawData)
		if lanes.full() {
			l.end(errBehind)
		}
	})
	session.AddHandler(func(*discordgo.Session, *discordgo.Disconnect) {
		select {
		case l.down <- struct{}{}:
		default:
		}
	})
	return l, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// whereIsTheGateway answers the only call that discordgo makes by itself: GET /gateway.
func (l *link) whereIsTheGateway(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	body, err := json.Marshal(map[string]string{"url": l.target.String()})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(body))), Request: r,
	}, nil
}

// errMoved makes discordgo forget the address that it keeps and ask again: READY names another one for resuming.
var errMoved = errors.New("the gateway is elsewhere")

// dialer puts the gate between a connection and discordgo.
func (l *link) dialer(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(handshake context.Context, network, address string) (net.Conn, error) {
		l.mu.Lock()
		ctx, target := l.ctx, l.target
		l.mu.Unlock()
		if address != hostPort(target) {
			return nil, errMoved
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(handshake, cancel)()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		g := newGate(conn, l)
		l.mu.Lock()
		l.gate = g
		ended := l.ctx.Err() != nil
		l.mu.Unlock()
		if ended {
			return nil, g.end(errStopped)
		}
		return g, nil
	}
}

// hostPort is a URL's address as a dialer gets it.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "wss" {
		return u.Host + ":443"
	}
	return u.Host + ":80"
}

// keep connects, or resumes, and returns why the connection ended.
func (l *link) keep(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	l.ctx, l.gate, l.connected, l.interval, l.lastAck = ctx, nil, false, 0, time.Time{}
	l.attempts++
	l.mu.Unlock()
	select { // a word about the connection before
	case <-l.down:
	default:
	}
	stop := context.AfterFunc(ctx, func() { l.end(errStopped) })
	defer stop()
	watchdog := time.AfterFunc(openTimeout, func() {
		if !l.isConnected() {
			l.end(errStuck)
			cancel(errStuck)
		}
	})
	defer watchdog.Stop()

	err := l.session.Open()
	if errors.Is(err, errMoved) {
		err = l.session.Open()
	}
	if err != nil {
		return l.why(err)
	}
	return l.watchOver()
}

// watchOver waits for the end of the connection and brings it about when heartbeats are not acknowledged.
func (l *link) watchOver() error {
	for {
		deaf := time.NewTimer(time.Until(l.deafAt()))
		select {
		case <-l.down:
			deaf.Stop()
			return l.why(errors.New("connection to the gateway lost"))
		case <-deaf.C:
			if !time.Now().Before(l.deafAt()) {
				l.end(errDeaf)
				<-l.down
				return l.why(errDeaf)
			}
		}
	}
}

// deafAt is when the last sign of life is one and a half heartbeats old.
func (l *link) deafAt() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastAck.Add(l.interval * 3 / 2)
}

// end cuts the connection, if there is one.
func (l *link) end(reason error) {
	l.mu.Lock()
	g := l.gate
	l.mu.Unlock()
	if g != nil {
		_ = g.end(reason)
	}
}

// why is the reason for the end of the connection, where discordgo only knows that it ended.
func (l *link) why(otherwise error) error {
	l.mu.Lock()
	g := l.gate
	l.mu.Unlock()
	if g == nil {
		return otherwise
	}
	return g.end(otherwise)
}

func (l *link) isConnected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.connected
}

func (l *link) hello(interval time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.interval, l.lastAck = interval, time.Now()
}

func (l *link) acknowledged() {
	now := time.Now()
	l.mu.Lock()
	l.lastAck = now
	l.mu.Unlock()
	l.a.alive.Store(now.UnixNano())
}

// ready notes who the bot is and where its session can be resumed.
func (l *link) ready(data json.RawMessage) {
	var r struct {
		User        wireUser `json:"user"`
		ResumeURL   string   `json:"resume_gateway_url"`
		Application struct {
			ID string `json:"id"`
		} `json:"application"`
	}
	if json.Unmarshal(data, &r) != nil || r.Application.ID == "" || r.User.ID == "" {
		l.oddFrame("READY without a user and an application")
		return
	}
	l.a.me.Store(&identity{application: r.Application.ID, user: r.User.ID, name: r.User.Username})
	l.a.fresh.Add(1)
	if u, err := url.Parse(r.ResumeURL); err == nil && (u.Scheme == "ws" || u.Scheme == "wss") && u.Host != "" {
		l.mu.Lock()
		l.target = u
		l.mu.Unlock()
	}
	l.resumed()
}

func (l *link) resumed() {
	l.mu.Lock()
	l.connected, l.begun, l.attempts = true, true, 0
	l.mu.Unlock()
	l.acknowledged()
	if me := l.a.me.Load(); me != nil {
		l.a.link.Connected("@" + me.name)
	}
}

func (l *link) oddFrame(kind string) { l.a.odd.note(kind, nil) }
