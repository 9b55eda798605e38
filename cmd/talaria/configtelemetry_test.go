package main

import (
	"maps"
	"testing"
)

func TestTelemetryFromEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		env     map[string]string
		url     string
		headers map[string]string
		wrong   bool
	}{
		"nothing":                {},
		"the config":             {file: "http://a:4318", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b"}, url: "http://a:4318/v1/traces"},
		"the base":               {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b/otlp/"}, url: "http://b/otlp/v1/traces"},
		"the whole address":      {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b/own"}, url: "http://b/own"},
		"switched off":           {file: "http://a", env: map[string]string{"OTEL_SDK_DISABLED": "true"}},
		"headers":                {env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=b%3D, c=d"}, headers: map[string]string{"a": "b=", "c": "d"}},
		"no header":              {env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a"}, wrong: true},
		"a badly encoded header": {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=%zz"}, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := TelemetryConfig{Endpoint: c.file}
			err := cfg.fromEnvironment(func(name string) string { return c.env[name] })
			if (err != nil) != c.wrong || !c.wrong && (cfg.Endpoint != c.url || !maps.Equal(cfg.Headers, c.headers)) {
				t.Errorf("%q with %v, error %v", cfg.Endpoint, cfg.Headers, err)
			}
		})
	}
}
