package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/talaria-agent/talaria/sessions"
)

func sessionsCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return choose(ctx, "talaria sessions", "Look at conversations, whether or not an instance is running.", []command{
		{"list", "list all conversations, or the sessions and turns of one", listCommand},
		{"export", "write turns with all that models, tools and people said, without secrets", exportCommand},
		{"backup", "copy the database into a file", backupCommand},
		{"delete", "erase a conversation with its files", deleteCommand},
		{"repair", "save what can be saved from a damaged database", repairCommand},
		{"replay", "run the loop on such a file, and say what it does differently now", replayCommand},
	}, args, stdout, stderr)
}

// dataFlags adds the flags that say whose data a command is about, and returns what reads the config after parsing.
func dataFlags(f *flag.FlagSet) func() (Config, error) {
	path := f.String("config", "", "config file (default: config.toml, if there is one)")
	data := f.String("data", "", "data folder, such as the one that the lab names (default: data_dir of the config)")
	return func() (Config, error) {
		cfg, _, err := loadConfig(findConfig(*path), os.Getenv)
		if *data != "" {
			cfg.DataDir = *data
		}
		return cfg, err
	}
}

// listCommand shows what there is, as tables.
func listCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f := flags("sessions list", stderr)
	config := dataFlags(f)
	found, err := parse(f, args, "[KEY]")
	if err != nil {
		return err
	}
	cfg, err := config()
	if err != nil {
		return err
	}
	var request listRequest
	if len(found) > 0 {
		request.Key = sessions.Key(found[0])
	}
	var out bytes.Buffer
	if err := operate(ctx, cfg, "sessions.list", request, &out); err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	if request.Key == "" {
		fmt.Fprintln(table, "KEY\tSESSIONS\tTURNS\tMESSAGES\tTOKENS\tLAST ACTIVITY\tTITLE, OR FIRST WORDS")
	} else {
		fmt.Fprintln(table, "SESSION\tTURN\tSTARTED\tENDED BY\tMODEL CALLS\tTOKENS\tBEGINS WITH")
	}
	for d := json.NewDecoder(&out); ; {
		var c conversationSummary
		if err := d.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read the list: %w", err)
		}
		c.print(table, request.Key != "")
	}
	return table.Flush()
}

// timeLayout is how times are shown.
const timeLayout = "2006-01-02 15:04:05"

func (c conversationSummary) print(w io.Writer, turns bool) {
	if !turns {
		last := c.Sessions[len(c.Sessions)-1]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\n", c.Key, len(c.Sessions), c.turns(), c.messages(), c.tokens(),
			last.Last.Local().Format(timeLayout), cmp.Or(last.Title, last.About))
		return
	}
	for n, s := range c.Sessions {
		for _, t := range s.Turns {
			ended := t.Reason
			if ended == "" {
				ended = "(running)"
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%d\t%s\n", n+1, t.ID, t.Started.Local().Format(timeLayout), ended, t.Rounds, t.Tokens, t.About)
		}
	}
}
