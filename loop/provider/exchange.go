package provider

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/talaria-agent/talaria/loop"
)

// What can go wrong outside of what a server says; the class is loop.ModelNetwork.
var (
	ErrNoConnection = errors.New("the model could not be connected to in time")
	ErrSilent       = errors.New("the model said nothing for too long")
	ErrCut          = errors.New("the reply was cut off before its end")
	errNoEnd        = errors.New("the stream did not end after the reply")
)

const (
	maxErrorBody = 64 << 10
	maxWhole     = 8 << 20 // of a completion that does not come as a stream
)

// Exchange is one HTTP exchange, and the HTTP client that a mode's library sends it through. It watches over the silence
// of the server, turns every response that is no stream into a classified error, and hands on only the events of a
// stream that say something, errors among them as errors: what the libraries make of the rest differs too much.
type Exchange struct {
	client  *http.Client
	mode    Mode
	silence time.Duration
	ctx     context.Context // ends with the call, or with ErrSilent or errNoEnd
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	ending  atomic.Bool // the reply is complete, only the end of the stream is missing
	sawDone bool        // [DONE] came; read and written by the caller's goroutine
}

func newExchange(parent context.Context, client *http.Client, mode Mode, silence time.Duration) *Exchange {
	ctx, cancel := context.WithCancelCause(parent)
	x := &Exchange{client: client, mode: mode, silence: silence, ctx: ctx, cancel: cancel}
	x.timer = time.AfterFunc(silence, func() {
		if x.ending.Load() {
			cancel(errNoEnd)
		} else {
			cancel(ErrSilent)
		}
	})
	return x
}

// Context is the one to send the request with. It ends with the call, or when the watchdog has had enough.
func (x *Exchange) Context() context.Context { return context.WithValue(x.ctx, callKey{}, x.ctx) }

// SawDone tells whether the server said [DONE], with which some end their streams.
func (x *Exchange) SawDone() bool { return x.sawDone }

// close releases the timer and the connection.
func (x *Exchange) close() {
	x.timer.Stop()
	x.cancel(nil)
}

// heard tells the watchdog that the server is alive.
func (x *Exchange) heard() {
	if !x.ending.Load() {
		x.timer.Reset(x.silence)
	}
}

// expectEnd shortens the wait for what comes after a complete reply: usage, and the end of the stream.
func (x *Exchange) expectEnd() {
	if x.ending.CompareAndSwap(false, true) {
		x.timer.Reset(min(AfterFinish, x.silence))
	}
}

// failure classifies what went wrong outside of what the server said.
func (x *Exchange) failure(err error) error {
	var failed *loop.ModelError
	if cause := context.Cause(x.ctx); cause != nil {
		err = cause
	}
	if errors.As(err, &failed) {
		return failed
	}
	var traffic *url.Error // its text holds the address, which may hold a password
	if errors.As(err, &traffic) {
		return Network(traffic.Err)
	}
	return Network(err)
}

// Do sends the request. Its errors are classified if the server answered.
func (x *Exchange) Do(req *http.Request) (*http.Response, error) {
	for name := range req.Header {
		if strings.HasPrefix(name, "X-Stainless-") { // what the libraries tell about this machine
			req.Header.Del(name)
		}
	}
	req.Header.Set("User-Agent", "talaria")
	resp, err := x.client.Do(req)
	if err != nil {
		return nil, err
	}
	x.heard()
	if resp.StatusCode != http.StatusOK {
		return nil, x.refused(resp, resp.Body)
	}
	body := bufio.NewReader(watched{resp.Body, x})
	lines, err := x.stream(resp, body)
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body = &events{lines: lines, body: resp.Body, x: x}
	return resp, nil
}

// refused reads the body of a response and classifies it. It closes the response.
func (x *Exchange) refused(resp *http.Response, body io.Reader) error {
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
	if err != nil && x.ctx.Err() != nil {
		return err
	}
	return classify(resp.StatusCode, resp.Header, text)
}

// stream finds out by its first byte what a successful response is, since its content type cannot be trusted: a
// stream, a whole completion, of which it makes a stream, or an error.
func (x *Exchange) stream(resp *http.Response, body *bufio.Reader) (*bufio.Reader, error) {
	start, err := firstByte(body)
	if err != nil {
		return nil, cut(err)
	}
	switch start {
	case 'd', 'e', 'i', 'r', ':': // data, event, id, retry, a comment
		return body, nil
	case '{':
		raw, err := io.ReadAll(io.LimitReader(body, maxWhole))
		if err != nil {
			return nil, cut(err)
		}
		text := x.mode.Whole(raw)
		if text == nil {
			return nil, classify(resp.StatusCode, resp.Header, raw)
		}
		text = bytes.ReplaceAll(text, []byte("\n"), []byte(" ")) // line breaks in JSON are white space
		return bufio.NewReader(io.MultiReader(bytes.NewReader(text), strings.NewReader("\ndata: [DONE]\n"))), nil
	}
	return nil, x.refused(resp, body)
}

// cut returns the error of a body that ended early.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Network(ErrCut)
	}
	return err
}

// firstByte looks at the first byte that is no white space, without consuming it.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			return b, r.UnreadByte()
		}
	}
}

// watched tells the watchdog about every read.
type watched struct {
	io.Reader
	x *Exchange
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.x.heard()
	}
	return n, err
}
