package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// Client is the side of the command line.
type Client struct{ door door }

// Find returns a client of the instance that says it runs on the state folder, ErrNoInstance if none does. One that was
// killed cannot take back what it said: Do fails with ErrNoInstance then.
func Find(folder string) (*Client, error) {
	d, err := find(folder)
	if err != nil {
		return nil, err
	}
	return &Client{d}, nil
}

// Do has the instance do an operation and writes what it says to out, as it comes. A nil request is none. If the context
// ends, so does the operation's.
func (c *Client) Do(ctx context.Context, operation string, request any, out io.Writer) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", c.door.Socket)
		if err != nil {
			return nil, errors.Join(ErrNoInstance, err)
		}
		return conn, nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+host+"/"+operation, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.door.Token)
	res, err := transport.RoundTrip(req)
	if err == nil {
		defer res.Body.Close()
		err = outcome(res, operation, out)
	}
	switch {
	case errors.Is(err, ErrNoInstance):
		return ErrNoInstance
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

func outcome(res *http.Response, operation string, out io.Writer) error {
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return fmt.Errorf("the running instance cannot do %s; is it of another version?", operation)
	default:
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return fmt.Errorf("the running instance refuses: %s", bytes.TrimSpace(text))
	}
	if _, err := io.Copy(out, res.Body); err != nil {
		return fmt.Errorf("read from the running instance: %w", err)
	}
	text, err := url.QueryUnescape(res.Trailer.Get(errorTrailer))
	if err == nil && text != "" {
		err = errors.New(text)
	}
	return err
}
