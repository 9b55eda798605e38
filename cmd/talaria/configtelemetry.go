package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/gateway/tracing"
)

// TelemetryConfig says where traces go. Without an endpoint there are none.
type TelemetryConfig struct {
	Endpoint string `toml:"endpoint"`

	Headers map[string]string `toml:"-"` // for the collector, from the environment
}

// fromEnvironment takes the variables that OpenTelemetry's own libraries know (opentelemetry.io/docs/specs/otel/protocol).
func (t *TelemetryConfig) fromEnvironment(getenv func(string) string) error {
	if getenv("OTEL_SDK_DISABLED") == "true" {
		t.Endpoint = ""
		return nil
	}
	if t.Endpoint == "" {
		t.Endpoint = getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") // the whole address
	}
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); t.Endpoint == "" && base != "" {
		t.Endpoint = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if u, err := url.Parse(t.Endpoint); err == nil && t.Endpoint != "" && strings.Trim(u.Path, "/") == "" {
		t.Endpoint = u.JoinPath("v1", "traces").String()
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for pair := range strings.SplitSeq(getenv(name), ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				if strings.TrimSpace(pair) != "" {
					return fmt.Errorf("%s has a part without \"=\"; write name=value,name=value", name)
				}
				continue
			}
			value, err := url.PathUnescape(strings.TrimSpace(value))
			if err != nil {
				return fmt.Errorf("%s: the value of %q is not encoded as in a URL", name, strings.TrimSpace(key))
			}
			if t.Headers == nil {
				t.Headers = map[string]string{}
			}
			t.Headers[strings.TrimSpace(key)] = value
		}
	}
	return nil
}

// secrets returns what must not be seen of it.
func (t *TelemetryConfig) secrets() (all []string) {
	for _, value := range t.Headers {
		all = append(all, value)
	}
	if u, err := url.Parse(t.Endpoint); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			all = append(all, password)
		}
	}
	return all
}

// wireTraces returns what makes traces, nil if there is nowhere to send them.
func wireTraces(cfg *Config, log *slog.Logger) (*tracing.Traces, error) {
	if cfg.Telemetry.Endpoint == "" {
		return nil, nil
	}
	return tracing.New(tracing.Config{URL: cfg.Telemetry.Endpoint, Headers: cfg.Telemetry.Headers, Version: version(), Log: log})
}

// traceFlush is how much of the time for shutting down is left to the last traces.
func traceFlush(cfg *Config) time.Duration {
	if cfg.Telemetry.Endpoint == "" {
		return 0
	}
	return min(time.Second, cfg.Gateway.ShutdownGrace/8)
}
