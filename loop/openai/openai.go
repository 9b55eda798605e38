// Package openai is a loop.Model that speaks the chat completions protocol, to OpenAI and to the many servers that
// imitate it, which differ in what they leave out.
//
// A call runs on the caller's goroutine and calls back on it, in the order of the stream; the connection's goroutines
// belong to net/http and end with the call or, for idle connections, with Close. The package never retries: it
// classifies what went wrong, and the loop decides. It never gives out half a reply, and no error holds the API key.
package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	chat "github.com/sashabaranov/go-openai"

	"github.com/talaria-agent/talaria/loop"
)

// Defaults of Config. A reasoning model may think for minutes before its first byte.
const (
	DefaultBaseURL        = "https://api.openai.com/v1"
	DefaultConnectTimeout = 20 * time.Second
	DefaultSilence        = 3 * time.Minute
)

// afterFinish is how long the end of a stream is waited for when the reply itself is complete already.
const afterFinish = 5 * time.Second

// Config says where a model is and how long to wait for it.
type Config struct {
	BaseURL string // up to and including the version, as in DefaultBaseURL, which is used if it is empty
	APIKey  string // may be empty, for servers without authentication
	Model   string

	// Dial makes the connections; nil = the network, through the proxy that the environment names.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	ConnectTimeout time.Duration // for the connection alone; 0 = DefaultConnectTimeout
	Silence        time.Duration // before the first byte, and between two reads; 0 = DefaultSilence
}

// Model is one model of one provider. Its methods may be called from any goroutine.
type Model struct {
	config Config
	client *http.Client
}

var _ loop.Model = (*Model)(nil)

// New checks the configuration and makes a Model. It connects to nothing yet.
func New(config Config) (*Model, error) {
	if config.BaseURL == "" {
		config.BaseURL = DefaultBaseURL
	}
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
	return &Model{config: config, client: &http.Client{
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
		ctx, cancel := context.WithTimeoutCause(ctx, config.ConnectTimeout, errNoConnection)
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

// Close drops idle connections; a Model can still be used afterwards.
func (m *Model) Close() { m.client.CloseIdleConnections() }

// Call implements loop.Model. All errors but the context's cause are *loop.ModelError.
func (m *Model) Call(ctx context.Context, req loop.Request, onText func(delta string)) (loop.Reply, error) {
	reply, err := m.call(ctx, req, onText)
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil:
		return loop.Reply{}, context.Cause(ctx)
	}
	return loop.Reply{}, m.redact(err)
}

func (m *Model) call(ctx context.Context, req loop.Request, onText func(string)) (loop.Reply, error) {
	request, err := m.wireRequest(req)
	if err != nil {
		return loop.Reply{}, &loop.ModelError{Class: loop.ModelBadRequest, Err: err}
	}
	x := newExchange(ctx, m.client, m.config.Silence)
	defer x.close()

	config := chat.DefaultConfig(m.config.APIKey)
	config.BaseURL = m.config.BaseURL
	config.HTTPClient = x
	stream, err := chat.NewClientWithConfig(config).CreateChatCompletionStream(context.WithValue(x.ctx, callKey{}, x.ctx), request)
	if err != nil {
		return loop.Reply{}, x.failure(err)
	}
	defer stream.Close()

	a := newAssembly(req.Messages, onText)
	for {
		raw, err := stream.RecvRaw()
		if err == nil {
			err = a.add(raw)
		}
		switch {
		case err == nil:
		case a.finish != "": // whatever happened to the connection, the reply is whole
			return a.reply(), nil
		case errors.Is(err, io.EOF) && x.sawDone && a.begun():
			return a.reply(), nil // some servers give no reason
		case errors.Is(err, io.EOF):
			return loop.Reply{}, network(errCut)
		default:
			return loop.Reply{}, x.failure(err)
		}
		if a.finish != "" {
			x.expectEnd()
		}
	}
}

// redact takes the API key out of an error's text, should a server have repeated it.
func (m *Model) redact(err error) error {
	var failed *loop.ModelError
	if !errors.As(err, &failed) {
		failed = &loop.ModelError{Class: loop.ModelNetwork, Err: err}
	}
	text := failed.Err.Error()
	if key := m.config.APIKey; key != "" && strings.Contains(text, key) {
		clean := *failed
		clean.Err = errors.New(strings.ReplaceAll(text, key, "[key]"))
		return &clean
	}
	return failed
}

func network(err error) *loop.ModelError { return &loop.ModelError{Class: loop.ModelNetwork, Err: err} }

func badRequest(format string, args ...any) *loop.ModelError {
	return &loop.ModelError{Class: loop.ModelBadRequest, Err: fmt.Errorf(format, args...)}
}
