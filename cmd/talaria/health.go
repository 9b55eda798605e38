package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/metrics"
	"github.com/talaria-agent/talaria/platforms"
)

// operatorHandler serves /healthz, which answers 200 while the program works, /readyz, which does so only while every
// platform shows signs of life and the store takes new work, and the figures at /metrics. The first two say what each platform looks like.
func operatorHandler(adapters []platforms.Adapter, trouble func() error, figures *metrics.Metrics) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		states, _ := lives(adapters)
		report(w, http.StatusOK, "ok", states)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		states, all := lives(adapters)
		switch err := trouble(); {
		case err != nil:
			report(w, http.StatusServiceUnavailable, "not ready: "+err.Error(), states)
		case !all:
			report(w, http.StatusServiceUnavailable, "not ready", states)
		default:
			report(w, http.StatusOK, "ready", states)
		}
	})
	mux.Handle("GET /metrics", figures.Handler())
	return mux
}

func report(w http.ResponseWriter, code int, status string, states map[platforms.Name]gateway.Life) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client is gone if this fails
		"status": status, "version": version(), "platforms": states,
	})
}

// lives says how all platforms look, and whether all are alive.
func lives(adapters []platforms.Adapter) (states map[platforms.Name]gateway.Life, all bool) {
	states, all = map[platforms.Name]gateway.Life{}, true
	for _, a := range adapters {
		states[a.Name()] = gateway.LifeOf(a)
		all = all && states[a.Name()] == gateway.Alive
	}
	return states, all
}

// serveHTTP serves a handler on an address until the context ends.
func serveHTTP(ctx context.Context, address string, h http.Handler) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

// health asks a running instance. It is what the container's health check runs.
func health(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("health", stderr)
	path := f.String("config", "", "config file (default: config.toml, if there is one)")
	ready := f.Bool("ready", false, "ask whether every platform shows signs of life, too")
	if _, err := parse(f, args); err != nil {
		return err
	}
	cfg, _, err := loadConfig(findConfig(*path), os.Getenv)
	if err != nil {
		return err
	}
	if cfg.HTTP.Listen == "" {
		return fmt.Errorf("http.listen is not set, so there is nothing to ask; set it, or TALARIA_HTTP_LISTEN")
	}
	host, port, err := net.SplitHostPort(cfg.HTTP.Listen)
	if err != nil {
		return err
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	page := "/healthz"
	if *ready {
		page = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+page, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("no answer from the running instance: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, string(body))
	if res.StatusCode != http.StatusOK {
		return exit{code: 1}
	}
	return nil
}
