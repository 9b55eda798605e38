package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms/sim"
	"github.com/talaria-agent/talaria/sessions"
)

var durations = regexp.MustCompile(`\d+(\.\d+)? s\b|\d+ min \d+ s\b|(since|of|next|first at|once at|due at|run at) \d{4}-\d\d-\d\d \d\d:\d\d( UTC)?|\d+ → \d+ tokens|about \d+ of \d+ tokens \(\d+ %\)|about \d+ to \d+ tokens|(Input|Output): \d+ tokens|\$\d+\.\d+|\d+ KB`)

// turnFile is the part of a file's name that is another one each time.
var turnFile = regexp.MustCompile(`results/\w+-`)

// seen writes down what all chats look like now. Durations, dates and token counts are left out: they depend on how long
// the script waited, and on every word of the prompt.
func (r *rig) seen() string {
	var b strings.Builder
	chats := map[string]string{r.world.forum: "thread"}
	for name, id := range r.world.places {
		chats[id] = name
	}
	names := map[string]string{sim.Bot: "bot"}
	for name, id := range r.world.users {
		names[id] = name
	}
	for _, place := range []string{"dm", "dm2", "dmx", "before", "group", "thread"} {
		for chat, name := range chats {
			if name != place {
				continue
			}
			messages := r.world.stage.Visible(chat)
			if len(messages) > 0 {
				fmt.Fprintf(&b, "[%s]\n", place)
			}
			for _, m := range messages {
				b.WriteString(r.describe(names[m.User], m))
			}
		}
	}
	return durations.ReplaceAllString(b.String(), "*")
}

var botName = regexp.MustCompile(`@(?i:talaria(_bot)?)\b`)

func (r *rig) describe(who string, m sim.Message) string {
	m.Visible = botName.ReplaceAllString(m.Visible, "@bot")
	text := strings.ReplaceAll(m.Visible, "\n", "\n\t")
	if runes := []rune(text); len(runes) > 800 && !strings.Contains(text, "\t• ") { // a list is worth reading
		text = fmt.Sprintf("%s ... (%d runes)", string(runes[:100]), len([]rune(m.Visible)))
	}
	for _, row := range m.Buttons {
		for _, button := range row {
			text += " [" + button.Label + "]"
		}
	}
	if r.reactions && len(m.Reactions) > 0 {
		text += " {" + strings.ReplaceAll(strings.Join(m.Reactions, " "), "eyes", "👀") + "}" // Slack's own name for it
	}
	return who + ": " + text + "\n"
}

// logged writes down what the logs of all conversations hold.
func (r *rig) logged() string {
	var b strings.Builder
	ctx := context.Background()
	for key, err := range r.store.Keys(ctx) {
		if err != nil {
			r.t.Fatal(err)
		}
		for rec, err := range r.store.History(ctx, key, 0) {
			if err != nil {
				r.t.Fatal(err)
			}
			for _, e := range rec.Entries {
				b.WriteString(r.describeEntry(e))
			}
		}
		b.WriteString("--\n")
	}
	return b.String()
}

func (r *rig) describeEntry(e sessions.Entry) string {
	line := func(kind, text string) string {
		text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t")
		text = strings.ReplaceAll(turnFile.ReplaceAllString(text, "results/*-"), r.opsFolder, "/srv")
		if runes := []rune(text); len(runes) > 400 {
			text = fmt.Sprintf("%s ... (%d runes)", string(runes[:100]), len(runes))
		}
		return strings.TrimRight(kind+": "+text, " ") + "\n"
	}
	switch e := e.(type) {
	case sessions.UserMessage:
		return line("user", e.Message.Text)
	case sessions.AssistantMessage:
		text := line("assistant", e.Message.Text)
		for _, c := range e.Message.ToolCalls {
			text += line("call", c.Name+" "+c.Arguments)
		}
		return text
	case sessions.ToolResult:
		return line("result "+string(e.Outcome), e.Message.Text)
	case sessions.TurnEnded:
		return line("end", e.Reason)
	case sessions.Decided:
		return line("decided", strings.Join(strings.Fields(e.Extent+" "+e.Answer+" "+e.Note), " "))
	case sessions.Steered:
		return line("steered", e.Message.Text)
	case sessions.MessageSent:
		return line("sent", e.Text)
	case sessions.SettingChanged:
		return line("set", e.Name+" "+e.Value)
	case sessions.DeliveryFailed:
		return line("undelivered", e.Reason)
	case sessions.TurnResumed:
		return line("resumed", "")
	case sessions.Compaction:
		return line("compacted", fmt.Sprintf("summary %v", e.Summary))
	case sessions.PromptBuilt:
		_, notes, ok := strings.Cut(e.System, "# Your notes")
		if !ok {
			return ""
		}
		notes, _, _ = strings.Cut(notes, "# Time")
		return line("prompt", "# Your notes"+notes)
	case sessions.NotesChanged:
		return line("noted "+e.Target, e.Content)
	case sessions.TodoChanged:
		return line("todo", loop.TodoList(e.Items))
	case sessions.Rewound:
		return line("rewound", fmt.Sprintf("%d messages, %d exchanges", len(e.Messages), len(e.Exchanges)))
	case sessions.Edited:
		return line("edited", e.Text)
	case sessions.Titled:
		return line("titled", e.Title)
	case sessions.Reset:
		return line("reset", "")
	default:
		return ""
	}
}

// seed fills a new work folder with the files of the script whose names begin with "work/".
func seed(folder string, script *txtar.Archive) error {
	for _, f := range script.Files {
		name, ok := strings.CutPrefix(f.Name, "work/")
		if !ok {
			continue
		}
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
