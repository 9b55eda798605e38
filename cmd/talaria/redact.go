package main

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
)

// secretShapes are the shapes of secrets that may turn up in the texts of libraries, whoever wrote them.
var secretShapes = regexp.MustCompile(`\d{6,}:[A-Za-z0-9_-]{30,}` + // Telegram bot token
	`|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}` + // Slack
	`|[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}` + // Discord bot token
	`|sk-[A-Za-z0-9_-]{16,}`) // model providers

// redactor takes secrets out of texts: those that it was told, and whatever looks like one. Copies share what they know.
// Safe for use from any goroutine.
type redactor struct{ known *atomic.Pointer[knownSecrets] }

type knownSecrets struct {
	all      []string
	replacer *strings.Replacer
}

func newRedactor(secrets ...string) redactor {
	r := redactor{new(atomic.Pointer[knownSecrets])}
	r.known.Store(&knownSecrets{replacer: strings.NewReplacer()})
	r.learn(secrets...)
	return r
}

// learn adds secrets, beside those that it knows. One call at a time.
func (r redactor) learn(secrets ...string) {
	k := &knownSecrets{all: slices.Clone(r.known.Load().all)}
	for _, s := range secrets {
		if len(s) >= 6 && !slices.Contains(k.all, s) {
			k.all = append(k.all, s)
		}
	}
	slices.SortFunc(k.all, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
	var pairs []string
	for _, s := range k.all {
		pairs = append(pairs, s, "[redacted]")
	}
	k.replacer = strings.NewReplacer(pairs...)
	r.known.Store(k)
}

func (r redactor) text(s string) string {
	return secretShapes.ReplaceAllString(r.known.Load().replacer.Replace(s), "[redacted]")
}

// holds tells whether a text holds a secret that it was told. What only looks like one does not count.
func (r redactor) holds(s string) bool { return r.known.Load().replacer.Replace(s) != s }

// password is the one in an address.
var password = regexp.MustCompile(`://[^/\s@]*@`)

// withoutPassword makes an address fit to be shown.
func withoutPassword(address string) string {
	return password.ReplaceAllString(address, "://[redacted]@")
}

// newLogger makes the program's logger: everything that goes through it is redacted. Its level can be changed later.
func newLogger(w io.Writer, cfg LogConfig, r redactor) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(cfg.level())
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: r.attribute}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if cfg.Format == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(quietHandler{redactingHandler{h, r}, &quiet{}}), level
}

func (c *LogConfig) level() (level slog.Level) {
	_ = level.UnmarshalText([]byte(c.Level)) // validated; the zero level is info
	return level
}

// attribute redacts an attribute's value, whatever its type, if its text holds a secret.
func (r redactor) attribute(_ []string, a slog.Attr) slog.Attr {
	if s := a.Value.String(); r.text(s) != s {
		a.Value = slog.StringValue(r.text(s))
	}
	return a
}

// redactingHandler redacts the message, which ReplaceAttr does not see in all handlers.
type redactingHandler struct {
	slog.Handler
	redactor redactor
}

func (h redactingHandler) Handle(ctx context.Context, rec slog.Record) error {
	rec.Message = h.redactor.text(rec.Message)
	return h.Handler.Handle(ctx, rec)
}

func (h redactingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return redactingHandler{h.Handler.WithAttrs(attrs), h.redactor}
}

func (h redactingHandler) WithGroup(name string) slog.Handler {
	return redactingHandler{h.Handler.WithGroup(name), h.redactor}
}
