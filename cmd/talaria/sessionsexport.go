package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/loop/recording"
	"github.com/talaria-agent/talaria/sessions"
)

// recordings returns the folder of recordings.
func (c *Config) recordings() *recording.Folder {
	return &recording.Folder{
		Path: filepath.Join(c.state(), "recordings"), Max: int64(c.Recording.MaxMB) << 20, Program: version(),
	}
}

// exportCommand writes a turn, or all turns of a session, to a file or to standard output.
func exportCommand(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	f := flags("sessions export", stderr)
	config := dataFlags(f)
	session := f.Int("session", 0, "export all turns of this session, as numbered by \"talaria sessions list KEY\"")
	turn := f.String("turn", "", "export this turn (default: the last one)")
	output := f.String("o", "", "file to write (default: standard output)")
	found, err := parse(f, args, "KEY")
	if err != nil {
		return err
	}
	cfg, err := config()
	if err != nil {
		return err
	}
	request := exportRequest{Key: sessions.Key(found[0]), Session: *session, Turn: *turn}
	if *output == "" {
		return operate(ctx, cfg, "sessions.export", request, stdout)
	}
	file, err := os.OpenFile(*output, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	err = errors.Join(operate(ctx, cfg, "sessions.export", request, file), file.Close())
	if err != nil {
		_ = os.Remove(*output)
	}
	return err
}

// exportRequest asks for one turn, for all of a session (numbered from 1), or, with neither, for the last turn.
type exportRequest struct {
	Key     sessions.Key `json:"key"`
	Session int          `json:"session,omitempty"`
	Turn    string       `json:"turn,omitempty"`
}

// exportSession is the operation.
func (i instance) exportSession(ctx context.Context, in exportRequest, out io.Writer) error {
	c, err := i.summary(ctx, in.Key)
	if err != nil {
		return err
	}
	turns, err := in.turns(c)
	if err != nil {
		return err
	}
	folder := i.config().recordings()
	_, err = recording.Export(out, i.store.History(ctx, in.Key, 0), turns,
		func(turn string) (io.ReadCloser, error) { return folder.Open(in.Key, turn) }, i.withoutSecrets())
	return err
}

// withoutSecrets takes out what the config knows to be a secret, and what looks like one.
func (i instance) withoutSecrets() func(string) string {
	known := newRedactor(i.config().secrets()...).text
	return func(text string) string { return loop.WithoutSecrets(known(text)) }
}

// turns returns the ids of the turns that are asked for.
func (r exportRequest) turns(c conversationSummary) ([]string, error) {
	var all []turnSummary
	for n, s := range c.Sessions {
		if r.Session == 0 || r.Session == n+1 {
			all = append(all, s.Turns...)
		}
	}
	if r.Turn != "" {
		all = slices.DeleteFunc(all, func(t turnSummary) bool { return t.ID != r.Turn })
	} else if r.Session == 0 {
		all = all[max(0, len(all)-1):]
	}
	switch {
	case len(all) > 0:
	case c.turns() == 0:
		return nil, noConversation(c.Key)
	case r.Turn != "":
		return nil, fmt.Errorf("there is no turn %q; talaria sessions list %s shows all", r.Turn, c.Key)
	default:
		return nil, fmt.Errorf("there is no session %d; talaria sessions list %s shows all", r.Session, c.Key)
	}
	ids := make([]string, len(all))
	for i, t := range all {
		ids[i] = t.ID
	}
	return ids, nil
}

// replayCommand needs no config and no instance: it works on the file alone.
func replayCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	found, err := parse(flags("sessions replay", stderr), args, "FILE")
	if err != nil {
		return err
	}
	file, err := os.Open(found[0])
	if err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	defer file.Close()
	live, err := liveTools()
	if err != nil {
		return err
	}
	same, err := recording.Replay(ctx, bufio.NewReader(file), live, loop.WithoutSecrets)
	for _, s := range same {
		fmt.Fprintln(stdout, "the same:", s)
	}
	return err
}
