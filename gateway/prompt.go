package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Notebook keeps what the assistant has noted about people. The log has every change first.
type Notebook interface {
	// Open returns a person's notes as they are now (see tools.Scope.Person), and the entries that the session's log
	// lacks because somebody else has changed them.
	Open(s *sessions.Session, person string) (memory, profile string, missing []sessions.Entry, err error)
	// Keep takes over a change that was committed.
	Keep(e sessions.NotesChanged) error
}

// scope says where and for whom the turn's calls run.
func (t *turn) scope(work string) tools.Scope {
	return tools.Scope{
		Conversation: string(t.c.key), Turn: t.id, Chat: chatOf(t.c.g.moves.first(t.address)), Requester: t.requester, Work: work,
		Reply: replyPlace(t.address),
	}
}

// prompt builds the system prompt anew and returns it as entries, together with what the log has to know about the notes
// in it.
func (t *turn) prompt(s *sessions.Session) (entries []sessions.Entry) {
	g := t.c.g
	layers := g.now().Prompt
	layers.Started = s.Started
	if layers.Started.IsZero() {
		layers.Started = time.Now()
	}
	kit := t.kit()
	layers.WithTools = len(kit.tools.Names()) > 0
	layers.Platform = platformHint(t.address.Platform)
	if g.parts.Notes != nil {
		memory, profile, missing, err := g.parts.Notes.Open(s, t.scope("").Person())
		if err != nil {
			g.log.Error("the notes about a person could not be read", "conversation", t.c.key, "error", err)
		}
		layers.Memory, layers.Profile, entries = memory, profile, missing
		if o := t.inputs[0].origin(); shared(o.Kind) {
			layers.Person = who(o.Sender)
		}
	}
	if g.parts.Skills != nil {
		layers.Skills = g.parts.Skills.Index(func(tool string) bool {
			_, ok := kit.tools.Lookup(tool)
			return ok
		})
	}
	if work := t.workFolder(); work != "" {
		file, suspicion, err := loop.FindContextFile(work)
		if err != nil {
			g.log.Warn("the context file was not read", "conversation", t.c.key, "error", err)
		}
		if suspicion != "" {
			g.log.Warn("the context file was left out", "conversation", t.c.key, "file", file.Name, "why", suspicion)
		}
		layers.ContextFile = file
	}
	return append(entries, sessions.PromptBuilt{System: loop.BuildPrompt(layers), Tools: kit.declared})
}

// platformHint tells the model where its answers are read.
func platformHint(p platforms.Name) string {
	return "You talk through " + title(p) + ". Write ordinary Markdown; it is turned into that platform's formatting. " +
		"Keep answers as short as they can be: they are read on small screens."
}

// title is a platform's name for people.
func title(p platforms.Name) string { return strings.ToUpper(string(p[:1])) + string(p[1:]) }

// keepNotes takes over the changes of notes among entries that were committed.
func (g *Gateway) keepNotes(entries []sessions.Entry) {
	for _, e := range entries {
		change, ok := e.(sessions.NotesChanged)
		if !ok || g.parts.Notes == nil {
			continue
		}
		if err := g.parts.Notes.Keep(change); err != nil {
			g.log.Error("changed notes are in the log, but not in their file; it is tried again when they are next read", "error", err)
		}
	}
}

// cmdMemory shows somebody what is noted about him.
func (c *conversation) cmdMemory(ctx context.Context, in *input) {
	if c.g.parts.Notes == nil {
		c.reply(ctx, in, "I keep no notes here.")
		return
	}
	o := in.origin()
	person := tools.Scope{Chat: chatOf(c.g.moves.first(o.Address)), Requester: o.Sender.ID}.Person()
	memory, profile, _, err := c.g.parts.Notes.Open(c.log.snapshot(), person)
	switch {
	case err != nil:
		c.g.log.Error("the notes about a person could not be read", "conversation", c.key, "error", err)
		c.reply(ctx, in, "I cannot read my notes right now. The details are in the log.")
	case memory == "" && profile == "":
		c.reply(ctx, in, "I have noted nothing yet. Tell me what I should remember.")
	default:
		c.reply(ctx, in, fmt.Sprintf("**About you**\n\n%s\n\n**Everything else**\n\n%s\n\nTell me what to change or to forget.",
			orNothing(profile), orNothing(memory)))
	}
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
