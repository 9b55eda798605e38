package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"github.com/talaria-agent/talaria/platforms"
)

const (
	callTimeout = 30 * time.Second
	pollTimeout = 50 * time.Second // the longest that the server waits: it clamps to this
	pollGrace   = 15 * time.Second // how much longer than that a poll may take before its connection counts as dead
	maxAnswer   = 32 << 20         // bytes; 100 updates of the largest messages are far below
)

// api makes calls through the client library, which knows neither contexts nor timeouts nor discretion about the token:
// those are added here.
type api struct {
	token     string
	base      string // of all addresses
	endpoint  string // with %s for token and method
	client    *http.Client
	transport *http.Transport
	pacer     *platforms.Pacer
	resting   atomic.Bool // Run is over: connections are not kept for later
}

// call is one request.
type call struct {
	method  string
	params  tgbotapi.Params
	permit  platforms.Permit
	timeout time.Duration // 0 = callTimeout
	once    bool          // must not be repeated when its outcome is unknown
}

func newAPI(cfg Config) *api {
	t := &http.Transport{
		DialContext:         cfg.Dial,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 8,
	}
	if cfg.Dial == nil {
		t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
		t.Proxy = http.ProxyFromEnvironment
	}
	return &api{
		token:     cfg.Token,
		base:      strings.TrimRight(cfg.APIURL, "/"),
		endpoint:  strings.TrimRight(cfg.APIURL, "/") + "/bot%s/%s",
		transport: t,
		client: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the URL holds the token: nobody else gets it
		}},
		pacer: cfg.Pacer,
	}
}

// do takes a permit, makes the call and decodes its result into result, unless that is nil. Errors are *platforms.Error.
func (a *api) do(ctx context.Context, c call, result any) error {
	if wait := frozen(a.pacer, c.permit); wait > patience && c.permit.Priority != platforms.PriorityAck {
		return &platforms.Error{Class: platforms.RateLimited, Op: c.op(), Wait: wait}
	}
	if err := a.pacer.Take(ctx, c.permit); err != nil {
		return &platforms.Error{Class: platforms.Transient, Op: c.op(), Err: err}
	}
	if c.timeout == 0 {
		c.timeout = callTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if a.resting.Load() {
		defer a.transport.CloseIdleConnections()
	}
	once := &request{ctx: ctx, client: a.client}
	bot := &tgbotapi.BotAPI{Token: a.token, Client: once}
	bot.SetAPIEndpoint(a.endpoint)
	response, err := bot.MakeRequest(c.method, c.params)
	if err == nil && result != nil {
		err = json.Unmarshal(response.Result, result)
	}
	if err == nil {
		return nil
	}
	failed := classify(c, a.redact(err), once.written.Load())
	if failed.Class == platforms.RateLimited {
		freeze(a.pacer, c.permit, failed.Wait)
	}
	return failed
}

func (c call) op() string { return "telegram " + c.method }

// rest closes the idle connections, now and after each later call.
func (a *api) rest() {
	a.resting.Store(true)
	a.transport.CloseIdleConnections()
}

// redact takes the token out of an error: net/http puts the whole URL into its errors.
func (a *api) redact(err error) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	_, secret, _ := strings.Cut(a.token, ":")
	if text := err.Error(); strings.Contains(text, secret) {
		return errors.New(strings.ReplaceAll(strings.ReplaceAll(text, a.token, "<token>"), secret, "<token>"))
	}
	return err
}

// request is the HTTP client of one call: it adds the call's context and notes whether anything was sent.
type request struct {
	ctx     context.Context
	client  *http.Client
	written atomic.Bool
}

// Do implements tgbotapi.HTTPClient. An answer that is not the Bot API's becomes an *httpError: the library would
// report it as broken JSON and forget the status.
func (r *request) Do(req *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{WroteHeaders: func() { r.written.Store(true) }}
	resp, err := r.client.Do(req.WithContext(httptrace.WithClientTrace(r.ctx, trace)))
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode >= 300 && kind != "application/json" {
		_ = resp.Body.Close()
		wait, _ := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
		return nil, &httpError{status: resp.StatusCode, wait: wait}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

// httpError is an answer that did not come from the Bot API but from something before it.
type httpError struct {
	status int
	wait   time.Duration
}

func (e *httpError) Error() string {
	return fmt.Sprintf("HTTP status %d (%s), and not an answer of the Bot API", e.status, http.StatusText(e.status))
}
