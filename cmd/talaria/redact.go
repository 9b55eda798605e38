package main

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// secretShapes are the shapes of secrets that may turn up in the texts of libraries, whoever wrote them.
var secretShapes = regexp.MustCompile(`\d{6,}:[A-Za-z0-9_-]{30,}` + // Telegram bot token
	`|xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}` + // Slack
	`|[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}` + // Discord bot token
	`|sk-[A-Za-z0-9_-]{16,}`) // model providers

// redactor takes secrets out of texts: those that it was told, and whatever looks like one.
type redactor struct{ known *strings.Replacer }

func newRedactor(secrets ...string) redactor {
	var pairs []string
	for _, s := range secrets {
		if len(s) >= 6 {
			pairs = append(pairs, s, "[redacted]")
		}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

func (r redactor) text(s string) string {
	return secretShapes.ReplaceAllString(r.known.Replace(s), "[redacted]")
}

// holds tells whether a text holds a secret that it was told. What only looks like one does not count.
func (r redactor) holds(s string) bool { return r.known.Replace(s) != s }

// secrets returns all secrets of a config.
func (c *Config) secrets() []string {
	p := &c.Platforms
	all := []string{c.Model.APIKey, c.Web.APIKey, c.Ops.PrometheusToken, p.Telegram.Token, p.Slack.BotToken, p.Slack.AppToken, p.Discord.Token}
	all = append(all, c.Telemetry.secrets()...)
	for _, e := range c.endpoints() {
		all = append(all, e.APIKey)
	}
	return all
}

// password is the one in an address.
var password = regexp.MustCompile(`://[^/\s@]*@`)

// withoutPassword makes an address fit to be shown.
func withoutPassword(address string) string {
	return password.ReplaceAllString(address, "://[redacted]@")
}

// newLogger makes the program's logger: everything that goes through it is redacted.
func newLogger(w io.Writer, cfg LogConfig, r redactor) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Level)) // validated; the zero level is info
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: r.attribute}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if cfg.Format == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(quietHandler{redactingHandler{h, r}, &quiet{}})
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
