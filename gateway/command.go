package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/tools"
)

// command is something that a person can tell the gateway, as opposed to the model.
type command struct {
	name     string
	group    string // the heading that it stands under
	help     string // one line; at most 100 runes, because Discord shows no more
	argument string // what can stand behind it, as platforms call that; empty = nothing
	uses     []use  // examples of that
	admin    bool   // only admins may
	run      func(*conversation, context.Context, *input)
}

// use is an example of what can stand behind a command, and what that does.
type use struct{ argument, meaning string }

// NativeCommands returns the commands for the menus of platforms that have them.
func NativeCommands() []platforms.Command {
	var list []platforms.Command
	for _, c := range commands() {
		list = append(list, platforms.Command{Name: c.name, Description: c.help, Argument: c.argument})
	}
	return list
}

// parseCommand reads "/name argument" or "!name argument". A path is no command, and an exclamation mark makes one only of
// a name that exists: people shout. Behind a slash the beginning of a name is enough if only one begins so. What is passed
// on is no command of the person who passes it on.
func parseCommand(m *platforms.Message) (name, argument string, ok bool) {
	text := strings.TrimSpace(m.Text)
	if text == "" || m.Forwarded || (text[0] != '/' && text[0] != '!') {
		return "", "", false
	}
	name = text[1:]
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, argument = name[:i], name[i:]
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && r != '_' && r != '-' {
			return "", "", false
		}
	}
	name = strings.ToLower(name)
	if _, exists := findCommand(name); name == "" || text[0] == '!' && !exists {
		return "", "", false
	}
	return completed(name), strings.TrimSpace(argument), true
}

// completed returns the name of the command that begins so, the same name if there is none or several.
func completed(name string) string {
	if all := beginning(commands(), name); len(all) == 1 {
		return all[0].name
	}
	return name
}

// findCommand returns the command of a name.
func findCommand(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// shortest is how many letters of a name have to be there.
const shortest = 2

// beginning returns those of the commands that can be meant by a name or its beginning.
func beginning(all []command, name string) (found []command) {
	for _, c := range all {
		switch {
		case c.name == name:
			return []command{c}
		case len(name) >= shortest && strings.HasPrefix(c.name, name) && name != opening:
			found = append(found, c)
		}
	}
	return found
}

// opening is what Telegram sends when somebody opens the chat, perhaps with what a link had to say.
const opening = "start"

// command runs a command, at once even while a turn is running.
func (c *conversation) command(ctx context.Context, in *input, name string) {
	if name == opening {
		c.replyHelp(ctx, in)
		return
	}
	o := in.origin()
	cmd, exists := findCommand(completed(name)) // Slack's one native command has the name behind it, as text
	switch {
	case !exists:
		c.reply(ctx, in, c.g.noCommand(o, name))
	case cmd.admin && !c.g.isAdmin(o):
		c.reply(ctx, in, fmt.Sprintf("Only an admin can use `%s%s`.", sign(o.Address.Platform), cmd.name))
	case cmd.argument == "" && argument(in) != "":
		c.reply(ctx, in, fmt.Sprintf("Nothing can stand behind `%[1]s%[2]s`, so I did nothing. Write `%[1]s%[2]s` alone.", sign(o.Address.Platform), cmd.name))
	default:
		cmd.run(c, ctx, in)
	}
}

// isAdmin tells whether whoever caused an update may do what only admins may.
func (g *Gateway) isAdmin(o platforms.Origin) bool {
	return g.now().Access.Admin(o.Address.Platform, o.Sender.ID)
}

// allowed returns the commands that somebody may use.
func (g *Gateway) allowed(o platforms.Origin) []command {
	admin := g.isAdmin(o)
	return slices.DeleteFunc(commands(), func(c command) bool { return c.admin && !admin })
}

// noCommand tells somebody that there is no such command, and which he may have meant.
func (g *Gateway) noCommand(o platforms.Origin, name string) string {
	s, all := sign(o.Address.Platform), g.allowed(o)
	if meant := beginning(all, name); len(meant) > 1 {
		return fmt.Sprintf("`%s%s` can be the beginning of %s. Please write more of it.", s, name, namesOf(meant, s))
	}
	text := fmt.Sprintf("There is no command `%s`. ", name)
	if meant := nearest(all, name); len(meant) > 0 {
		text += fmt.Sprintf("Did you mean %s? ", namesOf(meant, s))
	}
	return text + fmt.Sprintf("Write `%shelp` to see what there is.", s)
}

// mostMeant is how many commands a person is offered for one that does not exist.
const mostMeant = 3

// nearest returns the commands whose names are what a misspelt one may have meant, or begin with it.
func nearest(all []command, name string) (meant []command) {
	if len(name) > 32 {
		return nil
	}
	if meant = beginning(all, name); len(meant) > 0 {
		return meant[:min(len(meant), mostMeant)]
	}
	least := max(1, len(name)/3)
	for _, c := range all {
		switch d := tools.Distance(name, c.name); {
		case d > least:
		case d < least:
			least, meant = d, []command{c}
		default:
			meant = append(meant, c)
		}
	}
	return meant[:min(len(meant), mostMeant)]
}

// namesOf lists commands for people: "`/a`, `/b` or `/c`".
func namesOf(all []command, sign string) string {
	var names []string
	for _, c := range all {
		names = append(names, "`"+sign+c.name+"`")
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// sign is what a command begins with on a platform: Slack keeps the slash for itself.
func sign(p platforms.Name) string {
	if p == platforms.Slack {
		return "!"
	}
	return "/"
}
