package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// progressSetting is the name under which people set what the progress messages of a conversation show.
const progressSetting = "progress"

// meaning says what a mode shows, for people; empty if there is no such mode.
func (p Progress) meaning() string {
	switch p {
	case ProgressOff:
		return "I show nothing while I work"
	case ProgressNew:
		return "I show a line when I use another tool"
	case ProgressAll:
		return "I show a line for everything that I do"
	case ProgressVerbose:
		return "I show everything that I do, with what I say meanwhile"
	}
	return ""
}

func progressUses() []use {
	all := []use{{"", "show it"}}
	for _, p := range []Progress{ProgressOff, ProgressNew, ProgressAll, ProgressVerbose} {
		all = append(all, use{string(p), p.meaning()})
	}
	return append(all, use{"default", "as it is configured"})
}

// progress returns what the progress messages of the conversation show: what people have set, else what the config says.
func (c *conversation) progress() Progress {
	if set := Progress(c.log.snapshot().Setting(progressSetting)); set.meaning() != "" {
		return set
	}
	return c.g.now().Progress
}

// cmdProgress shows the mode, or sets it for this conversation, from the next turn on.
func (c *conversation) cmdProgress(ctx context.Context, in *input) {
	o := in.origin()
	wish := strings.ToLower(argument(in))
	choices := choices(sign(o.Address.Platform), "progress", progressUses()[1:])
	mode := Progress(wish)
	switch {
	case wish == "":
		mode = c.progress()
		c.reply(ctx, in, fmt.Sprintf("Here %s (mode `%s`).\n\n%s", mode.meaning(), mode, choices))
	case wish != "default" && mode.meaning() == "":
		c.reply(ctx, in, fmt.Sprintf("I do not know that mode.\n\n%s", choices))
	default:
		if wish == "default" {
			mode, wish = c.g.now().Progress, ""
		}
		c.reply(ctx, in, fmt.Sprintf("From my next work here on %s.", mode.meaning()), sessions.SettingChanged{
			Name: progressSetting, Value: wish, By: o.Sender.ID, At: time.Now(),
		})
	}
}
