// Package provider is what the API modes of language models have in common: the configuration, the connection and the
// watch over it, the lenient reading of event streams, the one table by which failures are classified, the request made
// fit for any provider, and the reply put together piece by piece. A mode adds how its API words all that; see Mode.
//
// A call runs on the caller's goroutine and calls back on it, in the order of the stream; the connection's goroutines
// belong to net/http and end with the call or, for idle connections, with Close. The package never waits in order to
// try again: it classifies what went wrong, and the loop decides. It never gives out half a reply, and no error holds
// the API key.
package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/talaria-agent/talaria/loop"
)

// Defaults of Config. A reasoning model may think for minutes before its first byte.
const (
	DefaultConnectTimeout = 20 * time.Second
	DefaultSilence        = 3 * time.Minute
)

// AfterFinish is how long the end of a stream is waited for when the reply itself is complete already.
const AfterFinish = 5 * time.Second

// Config says where a model is and how long to wait for it.
type Config struct {
	BaseURL string // up to and including the version, as in https://host/v1; empty = the mode's own
	APIKey  string // may be empty, for servers without authentication
	Model   string

	// Dial makes the connections; nil = the network, through the proxy that the environment names.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	ConnectTimeout time.Duration // for the connection alone; 0 = DefaultConnectTimeout
	Silence        time.Duration // before the first byte, and between two reads; 0 = DefaultSilence

	// ReplayReasoning sends plain reasoning text back in chat completions. DeepSeek's thinking models want that within
	// a task, others refuse it. Reasoning that is signed or encrypted is sent back without it, in every mode.
	ReplayReasoning bool

	Reasoning  loop.Reasoning // how the model is told how much to think; empty = it is not
	Effort     string         // how much: EffortLow, EffortMedium or EffortHigh; empty = as it does by itself
	MostOutput int            // tokens that the model can write, what it thinks included; 0 = not known
}

// The efforts of Config.
const (
	EffortLow    = "low"
	EffortMedium = "medium"
	EffortHigh   = "high"
)

// Thinking returns how many tokens an effort is, for models that are told in tokens, and as what is kept free for the
// others; 0 if there is none.
func (c Config) Thinking() int {
	return map[string]int{EffortLow: 2_048, EffortMedium: 8_192, EffortHigh: 24_576}[c.Effort]
}

// Mode is one way to talk to a model.
type Mode interface {
	// Send sends a conversation through an exchange, and hands the pieces of the answer to a builder as they come. It
	// returns nil at the end of the stream, whether the reply is complete or not. Errors from the exchange come back as
	// they are, whatever the library in between made of them, as long as errors.As finds them.
	Send(x *Exchange, c Conversation, b *Builder) error
	// Frame appends an event of a stream to a buffer, worded for the library that reads it.
	Frame(to, event, data []byte) []byte
	// Whole makes the data of an event of a complete answer that did not come as a stream; nil if it is no answer.
	Whole(body []byte) []byte
}

// Model is one model of one provider. Its methods may be called from any goroutine.
type Model struct {
	config Config
	mode   Mode
	id     string // which reasoning this model can read, see sessions.Opaque
	client *http.Client

	declared atomic.Pointer[declarations] // of the last request
}

var _ loop.Model = (*Model)(nil)

// New checks the configuration and makes a Model. It connects to nothing yet. The name is that of the mode.
func New(name string, config Config, mode Mode) (*Model, error) {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = DefaultConnectTimeout
	}
	if config.Silence == 0 {
		config.Silence = DefaultSilence
	}
	u, err := url.Parse(config.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the model's base URL must look like https://host/v1") // not quoted: it may hold a password
	case config.Model == "":
		return nil, errors.New("the model has no name")
	case config.Effort != "" && config.Thinking() == 0:
		return nil, fmt.Errorf("%q is no effort that a model can be told", config.Effort)
	}
	transport := &http.Transport{
		DialContext:         dialWithin(config),
		TLSHandshakeTimeout: config.ConnectTimeout,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 16,
		ForceAttemptHTTP2:   true,
	}
	if config.Dial == nil {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &Model{config: config, mode: mode, id: name + " " + u.Host + " " + config.Model, client: &http.Client{
		Transport: transport,
		// A redirect would carry the conversation to a server that nobody configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// callKey finds the context of the call that a connection is made for.
type callKey struct{}

// dialWithin limits the time that connecting may take, and ends it with the call: net/http would let it go on.
func dialWithin(config Config) func(context.Context, string, string) (net.Conn, error) {
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, config.ConnectTimeout, ErrNoConnection)
		defer cancel()
		if call, ok := ctx.Value(callKey{}).(context.Context); ok {
			stop := context.AfterFunc(call, cancel)
			defer stop()
		}
		conn, err := dial(ctx, network, address)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return conn, err
	}
}

// Name implements loop.Model.
func (m *Model) Name() string { return m.config.Model }

// Transport replaces the way to the network, for tests that have none.
func (m *Model) Transport(t http.RoundTripper) { m.client.Transport = t }

// Close drops idle connections; a Model can still be used afterwards.
func (m *Model) Close() { m.client.CloseIdleConnections() }
