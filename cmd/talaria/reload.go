package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settleFor = 300 * time.Millisecond // of quiet after which a file counts as written
	doubtFor  = time.Second            // that a file which cannot be used has for becoming a better one
)

// reloader reads the config again when its files change and at SIGHUP, and gives the running gateway what can change. A
// config that cannot be used changes nothing; the log and the owner are told of it.
type reloader struct {
	gateway *wired
	level   *slog.LevelVar
	log     *slog.Logger
	started Config // as the program was started
	now     atomic.Pointer[Config]
	seen    string // digest of the files as they were read last
}

func newReloader(cfg Config, g *wired, level *slog.LevelVar, log *slog.Logger) *reloader {
	r := &reloader{gateway: g, level: level, log: log, started: cfg}
	r.now.Store(&cfg)
	r.seen = r.digest()
	return r
}

// config returns the config as it is now. It must not be changed.
func (r *reloader) config() *Config { return r.now.Load() }

// run works until the context ends.
func (r *reloader) run(ctx context.Context) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	var changes <-chan fsnotify.Event
	var troubles <-chan error
	watcher, err := r.watch()
	if err != nil {
		r.log.Warn("the config file is not watched; SIGHUP has it read again", "error", err)
	} else if watcher != nil {
		defer watcher.Close()
		changes, troubles = watcher.Events, watcher.Errors
	}
	quiet := time.NewTimer(settleFor) // it may have changed since it was read
	defer quiet.Stop()
	for doubted := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-hangup:
			doubted = false
			r.reload(ctx, true)
		case err := <-troubles:
			r.log.Warn("a change of the config file may go unnoticed; SIGHUP has it read again", "error", err)
		case <-changes:
			doubted = false
			quiet.Reset(settleFor)
		case <-quiet.C:
			if r.digest() == r.seen {
				continue
			}
			if _, _, err := loadConfig(r.started.File, os.Getenv); err != nil && !doubted { // somebody may just be writing it
				doubted = true
				quiet.Reset(doubtFor)
				continue
			}
			r.reload(ctx, false)
		}
	}
}

// files returns what the config is read from, nothing if there is no config file.
func (r *reloader) files() (all []string) {
	if r.started.File == "" {
		return nil
	}
	cfg := r.config()
	all = []string{r.started.File, cfg.EnvFile}
	for _, s := range cfg.secretFields() {
		all = append(all, s.file)
	}
	return slices.DeleteFunc(all, func(file string) bool { return file == "" })
}

// watch watches the folders of the files, because editors put a new file in the place of the old one. It returns nil if
// there are none.
func (r *reloader) watch() (*fsnotify.Watcher, error) {
	files := r.files()
	if len(files) == 0 {
		return nil, nil
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := watcher.Add(filepath.Dir(file)); err != nil {
			_ = watcher.Close()
			return nil, fmt.Errorf("watch the folder of %s: %w", file, err)
		}
	}
	return watcher, nil
}

// digest stands for what is in the files.
func (r *reloader) digest() string {
	h := sha256.New()
	for _, file := range r.files() {
		text, err := os.ReadFile(file)
		fmt.Fprintf(h, "%s %d %v\n%s", file, len(text), err != nil, text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// reload reads the config and makes it that of the running gateway, as far as that goes.
func (r *reloader) reload(ctx context.Context, asked bool) {
	if r.started.File == "" {
		r.log.Info("there is no config file to read again; the environment counts from a start on")
		return
	}
	r.seen = r.digest()
	fresh, warnings, err := loadConfig(r.started.File, os.Getenv)
	if err == nil {
		err = r.adopt(&fresh, asked)
	}
	if err == nil {
		for _, w := range warnings {
			r.log.Warn(w)
		}
		return
	}
	r.log.Error("the config cannot be used; going on with the one before", "error", err)
	text := strings.ReplaceAll(r.gateway.redact.text(err.Error()), "```", "`")
	r.gateway.TellOwner(ctx, "config-"+r.seen[:16], "The config was changed and cannot be used, so I go on with the one before:\n```\n"+text+"\n```")
}

// adopt makes a config that of the running gateway and logs what came of it: which keys are in force, and which wait for
// the next start.
func (r *reloader) adopt(fresh *Config, asked bool) error {
	old := r.config()
	next := r.started.settled(fresh)
	inForce, waiting := changedKeys(old, &next), changedKeys(&next, fresh)
	if len(inForce) > 0 {
		if err := r.gateway.change(&next); err != nil {
			return err
		}
		r.level.Set(next.Log.level())
		r.now.Store(&next)
		r.log.Info("the config was read again", "changed", strings.Join(inForce, ", "))
	} else if asked {
		r.log.Info("the config was read again; nothing in it is new that can change now")
	}
	if len(waiting) > 0 {
		r.log.Warn("some changes of the config count from the next start on", "keys", strings.Join(waiting, ", "))
	}
	return nil
}
