package gateway

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/platforms"
)

// TestCommandsPage: docs/commands.md says what the commands say. With -update it is written anew.
func TestCommandsPage(t *testing.T) {
	const file = "../docs/commands.md"
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(file, []byte(commandsPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(commandsPage(), "\n"), strings.Split(string(page), "\n")); diff != "" {
		t.Errorf("%s is not what the commands say; run this test with -update (-want +got):\n%s", file, diff)
	}
}

func commandsPage() string {
	var b strings.Builder
	b.WriteString(`# Commands

What you write to the bot goes to the model, unless it is a command: that is answered by the gateway itself, at once, also while
the bot works.

- On Telegram and Discord a command begins with a slash and stands in the menu: ` + "`/status`" + `. The beginning of a name is enough if
  no other command begins so (` + "`/stat`" + `). For what does not exist the bot names what you may have meant.
- Slack keeps the slash for itself, so there it is an exclamation mark: ` + "`!status`" + `. It needs the whole name, because people shout:
  what is no command goes to the model. Outside of threads ` + "`/talaria status`" + ` does the same.
- ` + "`/help`" + ` lists what you may use, and ` + "`/help undo`" + ` shows how to use one command.
- A message that is passed on or changed afterwards is never a command.

`)
	heading := ""
	for _, c := range commands() {
		if c.group != heading {
			heading = c.group
			fmt.Fprintf(&b, "## %s\n\n| command | |\n|---|---|\n", heading)
		}
		fmt.Fprintf(&b, "| `/%s` | %s |\n", c.name, c.help)
		for _, u := range c.uses {
			if u.argument != "" {
				fmt.Fprintf(&b, "| `/%s %s` | %s |\n", c.name, u.argument, u.meaning)
			}
		}
		if last := commands(); c.name == last[len(last)-1].name || next(c.name).group != heading {
			b.WriteByte('\n')
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// next returns the command behind one.
func next(name string) command {
	all := commands()
	for i, c := range all[:len(all)-1] {
		if c.name == name {
			return all[i+1]
		}
	}
	return command{}
}

// TestCommandsFitMenus: what Telegram and Discord take as a command's name, description and option.
func TestCommandsFitMenus(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]{1,32}$`)
	groups := map[string]bool{}
	last := ""
	for _, c := range commands() {
		if !name.MatchString(c.name) || c.argument != "" && !name.MatchString(c.argument) {
			t.Errorf("/%s [%s] is not a name everywhere", c.name, c.argument)
		}
		if n := utf8.RuneCountInString(c.help); n == 0 || n > 100 {
			t.Errorf("/%s: its description has %d runes", c.name, n)
		}
		if (c.argument == "") != (len(c.uses) == 0) {
			t.Errorf("/%s: examples must go with an argument", c.name)
		}
		if c.group != last && groups[c.group] {
			t.Errorf("/%s does not stand with the others of %q", c.name, c.group)
		}
		groups[c.group], last = true, c.group
	}
	if n := len(commands()); n > 100 {
		t.Errorf("%d commands are too many", n)
	}
}

func TestParseCommand(t *testing.T) {
	for text, want := range map[string]string{
		"/stop": "stop|", "/STOP all": "stop|all", "/stat": "status|", "/st": "st|", "/s": "s|", "/start": "start|", "/start x": "start|x",
		"/retyr": "retyr|", "/undo  3 ": "undo|3", "/etc/hosts": "", "/": "", "!stop": "stop|", "!stat": "", "!important": "", "stop": "", "! stop": "",
	} {
		name, argument, ok := parseCommand(&platforms.Message{Text: text})
		got := ""
		if ok {
			got = name + "|" + argument
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestNearestCommands(t *testing.T) {
	for name, want := range map[string]string{
		"retyr": "`/retry`", "staus": "`/status`", "sesions": "`/sessions`", "hepl": "`/help`", "frobnicate": "", "x": "", strings.Repeat("status", 100): "",
	} {
		got := ""
		if meant := nearest(commands(), name); len(meant) > 0 {
			got = namesOf(meant, "/")
		}
		if got != want {
			t.Errorf("%.20q may mean %s, want %s", name, got, want)
		}
	}
}
