package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/talaria-agent/talaria/gateway"
	"github.com/talaria-agent/talaria/loop/agenttools"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/sessions/bolt"
	"github.com/talaria-agent/talaria/tools/checkpoint"
)

// backupRequest asks for a copy of the database.
type backupRequest struct {
	File string `json:"file"` // absolute
}

// deleteRequest asks for one conversation to be erased.
type deleteRequest struct {
	Key sessions.Key `json:"key"`
}

// forgetRequest asks for a person to be forgotten.
type forgetRequest struct {
	Person string `json:"person"` // platform:id
}

// backup is the operation.
func (i instance) backup(ctx context.Context, in backupRequest, _ io.Writer) error {
	s, ok := i.store.(interface {
		Backup(ctx context.Context, path string) error
	})
	if !ok {
		return errors.New("this store makes no backups itself; back up its stream with the tools of its server")
	}
	return s.Backup(ctx, in.File)
}

// deleteSession is the operation.
func (i instance) deleteSession(ctx context.Context, in deleteRequest, _ io.Writer) error {
	found := false
	for key, err := range i.store.Keys(ctx) {
		if err != nil {
			return err
		}
		found = found || key == in.Key
	}
	if !found {
		return noConversation(in.Key)
	}
	e, err := i.eraser(ctx)
	if err != nil {
		return err
	}
	return e.Delete(ctx, in.Key)
}

// forget is the operation.
func (i instance) forget(ctx context.Context, in forgetRequest, out io.Writer) error {
	e, err := i.eraser(ctx)
	if err != nil {
		return err
	}
	forgotten, err := e.Forget(ctx, in.Person)
	return errors.Join(err, json.NewEncoder(out).Encode(forgotten))
}

// eraser returns what erases: through the running gateway, or on the store if none runs.
func (i instance) eraser(ctx context.Context) (*gateway.Eraser, error) {
	if i.gateway != nil {
		return i.gateway.Eraser(ctx)
	}
	e := wireEraser(i.config(), agenttools.NewNotes(i.config().notes(), i.config().Memory.Limit, i.config().Memory.UserLimit))
	e.Store = i.store
	if i.config().Tools.Workspace == "" {
		e.WorkRoot = i.config().work()
	}
	return &e, e.Resume(ctx)
}

// wireEraser returns what removes all that is kept beside the store, whether or not the config still has it kept.
func wireEraser(cfg *Config, notes *agenttools.Notes) gateway.Eraser {
	copies := checkpoint.New(checkpoint.Options{Folder: cfg.checkpoints()})
	return gateway.Eraser{Notes: notes, Kept: []func(sessions.Key) error{
		cfg.recordings().Forget,
		func(key sessions.Key) error { return copies.Forget(string(key)) },
	}}
}

// withConfig reads the flags, the arguments and the config of a command.
func withConfig(name string, args []string, stderr io.Writer, names ...string) (Config, []string, error) {
	f := flags(name, stderr)
	path := f.String("config", "", "config file (default: config.toml, if there is one)")
	found, err := parse(f, args, names...)
	if err != nil {
		return Config{}, nil, err
	}
	cfg, _, err := loadConfig(findConfig(*path), os.Getenv)
	return cfg, found, err
}

// backupCommand copies the database, whether or not an instance is running.
func backupCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, found, err := withConfig("sessions backup", args, stderr, "FILE")
	if err != nil {
		return err
	}
	file, err := filepath.Abs(found[0])
	if err != nil {
		return err
	}
	if err := operate(ctx, cfg, "sessions.backup", backupRequest{file}, io.Discard); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s has a copy of all conversations as they are now. Notes and work folders are files below %s; copy these, too.\n", file, cfg.DataDir)
	return nil
}

// deleteCommand erases one conversation.
func deleteCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, found, err := withConfig("sessions delete", args, stderr, "KEY")
	if err != nil {
		return err
	}
	if err := operate(ctx, cfg, "sessions.delete", deleteRequest{sessions.Key(found[0])}, io.Discard); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s is gone, with its files.\n", found[0])
	return nil
}

// forgetCommand erases what there is of a person.
func forgetCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, found, err := withConfig("forget", args, stderr, "USER")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	err = operate(ctx, cfg, "forget", forgetRequest{found[0]}, &out)
	var f gateway.Forgotten
	decoded := json.NewDecoder(&out).Decode(&f)
	for _, key := range f.Keys {
		fmt.Fprintln(stdout, "gone:  ", key)
	}
	for _, key := range f.Shared {
		fmt.Fprintln(stdout, "shared:", key)
	}
	switch {
	case err != nil:
		return err
	case decoded != nil:
		return decoded
	case len(f.Shared) > 0:
		fmt.Fprintln(stdout, "The shared ones hold words of other people, too, and are still there. To remove one whole: talaria sessions delete KEY")
	case len(f.Keys) == 0:
		fmt.Fprintln(stdout, "There are no conversations of that person. Notes about him are gone, if there were any.")
	}
	return nil
}

// repairCommand makes a new database of what can be read in a damaged one.
func repairCommand(_ context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, _, err := withConfig("sessions repair", args, stderr)
	if err != nil {
		return err
	}
	r, err := bolt.Repair(cfg.database())
	if errors.Is(err, sessions.ErrInUse) {
		return fmt.Errorf("%w Stop it first", err)
	}
	if err != nil {
		return err
	}
	records, missing := 0, 0
	for _, l := range r.Logs {
		records, missing = records+l.Saved, missing+l.Lost
		if l.Lost > 0 || l.Reset {
			fmt.Fprintf(stdout, "%s: %d records saved, %d lost", l.Key, l.Saved, l.Lost)
			if l.Reset {
				fmt.Fprint(stdout, "; a new session begins there")
			}
			fmt.Fprintln(stdout)
		}
	}
	for _, l := range r.Logs {
		if len(r.Lost) > 0 && l.From > 1 {
			fmt.Fprintf(stdout, "%s: begins with record %d; what was before is lost, or was removed for its age\n", l.Key, l.From)
		}
	}
	for _, what := range r.Lost {
		fmt.Fprintln(stdout, "not readable:", what)
	}
	fmt.Fprintf(stdout, "%d conversations with %d records are saved, %d records are known to be lost; %d messages wait, %d answers are known.\n",
		len(r.Logs), records, missing, r.Items, r.Rows)
	fmt.Fprintf(stdout, "The damaged file is kept as %s. Remove it when everything works.\n", r.Aside)
	return nil
}
