// Package tracing makes OpenTelemetry traces of what a gateway tells: one a turn, with a span for each call to a model,
// each call of a tool, each sub-agent's calls, and the delivery of the answer. They go to a collector by OTLP over HTTP.
//
// A Traces starts the goroutine of the library's batches, which Close waits for; Observe blocks nobody and may be called
// from any goroutine. It is lossy: what the collector does not take is dropped. No span holds what people, models or tools
// have written, nor the text of an error: only names, ids, counts, classes and times.
//
// Nothing is kept between two events. The ids of a trace and of its spans are made of the turn's id, so a turn that goes on
// in another process, and an answer that another one delivers, are in the same trace.
package tracing

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop"
)

// Config says where traces go.
type Config struct {
	URL     string            // of the collector's traces: "http://localhost:4318/v1/traces"
	Headers map[string]string // sent along, for a collector that wants a key
	Version string            // of the program
	Log     *slog.Logger
}

// Traces makes spans.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// New makes traces that go to a collector. Close must follow.
func New(c Config) (*Traces, error) {
	about, err := resource.New(context.Background(), resource.WithAttributes(
		attribute.String("service.name", "talaria"), attribute.String("service.version", c.Version),
	), resource.WithFromEnv()) // OTEL_SERVICE_NAME counts more
	if err != nil {
		return nil, fmt.Errorf("say who the traces are from: %w", err)
	}
	to, err := newCollector(c)
	if err != nil {
		return nil, err
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(to), sdk.WithResource(about), sdk.WithIDGenerator(ids{}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(to.complain))
	return &Traces{provider: p, tracer: p.Tracer("talaria")}, nil
}

// Close sends what waits, as long as the context allows.
func (t *Traces) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Observe makes spans of what the gateway tells.
func (t *Traces) Observe(e gateway.Event) {
	switch e := e.(type) {
	case gateway.InTurn:
		t.inTurn(e, "", e.Event)
	case gateway.RowSettled:
		t.delivered(e)
	}
}

// inTurn makes a span of what ended in a turn, or in a sub-agent of the call that within names.
func (t *Traces) inTurn(in gateway.InTurn, within string, e loop.Event) {
	s := span{trace: in.Task, parent: within, ends: time.Now()}
	switch e := e.(type) {
	case loop.ModelReturned:
		s.name, s.id, s.begins = "model "+e.Model, fmt.Sprint(within, "model ", e.Round, s.ends.UnixNano()), s.ends.Add(-e.Took)
		s.failed = string(e.Class)
		s.about = []attribute.KeyValue{
			attribute.String("gen_ai.request.model", e.Model), attribute.Int("talaria.round", e.Round),
			attribute.Int("gen_ai.usage.input_tokens", e.Usage.Input), attribute.Int("gen_ai.usage.output_tokens", e.Usage.Output),
			attribute.Int("talaria.usage.cached_tokens", e.Usage.Cached),
		}
	case loop.CallEnded:
		s.name, s.id, s.begins = "tool "+e.Tool, call(within, e.CallID), s.ends.Add(-e.Took)
		if within != "" { // two sub-agents of one call may give their calls the same names
			s.id += " " + s.ends.String()
		}
		s.failed = string(e.Class)
		s.about = []attribute.KeyValue{
			attribute.String("gen_ai.tool.name", e.Tool), attribute.String("talaria.call", e.CallID),
			attribute.String("talaria.outcome", string(e.Outcome)),
		}
		if e.Stage != "" {
			s.about = append(s.about, attribute.String("talaria.stage", e.Stage))
		}
	case loop.SubAgent:
		t.inTurn(in, call(within, e.CallID), e.Event)
		return
	case loop.Ended:
		if within != "" {
			return
		}
		s.name, s.id, s.begins = "turn", in.Task, in.Started
		if r := e.Outcome.Reason; r != loop.EndAnswered && r != loop.EndStopped && r != loop.EndSuperseded {
			s.failed = string(r)
		}
		s.about = []attribute.KeyValue{
			attribute.String("talaria.reason", string(e.Outcome.Reason)), attribute.Int("talaria.rounds", e.Outcome.Rounds),
			attribute.Int("talaria.calls", e.Outcome.Calls),
		}
	default:
		return
	}
	s.about = append(s.about, attribute.String("talaria.platform", string(in.Platform)), attribute.String("talaria.conversation", string(in.Conversation)),
		attribute.String("talaria.task", in.Task), attribute.String("talaria.message", string(in.Message)))
	t.put(s)
}

// call names the span of a tool call.
func call(within, id string) string { return within + "call " + id }

// delivered makes a span of the way of an answer. One that is from no turn has a trace of its own.
func (t *Traces) delivered(e gateway.RowSettled) {
	if e.Queued.IsZero() {
		return
	}
	s := span{
		trace: e.Task, name: "delivery", id: "row " + string(e.Row), begins: e.Queued, ends: time.Now(),
		about: []attribute.KeyValue{
			attribute.String("talaria.platform", string(e.Platform)), attribute.String("talaria.conversation", string(e.Conversation)),
			attribute.String("talaria.row", string(e.Row)), attribute.String("talaria.state", string(e.State)),
			attribute.Int("talaria.attempts", e.Attempts),
		},
	}
	if e.State != "sent" {
		s.failed = string(e.State)
	}
	if e.Task != "" {
		s.about = append(s.about, attribute.String("talaria.task", e.Task))
	} else {
		s.trace = s.id
	}
	if e.Message != "" {
		s.about = append(s.about, attribute.String("talaria.message", string(e.Message)))
	}
	t.put(s)
}

// span is something that ended.
type span struct {
	trace  string // what makes the id of the trace: the turn
	id     string // what makes its own
	parent string // id of the span that it is in; empty = the turn's
	name   string
	failed string // what went wrong, a word; empty = nothing did
	about  []attribute.KeyValue

	begins, ends time.Time
}

// put makes the span.
func (t *Traces) put(s span) {
	if s.parent == "" {
		s.parent = s.trace
	}
	ctx := context.WithValue(context.Background(), wanted{}, s)
	if s.id != s.trace {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: traceID(s.trace), SpanID: spanID(s.trace, s.parent), TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	_, made := t.tracer.Start(ctx, s.name, trace.WithTimestamp(s.begins), trace.WithAttributes(s.about...))
	if s.failed != "" {
		made.SetStatus(codes.Error, s.failed)
	}
	made.End(trace.WithTimestamp(s.ends))
}

// wanted is the context key under which ids finds the span that it is to name.
type wanted struct{}

// ids names spans after what they are about.
type ids struct{}

// NewIDs implements sdk.IDGenerator.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	s, _ := ctx.Value(wanted{}).(span)
	return traceID(s.trace), spanID(s.trace, s.id)
}

// NewSpanID implements sdk.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	s, _ := ctx.Value(wanted{}).(span)
	return spanID(s.trace, s.id)
}

func traceID(of string) (id trace.TraceID) {
	sum := sha256.Sum256([]byte("trace " + of))
	copy(id[:], sum[:])
	return id
}

func spanID(within, of string) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("span " + within + " " + of))
	copy(id[:], sum[:])
	return id
}
