package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms"
)

// secretsFile is the file beside the config that the secrets go into.
func (w *wizard) secretsFile() string { return filepath.Join(filepath.Dir(w.file), "secrets.env") }

// write puts both files into place, complete or not at all: they are made, checked and synced in a folder beside, and then
// renamed. What they replace is kept with .old behind its name.
func (w *wizard) write(ctx context.Context) error {
	config, secrets, err := w.texts()
	if err != nil {
		return err
	}
	folder := filepath.Dir(w.file)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	draft, err := os.MkdirTemp(folder, ".talaria-setup-")
	if err != nil {
		return fmt.Errorf("write the config: %w", err)
	}
	defer os.RemoveAll(draft)
	files := []struct{ final, text string }{{w.secretsFile(), secrets}, {w.file, config}} // in this order: the config needs the other
	for _, f := range files {
		if err := writeSynced(filepath.Join(draft, filepath.Base(f.final)), f.text); err != nil {
			return fmt.Errorf("write the config: %w", err)
		}
	}
	if _, _, err := loadConfig(filepath.Join(draft, filepath.Base(w.file)), func(string) string { return "" }); err != nil {
		return fmt.Errorf("what was said does not make a config, and nothing was written: %s", strings.ReplaceAll(newRedactor(w.secrets()...).text(err.Error()), draft+string(filepath.Separator), ""))
	}
	if ctx.Err() != nil {
		return errNothingWritten
	}
	for _, f := range files {
		if err := replace(filepath.Join(draft, filepath.Base(f.final)), f.final); err != nil {
			return fmt.Errorf("write the config: %w", err)
		}
	}
	with := ""
	if w.file != "config.toml" {
		with = " --config " + w.file
	}
	fmt.Fprintf(w.out, "\nWritten: %s, and the secrets to %s, which you alone can read.\n\nNext:\n  talaria check%s   tries everything, also the model's tool calls\n  talaria run%s     starts\n", w.file, w.secretsFile(), with, with)
	return nil
}

// replace renames a file into its place and keeps what was there.
func replace(draft, final string) error {
	if _, err := os.Lstat(final); err == nil {
		if err := os.Rename(final, final+".old"); err != nil {
			return err
		}
	}
	return os.Rename(draft, final)
}

func writeSynced(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// texts returns the config and the secrets as they are to be written.
func (w *wizard) texts() (config, secrets string, err error) {
	var c, s bytes.Buffer
	fmt.Fprintf(&c, `# Written by "talaria setup" on %s. What is not said here has its default; config.toml.example explains every key.
# Most changes count as soon as this file is saved. "talaria check" says whether everything is right.

data_dir = %q              # conversations, work folders, notes
env_file = %q          # tokens and keys, readable by you alone

[model]
api = %q                         # chat, responses or messages
base_url = %q
name = %q
`, time.Now().Format(time.DateOnly), w.dataDir(), filepath.Base(w.secretsFile()), w.model.API, w.model.BaseURL, w.model.Name)
	set := map[string]string{}
	if w.model.APIKey != "" {
		fmt.Fprintf(&c, "api_key = \"${%s}\"\n", w.keyVariable())
		set[w.keyVariable()] = w.model.APIKey
	}
	for _, name := range everyPlatform {
		w.writePlatform(&c, name, set)
	}
	fmt.Fprintf(&c, `
[access]
# Who may use the bot, by stable id. It tells strangers who write to it their id.
users = %s
# Who may also use the admins' commands, and answer for others.
admins = %s
# Groups and channels in which it answers the users above when they mention it: ["slack:C0123ABCD"]
chats = []

[gateway]
# Where you are told what needs care: a platform that stopped, a full disk, a config that cannot be used.
home = %s
`, tomlList(w.people), tomlList(w.people), tomlList(w.homes))
	old, err := os.ReadFile(w.secretsFile())
	if err != nil && !os.IsNotExist(err) {
		return "", "", err
	}
	fmt.Fprintf(&s, "# Secrets of %s, written by \"talaria setup\". A NAME=value a line, without quotes.\n", filepath.Base(w.file))
	for line := range strings.Lines(string(old)) { // what somebody else has put there stays
		name, _, ok := strings.Cut(strings.TrimSpace(line), "=")
		if _, ours := set[name]; ok && !ours && !strings.HasPrefix(name, "#") && !w.isToken(name) {
			fmt.Fprintln(&s, strings.TrimSpace(line))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&s, "%s=%s\n", name, set[name])
	}
	return c.String(), s.String(), nil
}

func (w *wizard) writePlatform(c *bytes.Buffer, name platforms.Name, set map[string]string) {
	tokens := w.tokens(name)
	if *tokens[0].value == "" {
		return
	}
	fmt.Fprintf(c, "\n[platforms.%s]\n", name)
	keys := map[string]string{"SLACK_BOT_TOKEN": "bot_token", "SLACK_APP_TOKEN": "app_token"}
	for _, t := range tokens {
		key := "token"
		if k := keys[t.variable]; k != "" {
			key = k
		}
		fmt.Fprintf(c, "%s = \"${%s}\"\n", key, t.variable)
		set[t.variable] = *t.value
	}
	if url := map[platforms.Name]string{
		platforms.Telegram: w.accounts.Telegram.APIURL, platforms.Slack: w.accounts.Slack.APIURL, platforms.Discord: w.accounts.Discord.APIURL,
	}[name]; url != "" {
		fmt.Fprintf(c, "api_url = %q\n", url)
	}
}

// isToken tells whether a variable holds a platform's token, which would connect it, chosen or not.
func (w *wizard) isToken(variable string) bool {
	for _, name := range everyPlatform {
		for _, t := range w.tokens(name) {
			if t.variable == variable {
				return true
			}
		}
	}
	return false
}

// dataDir is beside the config, whatever folder the program is started in.
func (w *wizard) dataDir() string {
	folder := filepath.Dir(w.file)
	if folder == "." {
		return "./data"
	}
	if absolute, err := filepath.Abs(folder); err == nil {
		folder = absolute
	}
	return filepath.Join(folder, "data")
}

// tomlList writes a list of strings in TOML.
func tomlList(all []string) string {
	var quoted []string
	for _, s := range all {
		quoted = append(quoted, fmt.Sprintf("%q", s))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
