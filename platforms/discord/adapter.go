// Package discord connects one Discord bot: events come over the gateway websocket, everything else goes over the HTTP
// API. It speaks through discordgo and is the only package that imports it.
//
// What discordgo is trusted with is its session (IDENTIFY, RESUME, heartbeats) and the making of HTTP requests. What it
// is kept from is everything that it does not survive: reconnecting is done here (link.go, gateway.go), frames that
// deadlock it or make it lose its session never reach it (gate.go), its rate limiter never waits (api.go), and events are
// decoded here from their raw form (wire.go).
//
// Goroutines: Run starts a fixed number of lanes, which hand updates to the sink in order, one a channel; one goroutine
// for each interaction until it is acknowledged; and what discordgo starts for a connection (reader, heartbeat). All of
// them have ended when Run returns.
//
// Order: the updates of one channel reach the sink in the order in which the gateway sent them; one whose sink call
// failed is tried again before its successors. The gateway has no acknowledgement, so an update that was received and
// not yet handed over is lost if the process dies at that moment; one that was missed while disconnected is replayed
// when the session could be resumed.
//
// It never decides who may talk to the bot, and never sends anything twice by itself.
package discord

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/markup"
)

// Config is what an adapter needs to know. Only Token is required.
type Config struct {
	Token      string // of the bot, without "Bot "
	APIURL     string // stands for https://discord.com/api/v9; without a path, /api/v9 is added
	GatewayURL string // ws:// or wss:// address of the gateway; empty = ask the API
	Log        *slog.Logger
	// Dial makes all connections, of HTTP and websocket; nil = net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Adapter is a platforms.Adapter with Editor, Deleter, Typer, Reactor, Checker, CommandRegistrar and Prober.
type Adapter struct {
	cfg     Config
	log     *slog.Logger
	link    *platforms.ConnectionLog
	api     *api
	base    *url.URL // of the HTTP API
	dialect markup.Dialect
	places  *places
	edits   *recent // edit times of messages, to tell edits from other changes
	odd     *oddities

	me    atomic.Pointer[identity]
	alive atomic.Int64 // Unix nanoseconds of the last sign of life
	fresh atomic.Int64 // sessions that were started
}

// identity is who the bot is.
type identity struct {
	application string // the account
	user        string
	name        string
}

var (
	_ platforms.Adapter          = (*Adapter)(nil)
	_ platforms.Editor           = (*Adapter)(nil)
	_ platforms.Deleter          = (*Adapter)(nil)
	_ platforms.Typer            = (*Adapter)(nil)
	_ platforms.Reactor          = (*Adapter)(nil)
	_ platforms.Finder           = (*Adapter)(nil)
	_ platforms.Checker          = (*Adapter)(nil)
	_ platforms.CommandRegistrar = (*Adapter)(nil)
	_ platforms.Prober           = (*Adapter)(nil)
	_ platforms.Historian        = (*Adapter)(nil)
	_ platforms.Fetcher          = (*Adapter)(nil)
)

// New makes an adapter; it connects to nothing yet.
func New(cfg Config) (*Adapter, error) {
	cfg.Token = strings.TrimPrefix(strings.TrimSpace(cfg.Token), "Bot ")
	if cfg.Token == "" {
		return nil, errors.New("discord: the bot token is missing")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	base, err := baseURL(cfg.APIURL)
	if err != nil {
		return nil, err
	}
	if err := checkGatewayURL(cfg.GatewayURL); err != nil {
		return nil, err
	}
	api, err := newAPI(cfg, base)
	if err != nil {
		return nil, err
	}
	log := cfg.Log.With("platform", platforms.Discord)
	return &Adapter{
		cfg: cfg, log: log, link: platforms.NewConnectionLog(log), api: api, base: base, dialect: markup.Discord(),
		places: newPlaces(), edits: newRecent(), odd: newOddities(log),
	}, nil
}

// Name is "discord".
func (a *Adapter) Name() platforms.Name { return platforms.Discord }

// Limits are those of messages and buttons without Components V2.
func (a *Adapter) Limits() platforms.Limits {
	return platforms.Limits{
		Text:       maxContent,
		ButtonData: 100,
		ButtonRows: maxRows,
		EditEvery:  time.Second, // five in five seconds a channel, by the headers
		TypingFor:  10 * time.Second,
		EditableID: true,

		IdempotentFor: nonceWindow,
	}
}

// Split cuts Markdown into messages of at most 2,000 code points.
func (a *Adapter) Split(markdown string) []string { return a.dialect.Split(markdown) }

// Pace implements platforms.Paced.
func (a *Adapter) Pace() platforms.Pace { return a.api.pacer.Pace() }

// LastAlive is the time of the last heartbeat ACK, READY or RESUMED.
func (a *Adapter) LastAlive() time.Time {
	if n := a.alive.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// Run receives until the context ends or the operator has to act.
func (a *Adapter) Run(ctx context.Context, sink platforms.Sink) error {
	lanes := a.openLanes(ctx, sink)
	defer lanes.close()
	defer a.api.http.CloseIdleConnections()
	return a.listen(ctx, lanes)
}

// Check asks who the bot is and whether it could connect, and looks for the intent and the permissions that it needs.
func (a *Adapter) Check(ctx context.Context, _ time.Duration) (platforms.Checked, error) {
	defer a.api.http.CloseIdleConnections()
	me, err := a.identify(ctx)
	if err != nil {
		return platforms.Checked{}, err
	}
	start, err := a.sessionStart(ctx)
	if err != nil {
		return platforms.Checked{}, err
	}
	guilds, err := a.guilds(ctx)
	if err != nil {
		return platforms.Checked{}, err
	}
	c := platforms.Checked{
		Who: fmt.Sprintf("%s (user %s, application %s); %d of %d connections left today",
			me.name, me.user, me.application, start.Limit.Remaining, start.Limit.Total),
		Link: Invite(me.application),
	}
	if !me.content {
		c.Problems = append(c.Problems, platforms.Problem{
			What: "the Message Content intent is not enabled, so Discord refuses the connection (close code 4014)",
			Cure: "switch it on in the developer portal (Bot, Privileged Gateway Intents)",
		})
	}
	if start.Limit.Total > 0 && start.Limit.Remaining < sessionReserve {
		c.Problems = append(c.Problems, platforms.Problem{
			What: "the bot has connected too often today, so it waits, because Discord resets the token of one that goes on",
			Cure: "look in the log why the connection ends again and again",
		})
	}
	c.Problems = append(c.Problems, problems(guilds, me.application)...)
	return c, nil
}

// checked is what a check finds out about the bot.
type checked struct {
	identity
	content bool // may have the Message Content intent
}

// Application flags that grant the Message Content intent: to a verified app, to one in few servers.
const messageContentFlags = 1<<18 | 1<<19

// identify asks the API who the bot is.
func (a *Adapter) identify(ctx context.Context) (checked, error) {
	var user wireUser
	err := a.api.call(ctx, request{op: "get the bot's user", method: http.MethodGet, path: "users/@me", priority: platforms.PriorityLookup, repeatable: true, into: &user})
	if err != nil {
		return checked{}, err
	}
	var app struct {
		ID    string `json:"id"`
		Flags int    `json:"flags"`
	}
	err = a.api.call(ctx, request{op: "get the application", method: http.MethodGet, path: "applications/@me", priority: platforms.PriorityLookup, repeatable: true, into: &app})
	if err != nil {
		return checked{}, err
	}
	me := identity{application: app.ID, user: user.ID, name: user.Username}
	a.me.Store(&me)
	return checked{me, app.Flags&messageContentFlags != 0}, nil
}

// baseURL is the address of the HTTP API, with a slash at its end.
func baseURL(configured string) (*url.URL, error) {
	if configured == "" {
		configured = "https://discord.com"
	}
	u, err := url.Parse(configured)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("discord: the API address %q is not an http:// or https:// URL", configured)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/api/v9"
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	return u, nil
}

func checkGatewayURL(configured string) error {
	if configured == "" {
		return nil
	}
	if u, err := url.Parse(configured); err != nil || u.Host == "" || (u.Scheme != "ws" && u.Scheme != "wss") {
		return fmt.Errorf("discord: the gateway address %q is not a ws:// or wss:// URL", configured)
	}
	return nil
}

const dialTimeout = 15 * time.Second

// dialTLS makes a TLS connection over the configured Dial, for wss:// addresses.
func (a *Adapter) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := a.cfg.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	conn := tls.Client(raw, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12})
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}
