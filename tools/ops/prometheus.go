package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

const (
	maxAnswer    = 32 << 20 // bytes of one answer of the server
	answerWithin = 60 * time.Second
)

// prometheus is a server that speaks Prometheus' HTTP API (https://prometheus.io/docs/prometheus/latest/querying/api/).
type prometheus struct {
	base, token string
	client      *http.Client
}

func newPrometheus(o Options) *prometheus {
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	return &prometheus{base: strings.TrimSuffix(o.Prometheus, "/"), token: o.Token, client: &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, // so that no goroutine outlives a call
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server sends on to another address; put that into ops.prometheus")
		},
	}}
}

// query is what is asked: at one moment (to) if there is no step.
type query struct {
	text     string
	from, to time.Time
	step     time.Duration
}

// promError is the server's answer that it will not do what was asked.
type promError struct {
	Type    string
	Message string
}

func (e *promError) Error() string { return e.Type + ": " + e.Message }

func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// ask returns the answer to a query. The error is a *promError if the query was refused.
func (p *prometheus) ask(ctx context.Context, q query) (*answer, error) {
	form := url.Values{"query": {q.text}, "timeout": {"50s"}}
	path := "/api/v1/query"
	if q.step > 0 {
		path = "/api/v1/query_range"
		form.Set("start", seconds(q.from))
		form.Set("end", seconds(q.to))
		form.Set("step", strconv.FormatFloat(q.step.Seconds(), 'f', -1, 64))
	} else {
		form.Set("time", seconds(q.to))
	}
	data, warnings, err := p.call(ctx, http.MethodPost, path, form)
	if err != nil {
		return nil, err
	}
	return parseAnswer(data, warnings)
}

// names returns the names of all metrics.
func (p *prometheus) names(ctx context.Context) (all []string, err error) {
	data, _, err := p.call(ctx, http.MethodGet, "/api/v1/label/__name__/values", nil)
	if err != nil {
		return nil, err
	}
	return all, json.Unmarshal(data, &all)
}

// call makes one request and returns what the API wraps its answers in, unwrapped.
func (p *prometheus) call(ctx context.Context, method, path string, form url.Values) (json.RawMessage, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, p.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, nil, fmt.Errorf("ask Prometheus: %w", err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if p.token != "" {
		request.Header.Set("Authorization", "Bearer "+p.token)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("ask Prometheus: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read the answer of Prometheus: %w", err)
	}
	if len(text) > maxAnswer {
		return nil, nil, &promError{"too large", fmt.Sprintf("the answer has over %d MiB", maxAnswer>>20)}
	}
	return unwrap(response, text)
}

func unwrap(response *http.Response, text []byte) (json.RawMessage, []string, error) {
	var body struct {
		Status    string          `json:"status"`
		Data      json.RawMessage `json:"data"`
		ErrorType string          `json:"errorType"`
		Error     string          `json:"error"`
		Warnings  []string        `json:"warnings"`
	}
	err := json.Unmarshal(text, &body)
	switch {
	case err == nil && body.Status == "success":
		return body.Data, body.Warnings, nil
	case err == nil && body.Status == "error" && (response.StatusCode == 400 || response.StatusCode == 422):
		return nil, nil, &promError{body.ErrorType, body.Error}
	}
	return nil, nil, trouble(response, body.Error)
}

// trouble says what kind of trouble a status of HTTP is.
func trouble(response *http.Response, why string) error {
	class := tools.FailTool
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		class = tools.FailPermission
	case http.StatusTooManyRequests:
		class = tools.FailRateLimit
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout: // Prometheus' word for a query that took too long
		class = tools.FailTimeout
	case http.StatusBadGateway:
		class = tools.FailUnreachable
	}
	after, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	err := fmt.Errorf("the server of metrics answers %s", response.Status)
	if why != "" {
		err = fmt.Errorf("%w: %s", err, why)
	}
	return &tools.Trouble{Class: class, Wait: time.Duration(after) * time.Second, Err: err}
}
