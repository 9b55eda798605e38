package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

const (
	sendFor       = 10 * time.Second // how long a collector may take for one batch
	complainEvery = 10 * time.Minute // how often the log says that it does not take any
)

// collector sends spans by OTLP over HTTP, as JSON (opentelemetry.io/docs/specs/otlp). The library's own exporter would
// bring gRPC along.
type collector struct {
	url     string
	headers map[string]string
	client  *http.Client
	log     *slog.Logger

	mu         sync.Mutex
	complained time.Time
}

var _ sdk.SpanExporter = (*collector)(nil)

func newCollector(c Config) (*collector, error) {
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the address of the collector of traces is no URL: write http://localhost:4318/v1/traces")
	}
	return &collector{url: c.URL, headers: c.Headers, client: &http.Client{Timeout: sendFor}, log: c.Log}, nil
}

// complain logs why spans did not arrive, once in a while.
func (c *collector) complain(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.complained) < complainEvery {
		return
	}
	c.complained = time.Now()
	c.log.Warn("traces do not reach their collector and are dropped", "error", err)
}

// ExportSpans implements sdk.SpanExporter.
func (c *collector) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := json.Marshal(request(spans))
	if err != nil {
		return fmt.Errorf("encode traces: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	answer, err := c.client.Do(r)
	var failed *url.Error
	if errors.As(err, &failed) { // without the address, which may hold a password
		return fmt.Errorf("send traces: %w", failed.Err)
	}
	if err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("send traces: the collector answers %s", answer.Status)
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (c *collector) Shutdown(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// The encoding: the parts of ExportTraceServiceRequest that are used here. Ids are hexadecimal, 64 bit numbers are texts.
type (
	exportJSON struct {
		Spans []resourceSpansJSON `json:"resourceSpans"`
	}
	resourceSpansJSON struct {
		Resource attributesJSON   `json:"resource"`
		Scopes   []scopeSpansJSON `json:"scopeSpans"`
	}
	scopeSpansJSON struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []spanJSON `json:"spans"`
	}
	attributesJSON struct {
		Attributes []attributeJSON `json:"attributes,omitempty"`
	}
	attributeJSON struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
	spanJSON struct {
		TraceID string     `json:"traceId"`
		SpanID  string     `json:"spanId"`
		Parent  string     `json:"parentSpanId,omitempty"`
		Name    string     `json:"name"`
		Kind    int        `json:"kind"`
		Begins  string     `json:"startTimeUnixNano"`
		Ends    string     `json:"endTimeUnixNano"`
		Status  statusJSON `json:"status"`
		attributesJSON
	}
	statusJSON struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
)

// Numbers of the protocol.
const (
	kindInternal = 1
	statusError  = 2
)

// request encodes spans, all of which are of one resource and one scope.
func request(spans []sdk.ReadOnlySpan) exportJSON {
	scope := scopeSpansJSON{}
	scope.Scope.Name = spans[0].InstrumentationScope().Name
	for _, s := range spans {
		out := spanJSON{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: kindInternal,
			Begins: nanos(s.StartTime()), Ends: nanos(s.EndTime()), attributesJSON: attributes(s.Attributes()),
		}
		if s.Parent().SpanID().IsValid() {
			out.Parent = s.Parent().SpanID().String()
		}
		if s.Status().Code == codes.Error {
			out.Status = statusJSON{Code: statusError, Message: s.Status().Description}
		}
		scope.Spans = append(scope.Spans, out)
	}
	return exportJSON{[]resourceSpansJSON{{Resource: attributes(spans[0].Resource().Attributes()), Scopes: []scopeSpansJSON{scope}}}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func attributes(all []attribute.KeyValue) (out attributesJSON) {
	for _, a := range all {
		value := map[string]any{"stringValue": a.Value.String()}
		switch a.Value.Type() {
		case attribute.INT64:
			value = map[string]any{"intValue": strconv.FormatInt(a.Value.AsInt64(), 10)}
		case attribute.BOOL:
			value = map[string]any{"boolValue": a.Value.AsBool()}
		}
		out.Attributes = append(out.Attributes, attributeJSON{Key: string(a.Key), Value: value})
	}
	return out
}
