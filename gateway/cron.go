package gateway

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/gateway/chattools"
	"github.com/talaria-agent/talaria/sessions"
)

// zoneSetting is the name under which people set the time zone of a conversation's jobs.
const zoneSetting = "zone"

// cmdCron shows, makes and changes jobs: what runs by itself.
func (c *conversation) cmdCron(ctx context.Context, in *input) {
	from := in.origin()
	verb, rest, _ := strings.Cut(argument(in), " ")
	rest = strings.TrimSpace(rest)
	var done, problem string
	var wake func()
	var err error
	switch verb = strings.ToLower(verb); {
	case verb == "" || verb == "list":
		done = c.g.describeJobs(from) + "\n" + cronHelp(sign(from.Address.Platform))
	case verb == "zone":
		c.setZone(ctx, in, rest)
		return
	case verb == "add":
		when, prompt := splitSchedule(rest)
		if prompt == "" {
			problem = cronHelp(sign(from.Address.Platform))
			break
		}
		want := chattools.Job{Schedule: when, Prompt: prompt}
		done, problem, err = c.g.addJob(ctx, from, c.log.snapshot().Setting(zoneSetting), want, string(in.item))
	case slices.Contains(chattools.Changes(), verb):
		number, wrong := strconv.Atoi(rest)
		if wrong != nil {
			problem = fmt.Sprintf("Which one? Write the number behind it: `%scron %s 1`.", sign(from.Address.Platform), verb)
			break
		}
		done, problem, wake, err = c.g.changeJob(ctx, from, verb, number, string(in.item))
	default:
		problem = cronHelp(sign(from.Address.Platform))
	}
	if err != nil {
		c.g.log.Error("a job could not be written down; trying again", "conversation", c.key, "error", err)
		c.torn = true // and the command is handled again
		return
	}
	c.reply(ctx, in, done+problem)
	if wake != nil {
		wake()
	}
}

// splitSchedule takes what stands behind "add" apart: when, and what is to be done.
func splitSchedule(text string) (when, prompt string) {
	words := strings.Fields(text)
	n := 5
	switch {
	case len(words) == 0:
		return "", ""
	case strings.ContainsAny(text[:1], `"'`):
		when, prompt, _ = strings.Cut(text[1:], text[:1])
		return when, strings.TrimSpace(prompt)
	case strings.EqualFold(words[0], "every"), strings.EqualFold(words[0], "in"):
		n = 2
		if len(words) > 2 && isNumber(words[1]) {
			n = 3
		}
	case strings.HasPrefix(words[0], "@"):
		n = 1
	case strings.Count(words[0], "-") == 2 && strings.Contains(words[0], "T"):
		n = 1
	case strings.Count(words[0], "-") == 2:
		n = 2
	}
	for range min(n, len(words)) {
		text = strings.TrimSpace(text)
		end := strings.IndexAny(text+" ", " \t\n")
		when, text = when+" "+text[:end], text[end:]
	}
	return strings.TrimSpace(when), strings.TrimSpace(text)
}

func isNumber(word string) bool {
	_, err := strconv.Atoi(word)
	return err == nil
}

// setZone shows or sets the time zone of the jobs that are made in this conversation.
func (c *conversation) setZone(ctx context.Context, in *input, name string) {
	if name == "" {
		loc, problem := c.g.zone(c.log.snapshot().Setting(zoneSetting))
		if problem != "" {
			c.reply(ctx, in, problem)
			return
		}
		c.reply(ctx, in, fmt.Sprintf("Times of new jobs are in %s, where it is %s now.", loc, time.Now().In(loc).Format("15:04")))
		return
	}
	loc, problem := c.g.zone(name)
	if problem != "" {
		c.reply(ctx, in, problem)
		return
	}
	c.reply(ctx, in, fmt.Sprintf("Times of jobs that are made here are in %s from now on. Those that exist keep theirs.", loc),
		sessions.SettingChanged{Name: zoneSetting, Value: loc.String(), By: in.origin().Sender.ID, At: time.Now()})
}

func cronHelp(sign string) string {
	return fmt.Sprintf("What you can write:\n\n- `%[1]scron add 0 9 * * 1-5 Tell me what the day brings`; or `every 2h`, `in 30m`, `2026-01-31 09:00`\n"+
		"- `%[1]scron pause 1`, `resume 1`, `run 1`, `remove 1`\n"+
		"- `%[1]scron zone Europe/Berlin`: the time zone of jobs that are made here\n", sign)
}
