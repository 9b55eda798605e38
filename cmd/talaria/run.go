package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/gateway/metrics"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// run connects to the real platforms and works until it is told to stop.
func run(ctx context.Context, args []string, _, stderr io.Writer) error {
	f := flags("run", stderr)
	path := f.String("config", "", "config file (default: config.toml, if there is one)")
	if _, err := parse(f, args); err != nil {
		return err
	}
	cfg, warnings, err := loadConfig(findConfig(*path), os.Getenv)
	if err != nil {
		return err
	}
	redact := newRedactor(cfg.secrets()...)
	log, level := newLogger(stderr, cfg.Log, redact)
	for _, w := range warnings {
		log.Warn(w)
	}
	adapters, err := wireAdapters(cfg.Platforms, log)
	if err != nil {
		return err
	}
	adapters, shadowed, err := wireShadow(cfg, adapters, log)
	if err != nil {
		return err
	}
	if shadowed != nil {
		defer shadowed.Close()
	}
	store, err := openStore(cfg)
	if err != nil {
		return err
	}
	traces, err := wireTraces(&cfg, log)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	var observe []func(gateway.Event)
	if traces != nil {
		observe = append(observe, traces.Observe)
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), traceFlush(&cfg))
			defer cancel()
			if err := traces.Close(ctx); err != nil {
				log.Warn("the last traces were not sent", "error", err)
			}
		}()
	}
	figures := metrics.New(version())
	g, err := wireGateway(cfg, store, adapters, nil, figures, redact, log, observe...)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	g.Supervised()
	log.Info("talaria starts", "version", version(), "data", cfg.DataDir, "model", cfg.Model.Name)
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	group.Go(func() error {
		defer stop()
		return g.Run(ctx)
	})
	fresh := newReloader(cfg, g, level, log)
	group.Go(func() error { return fresh.run(ctx) })
	group.Go(func() error {
		return serveControl(ctx, instance{config: fresh.config, store: store, gateway: g.Gateway}, redact, log)
	})
	if cfg.HTTP.Listen != "" {
		group.Go(func() error {
			return serveHTTP(ctx, cfg.HTTP.Listen, operatorHandler(adapters, store.Trouble, figures))
		})
	}
	group.Go(func() error {
		err := supervisorFrom(os.Getenv).supervise(ctx, func(ctx context.Context) error {
			_, err := g.Gauges(ctx)
			return err
		}, func() string { return statusLine(adapters) })
		if err != nil {
			log.Warn("systemd could not be told how the program is", "error", err)
		}
		return nil
	})
	err = errors.Join(group.Wait(), store.Close())
	log.Info("talaria has stopped")
	return err
}

// ballast is how many bytes are kept free for what ends running work when the disk is full.
const ballast = 8 << 20

// openStore opens the database in the data folder, which only its owner may read.
func openStore(cfg Config) (*bolt.Store, error) {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	if err := os.MkdirAll(cfg.state(), 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	store, err := bolt.Open(cfg.database())
	switch {
	case errors.Is(err, sessions.ErrInUse):
		return nil, fmt.Errorf("%s: %w Stop it first, or name another data_dir", cfg.database(), err)
	case errors.Is(err, sessions.ErrCorrupt):
		return nil, fmt.Errorf("%w\nRestore a backup, or save what can be saved: talaria sessions repair (docs/operations.md)", err)
	case errors.Is(err, sessions.ErrFull):
		return nil, fmt.Errorf("%w\nMake room there, or see to it that the disk can be written to, and start again. Nothing that was accepted is lost", err)
	case err != nil:
		return nil, err
	}
	if err := store.KeepBallast(context.Background(), ballast); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}
