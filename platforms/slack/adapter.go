// Package slack connects a Slack app to the gateway: events over Socket Mode, messages over the Web API.
//
// Goroutines: Run itself supervises the connection; the library's socket client runs in one more for each connection;
// each conversation with undelivered events has one that hands them to the sink. All have ended when Run returns. Send
// and its siblings run in the caller's goroutine.
//
// Order: events of one conversation reach the sink in the order in which they came over the socket. An envelope is
// acknowledged after the sink has returned; where the sink fails it is asked again, and nothing of that conversation
// overtakes. A button or command that the sink has not taken after one second is acknowledged first, since Slack shows
// the person an error after three.
//
// The app needs Socket Mode, interactivity, the events app_mention, message.channels, message.groups, message.im and
// message.mpim, the scopes that Check compares, and the slash command /talaria; NewManifest describes all of it.
//
// It never retries a post whose outcome it does not know, never lets a text ping anybody, never writes a token into an
// error or a log, and never decides who may talk to the bot.
package slack

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/markup"
)

// Config names an app and how to reach Slack.
type Config struct {
	BotToken string       // "xoxb-...": posts and reads
	AppToken string       // "xapp-..." with connections:write: receives
	APIURL   string       // base of the Web API; empty = https://slack.com/api/
	Log      *slog.Logger // nil = silent

	// Dial opens every connection, HTTP and WebSocket; nil = a net.Dialer, and the proxy that the environment names.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Adapter is one app in one workspace. It implements platforms.Adapter and the capabilities Editor, Deleter, Typer,
// Reactor, Finder, Historian, Checker and Prober.
type Adapter struct {
	cfg   Config
	log   *slog.Logger
	link  *platforms.ConnectionLog
	http  *http.Client
	api   *slack.Client
	pacer *platforms.Pacer
	names *names
	alive atomic.Int64            // unix nanoseconds of the last frame or ping from Slack
	fresh atomic.Int64            // connections after a time of silence
	who   atomic.Pointer[decoder] // nil until Slack has said who the bot is

	mu      sync.Mutex
	ignored map[string]int // envelopes that nobody here understands, by kind
}

var (
	_ platforms.Adapter = (*Adapter)(nil)
	_ platforms.Editor  = (*Adapter)(nil)
	_ platforms.Deleter = (*Adapter)(nil)
	_ platforms.Typer   = (*Adapter)(nil)
	_ platforms.Reactor = (*Adapter)(nil)
	_ platforms.Finder  = (*Adapter)(nil)
	_ platforms.Checker = (*Adapter)(nil)
	_ platforms.Prober  = (*Adapter)(nil)

	_ platforms.Historian = (*Adapter)(nil)
	_ platforms.Fetcher   = (*Adapter)(nil)
)

const (
	dialTimeout    = 10 * time.Second
	requestTimeout = 30 * time.Second
)

// New makes an adapter; it connects nowhere yet.
func New(cfg Config) (*Adapter, error) {
	switch {
	case cfg.BotToken == "":
		return nil, errors.New("the Slack bot token (xoxb-...) is missing")
	case cfg.AppToken == "":
		return nil, errors.New("the Slack app-level token (xapp-...) is missing")
	case strings.HasPrefix(cfg.BotToken, "xapp-") || strings.HasPrefix(cfg.AppToken, "xoxb-"):
		return nil, errors.New("the Slack tokens are swapped: the bot token begins with xoxb-, the app-level token with xapp-")
	}
	if cfg.APIURL == "" {
		cfg.APIURL = slack.APIURL
	}
	cfg.APIURL = strings.TrimSuffix(cfg.APIURL, "/") + "/"
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: requestTimeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   8,
	}
	if cfg.Dial != nil {
		transport.Proxy, transport.DialContext = nil, cfg.Dial
	}
	log := cfg.Log.With("platform", platforms.Slack)
	a := &Adapter{
		cfg:     cfg,
		log:     log,
		link:    platforms.NewConnectionLog(log),
		http:    &http.Client{Transport: transport, Timeout: requestTimeout},
		pacer:   platforms.NewPacer(limitOf),
		ignored: map[string]int{},
	}
	a.api = a.client(a.http)
	a.names = newNames(a)
	return a, nil
}

// client makes a client of the library that sends its requests through do.
func (a *Adapter) client(do interface {
	Do(*http.Request) (*http.Response, error)
},
) *slack.Client {
	return slack.New(a.cfg.BotToken,
		slack.OptionAppLevelToken(a.cfg.AppToken),
		slack.OptionAPIURL(a.cfg.APIURL),
		slack.OptionHTTPClient(do),
		slack.OptionLog(silent{}))
}

// silent drops what the library would print to standard error.
type silent struct{}

func (silent) Output(int, string) error { return nil }

// Name returns platforms.Slack.
func (a *Adapter) Name() platforms.Name { return platforms.Slack }

// Split cuts a text into pieces whose mrkdwn fits into one message.
func (a *Adapter) Split(markdown string) []string { return markup.Slack().Split(markdown) }

// Limits tells what Slack allows. A message is kept below the 4,000 bytes that chat.update accepts, although
// chat.postMessage takes more, so that whatever was posted can be edited. All edits in a workspace share one quota of
// about fifty a minute, hence three seconds between two of them. The status in a thread lasts two minutes; there is none
// at the top level of a conversation.
func (a *Adapter) Limits() platforms.Limits {
	return platforms.Limits{
		Text:       mostText,
		ButtonData: 2000,
		ButtonRows: mostRows,
		EditEvery:  3 * time.Second,
		TypingFor:  2 * time.Minute,
		EditableID: true,
	}
}

// Pace implements platforms.Paced.
func (a *Adapter) Pace() platforms.Pace { return a.pacer.Pace() }

// LastAlive returns when Slack last sent a frame or a ping, the zero time before the first.
func (a *Adapter) LastAlive() time.Time {
	if n := a.alive.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// Ignored returns how many envelopes of which kind were acknowledged without being understood.
func (a *Adapter) Ignored() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := make(map[string]int, len(a.ignored))
	for kind, n := range a.ignored {
		counts[kind] = n
	}
	return counts
}

// ignore counts an envelope that is not understood and logs the first of its kind.
func (a *Adapter) ignore(kind, why string) {
	const mostKinds = 256
	a.mu.Lock()
	if _, known := a.ignored[kind]; !known && len(a.ignored) >= mostKinds {
		kind = "other"
	}
	a.ignored[kind]++
	first := a.ignored[kind] == 1
	a.mu.Unlock()
	if first {
		a.log.Info("ignoring events of a kind that means nothing here", "kind", kind, "reason", why)
	}
}
