package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// command is something that a person can tell the gateway, as opposed to the model.
type command struct {
	name, help string
	argument   string // what can stand behind it; empty = nothing
	run        func(*conversation, context.Context, *input)
}

// commands returns all commands, in the order of /help.
func commands() []command {
	return []command{
		{"help", "Show this list.", "", (*conversation).cmdHelp},
		{"stop", "Stop what I am doing; `all`: and what runs in the background.", "all", (*conversation).cmdStop},
		{"approve", "Allow what I ask permission for: once, or add `session` or `always`.", "extent", (*conversation).cmdApprove},
		{"deny", "Do not allow what I ask permission for; say why, if you like.", "reason", (*conversation).cmdDeny},
		{"approvals", "Show what you have allowed for longer than once, or take it back.", "action", (*conversation).cmdApprovals},
		{"compress", "Summarise our conversation now; name what matters most behind the command.", "focus", (*conversation).cmdCompress},
		{"diff", "Show what I changed in the files in my last turn, or in the last N.", "number", (*conversation).cmdDiff},
		{"rollback", "Take back what I changed in the files in my last turn, or in the last N.", "number", (*conversation).cmdRollback},
		{"queue", "Answer this message after what I am doing now.", "text", (*conversation).cmdQueue},
		{"steer", "Take in this message at my next step, without stopping.", "text", (*conversation).cmdSteer},
		{"busy", "Show or set what a new message does while I work.", "mode", (*conversation).cmdBusy},
		{"status", "Show what I am doing and how full my memory is.", "", (*conversation).cmdStatus},
		{"tools", "Show what I can use, and what is missing.", "", (*conversation).cmdTools},
		{"mcp", "Show the MCP servers whose tools I use, and how they are.", "", (*conversation).cmdMCP},
		{"skills", "Show the skills that I can go by, or what one of them says.", "name", (*conversation).cmdSkills},
		{"memory", "Show what I have noted about you.", "", (*conversation).cmdMemory},
		{"undo", "Take back the last exchange, or as many as you say.", "number", (*conversation).cmdUndo},
		{"retry", "Take back the last answer and try again.", "", (*conversation).cmdRetry},
		{"branch", "Go on in a copy of this session; I keep the original.", "title", (*conversation).cmdBranch},
		{"sessions", "List our sessions here.", "", (*conversation).cmdSessions},
		{"resume", "Go back to an earlier session.", "number", (*conversation).cmdResume},
		{"title", "Give this session a name.", "title", (*conversation).cmdTitle},
		{"reload", "Read the context file, my notes and the list of skills again.", "", (*conversation).cmdReload},
		{"bg", "Work on something in the background; alone: show what I work on there.", "text", (*conversation).cmdBg},
		{"cron", "Show what I do by myself at set times, and change it.", "action", (*conversation).cmdCron},
		{"sethome", "For admins: tell the owner here what needs care.", "off", (*conversation).cmdSetHome},
		{"new", "Start a new session: I forget what we talked about.", "", (*conversation).cmdNew},
	}
}

// NativeCommands returns the commands for the menus of platforms that have them.
func NativeCommands() []platforms.Command {
	var list []platforms.Command
	for _, c := range commands() {
		list = append(list, platforms.Command{Name: c.name, Description: c.help, Argument: c.argument})
	}
	return list
}

// parseCommand reads "/name argument" or "!name argument". A path is no command, and an exclamation mark makes one only of
// a name that exists: people shout. What is passed on is no command of the person who passes it on.
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
	if name == "" || (text[0] == '!' && !isCommand(name)) {
		return "", "", false
	}
	return name, strings.TrimSpace(argument), true
}

func isCommand(name string) bool {
	return slices.ContainsFunc(commands(), func(c command) bool { return c.name == name })
}

// command runs a command, at once even while a turn is running.
func (c *conversation) command(ctx context.Context, in *input, name string) {
	if name == "start" { // what Telegram sends when somebody opens the chat
		name = "help"
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			cmd.run(c, ctx, in)
			return
		}
	}
	c.reply(ctx, in, fmt.Sprintf("There is no command `%s`. Write `%shelp` to see what there is.", name, sign(in.origin().Address.Platform)))
}

// closing withdraws what waits and stops the running turn. It reports whether the command has to wait for the turn's end;
// it comes back then.
func (c *conversation) closing(ctx context.Context, in *input) bool {
	switch {
	case in.stopped:
		return false
	case c.turn == nil:
		in.withdrawn = c.withdraw(ctx, in.origin())
		return false
	case !c.mayStop(in.origin()):
		c.reply(ctx, in, "I am working for somebody else here. Only that person or an admin can stop me.")
		return true
	}
	in.withdrawn, in.stopped = c.withdraw(ctx, in.origin()), true
	c.turn.cancel(loop.ErrStopped)
	c.after = append(c.after, in)
	return true
}

func (c *conversation) cmdStop(ctx context.Context, in *input) {
	o := in.origin()
	all := strings.EqualFold(argument(in), "all")
	if all && !in.stopped && !c.mayStop(o) {
		c.reply(ctx, in, c.endBackground(o))
		return
	}
	if c.closing(ctx, in) {
		return
	}
	var background string
	if all {
		background = c.endBackground(o)
	} else {
		background = c.goOn(o.Address.Platform)
	}
	switch {
	case in.stopped:
		c.reply(ctx, in, sentences(in.closing, withdrawn(in.withdrawn), background))
	case c.stopFlush() || in.withdrawn > 0:
		c.reply(ctx, in, sentences("Stopped.", withdrawn(in.withdrawn), background))
	case all:
		c.reply(ctx, in, background)
	default:
		c.reply(ctx, in, sentences("I am not doing anything right now.", background))
	}
}

func (c *conversation) cmdNew(ctx context.Context, in *input) {
	if c.closing(ctx, in) {
		return
	}
	left := c.log.snapshot()
	c.reply(ctx, in, sentences("New session.", withdrawn(in.withdrawn), c.goOn(in.origin().Address.Platform), "What can I do for you?"),
		sessions.Reset{By: in.origin().Sender.ID, At: time.Now(), Approvals: left.Forever(), Settings: left.Settings})
	c.flushLeft(left, in)
}

// sentences joins what is not empty.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

func (c *conversation) cmdHelp(ctx context.Context, in *input) {
	var b strings.Builder
	fmt.Fprintf(&b, "Write to me as you would to a colleague. While I work: %s", c.busy(in.origin().Address).meaning())
	if shared(in.origin().Kind) {
		b.WriteString("; that of somebody else than whoever I work for waits")
	}
	b.WriteString(".\n\n")
	for _, cmd := range commands() {
		fmt.Fprintf(&b, "- `%s%s` %s\n", sign(in.origin().Address.Platform), cmd.name, cmd.help)
	}
	c.reply(ctx, in, b.String())
}

// sign is what a command begins with on a platform: Slack keeps the slash for itself.
func sign(p platforms.Name) string {
	if p == platforms.Slack {
		return "!"
	}
	return "/"
}

func (c *conversation) cmdStatus(ctx context.Context, in *input) {
	s := c.log.snapshot()
	var b strings.Builder
	switch {
	case c.turn == nil:
		b.WriteString("I am idle.")
	case s.Turn == nil:
		b.WriteString("I am about to begin.")
	default:
		fmt.Fprintf(&b, "I have been working for %s; this is round %d.", short(time.Since(c.turn.started)), s.Turn.Rounds+1)
	}
	if n := len(c.queue); n > 0 {
		fmt.Fprintf(&b, " %d more waiting.", n)
	}
	b.WriteString("\n\n")
	if s.ID == "" {
		b.WriteString("- Session: none yet\n")
	} else {
		fmt.Fprintf(&b, "- Session: since %s, %d messages\n", s.Started.Format("2006-01-02 15:04 MST"), len(s.Messages))
	}
	tokens := loop.ContextTokens(s)
	now := c.g.now()
	usable := max(now.Window-now.MaxOutput, 1)
	fmt.Fprintf(&b, "- Memory: about %d of %d tokens (%d %%)", tokens, usable, tokens*100/usable)
	if s.Compactions > 0 {
		fmt.Fprintf(&b, ", compressed %d×", s.Compactions)
	}
	fmt.Fprintf(&b, "\n- Model: %s\n- Busy mode: %s\n", now.Runner.Model.Name(), c.busy(in.origin().Address))
	for _, left := range c.g.parts.Background.Running(string(c.key)) {
		fmt.Fprintf(&b, "- In the background: `%s`, for %s\n", oneLine(left.Command, previewRunes), short(time.Since(left.Started)))
	}
	if c.g.busyFor(in.origin()) {
		b.WriteString(c.g.describeErrands(in.origin()))
	}
	if lost := s.Undelivered; lost != nil {
		fmt.Fprintf(&b, "- Not delivered: an answer at %s (%s)\n", lost.At.UTC().Format("2006-01-02 15:04 MST"), lost.Reason)
	}
	c.reply(ctx, in, b.String())
}

// short writes a duration for people.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
}
