package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/talaria-agent/talaria/cmd/talaria/control"
	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
)

// instance is what the operations of the command line work on. Package control says how to add one.
type instance struct {
	config  func() *Config   // as it is now; it must not be changed
	store   sessions.Store   // read-only for an operation that only reads, if no instance is running
	gateway *gateway.Gateway // nil if no instance is running; Running operations have it always
}

func (i instance) operations() control.Operations {
	return control.Operations{
		"explain":         control.Reading(i.explain),
		"sessions.list":   control.Reading(i.listSessions),
		"sessions.export": control.Reading(i.exportSession),
		"sessions.backup": control.Reading(i.backup),
		"sessions.delete": control.Writing(i.deleteSession),
		"audit":           control.Reading(i.auditLog),
		"audit.verify":    control.Reading(i.verifyAudit),
		"forget":          control.Writing(i.forget),
	}
}

// serveControl lets the command line reach this instance. One that cannot be reached still does its work.
func serveControl(ctx context.Context, i instance, redact redactor, log *slog.Logger) error {
	s := control.Server{Folder: i.config().state(), Operations: i.operations(), Redact: redact.text}
	if err := s.Serve(ctx); err != nil {
		log.Warn("talaria's other commands cannot reach this instance", "err", err)
	}
	return nil
}

// operate does an operation: by the running instance, or on the store if there is none.
func operate(ctx context.Context, cfg Config, operation string, request any, out io.Writer) error {
	err := askInstance(ctx, cfg, operation, request, out)
	if !errors.Is(err, control.ErrNoInstance) {
		return err
	}
	op, ok := instance{}.operations()[operation]
	if !ok {
		return fmt.Errorf("there is no operation %q", operation)
	}
	if op.Need == control.Run {
		return fmt.Errorf("%w (%s)", control.ErrNoInstance, cfg.DataDir)
	}
	store, err := openAs(cfg, op.Need)
	if errors.Is(err, sessions.ErrInUse) { // it may have started just now
		if err := askInstance(ctx, cfg, operation, request, out); !errors.Is(err, control.ErrNoInstance) {
			return err
		}
		return fmt.Errorf("%s is in use by a program that does not answer; is it just starting or stopping? Try again", cfg.database())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no data in %s; does data_dir name the right folder?", cfg.DataDir)
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(request)
	if err == nil {
		err = instance{config: always(&cfg), store: store}.operations()[operation].Do(ctx, body, out)
	}
	if err != nil {
		err = errors.New(newRedactor(cfg.secrets()...).text(err.Error()))
	}
	return errors.Join(err, store.Close())
}

func askInstance(ctx context.Context, cfg Config, operation string, request any, out io.Writer) error {
	client, err := control.Find(cfg.state())
	if err != nil {
		return err
	}
	return client.Do(ctx, operation, request, out)
}

// openAs opens the store for what an operation needs. Whatever it is, there must be one already.
func openAs(cfg Config, need control.Need) (sessions.Store, error) {
	if need == control.Read {
		return bolt.OpenToRead(cfg.database())
	}
	if _, err := os.Stat(cfg.database()); err != nil {
		return nil, err
	}
	return bolt.Open(cfg.database())
}
