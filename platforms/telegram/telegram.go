// Package telegram connects one Telegram bot by long polling.
//
// Run is the one goroutine that polls; besides it there is a short-lived one for each button press, which answers it
// while the sink may still be committing, and Run waits for them. Updates reach the sink one by one in Telegram's order,
// and the offset that confirms them moves only after the sink's commit: what is not committed is delivered again.
// Send and the other calls may run on any goroutine; each takes a permit from the Pacer first.
//
// The package never retries a call by itself, never repeats a message whose fate is unknown, never sleeps out a long
// rate limit on the caller's goroutine, and never lets the bot token, which is part of every URL, into an error or a
// log. It decides nothing about access or sessions.
package telegram

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/platforms/markup"
)

// DefaultURL is the Bot API of Telegram itself.
const DefaultURL = "https://api.telegram.org"

// Config describes the bot.
type Config struct {
	Token  string // from @BotFather: "<bot id>:<secret>"
	APIURL string // of another Bot API server, "http://host:port"; empty = DefaultURL

	Log *slog.Logger // nil = discard
	// Dial makes the connections that all traffic uses; nil = a net.Dialer, and the proxy of the environment.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Pacer replaces Telegram's published rate limits: for benchmarks. Nil = NewPacer().
	Pacer *platforms.Pacer
}

// Adapter is one bot. Make it with New.
type Adapter struct {
	api     *api
	account string // the bot's id, which begins the token
	dialect markup.Dialect
	log     *slog.Logger
	link    *platforms.ConnectionLog

	mu      sync.Mutex
	alive   time.Time      // the last completed poll
	ignored map[string]int // updates that are of no use here, by kind
}

var (
	_ platforms.Adapter          = (*Adapter)(nil)
	_ platforms.Editor           = (*Adapter)(nil)
	_ platforms.Deleter          = (*Adapter)(nil)
	_ platforms.Typer            = (*Adapter)(nil)
	_ platforms.Streamer         = (*Adapter)(nil)
	_ platforms.Reactor          = (*Adapter)(nil)
	_ platforms.Fetcher          = (*Adapter)(nil)
	_ platforms.Checker          = (*Adapter)(nil)
	_ platforms.CommandRegistrar = (*Adapter)(nil)
	_ platforms.Prober           = (*Adapter)(nil)
)

// New makes an adapter; it does not connect yet. The error tells what is wrong with the configuration.
func New(cfg Config) (*Adapter, error) {
	parts := regexp.MustCompile(`^(\d+):\S+$`).FindStringSubmatch(cfg.Token)
	if parts == nil {
		return nil, errors.New(`the telegram token must look like "123456:ABC-DEF"; @BotFather shows it`)
	}
	if cfg.APIURL == "" {
		cfg.APIURL = DefaultURL
	}
	if !strings.HasPrefix(cfg.APIURL, "http://") && !strings.HasPrefix(cfg.APIURL, "https://") {
		return nil, errors.New("the telegram api_url must begin with http:// or https://")
	}
	if strings.Contains(cfg.APIURL, "%") {
		return nil, errors.New("the telegram api_url must not contain a percent sign")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Pacer == nil {
		cfg.Pacer = NewPacer()
	}
	log := cfg.Log.With("platform", string(platforms.Telegram), "account", parts[1])
	return &Adapter{
		api:     newAPI(cfg),
		account: parts[1],
		dialect: markup.Telegram(),
		log:     log,
		link:    platforms.NewConnectionLog(log),
		ignored: map[string]int{},
	}, nil
}

// Name is platforms.Telegram.
func (a *Adapter) Name() platforms.Name { return platforms.Telegram }

// Account is the bot's id, as it stands in addresses.
func (a *Adapter) Account() string { return a.account }

// Split cuts Markdown into pieces of at most 4096 characters as Telegram counts them.
func (a *Adapter) Split(markdown string) []string { return a.dialect.Split(markdown) }

// Limits returns Telegram's limits (core.telegram.org/bots/api#sendmessage, #inlinekeyboardbutton, #sendchataction).
// How often a message may be edited is not published: edits count as messages, of which a chat gets one a second.
func (a *Adapter) Limits() platforms.Limits {
	return platforms.Limits{
		Text:       4096,
		ButtonData: 64,
		ButtonRows: 100,
		EditEvery:  time.Second,
		TypingFor:  5 * time.Second,
		DraftFor:   draftFor,
		EditableID: true,
	}
}

// Pace implements platforms.Paced.
func (a *Adapter) Pace() platforms.Pace { return a.api.pacer.Pace() }

// LastAlive returns when the last poll was answered.
func (a *Adapter) LastAlive() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.alive
}

// Ignored returns how many updates of which kind were acknowledged without being delivered, because they are of no use
// here or could not be read.
func (a *Adapter) Ignored() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := make(map[string]int, len(a.ignored))
	for kind, n := range a.ignored {
		counts[kind] = n
	}
	return counts
}

// ignore counts an update that is not delivered and logs the first of its kind.
func (a *Adapter) ignore(kind string, err error) {
	a.mu.Lock()
	a.ignored[kind]++
	first := a.ignored[kind] == 1
	a.mu.Unlock()
	if !first {
		return
	}
	if err != nil {
		a.log.Warn("an update could not be read and is skipped; further ones like it are only counted", "kind", kind, "error", err)
		return
	}
	a.log.Info("updates of this kind are skipped", "kind", kind)
}
