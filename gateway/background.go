package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Background are the programs that tools leave running when their turn ends.
type Background interface {
	// Begin has the function told of the end of each of which the person is to be told, perhaps more than once. It must not
	// block.
	Begin(watch func(tools.LeftOver))
	// Running returns those of a conversation.
	Running(conversation string) []tools.LeftRunning
	// Stop ends those of a conversation, of one person or, if none is named, all, waits for that and returns what it was.
	Stop(conversation, requester string) []tools.LeftRunning
	// News is what the model has to be told of those that have ended, empty if there is nothing; told says that it was.
	News(conversation string) (text string, told func())
	// Close ends all and waits for that.
	Close()
}

// nothingRuns is the Background where there is none.
type nothingRuns struct{}

func (nothingRuns) Begin(func(tools.LeftOver))              {}
func (nothingRuns) Running(string) []tools.LeftRunning      { return nil }
func (nothingRuns) Stop(string, string) []tools.LeftRunning { return nil }
func (nothingRuns) News(string) (string, func())            { return "", func() {} }
func (nothingRuns) Close()                                  {}

// leftOver is mail: a program in the background has ended, and the person is to be told.
type leftOver struct {
	tools.LeftOver
	to platforms.Address
}

// backgroundEnded has a person told of the end of a program.
func (g *Gateway) backgroundEnded(over tools.LeftOver) {
	var to platforms.Address
	if err := json.Unmarshal([]byte(over.Reply), &to); err != nil || g.adapters[to.Platform] == nil {
		g.log.Warn("nobody can be told of the end of a program in the background", "process", over.ID, "conversation", over.Conversation)
		return
	}
	g.live.post(sessions.Key(over.Conversation), leftOver{over, g.moves.now(to)})
}

// replyPlace names an address to tools, which hand it back.
func replyPlace(a platforms.Address) string {
	text, _ := json.Marshal(a) // strings always work
	return string(text)
}

// tellLeftOver writes down, once, what a person is told of the end of a program.
func (c *conversation) tellLeftOver(ctx context.Context, over leftOver) {
	id := sessions.RowID("background-" + over.ID)
	if _, err := c.g.store.Row(ctx, id); err == nil {
		return
	}
	text := fmt.Sprintf("🔔 `%s` has ended: %s.", oneLine(over.Command, previewRunes), over.How)
	if last := strings.TrimSpace(over.Last); last != "" {
		text += "\n\n```\n" + strings.ReplaceAll(last, "```", "'''") + "\n```"
	}
	out := output{id: id, To: over.to, Pieces: c.g.adapters[over.to.Platform].Split(text), Notice: true}
	if err := c.commit(ctx, sessions.Record{}, out); err != nil {
		c.g.log.Error("the end of a program in the background could not be told; trying again", "process", over.ID, "error", err)
		c.torn = true
		c.g.live.post(c.key, over)
	}
}

// goOn says what goes on in the background after a stop, empty if nothing does.
func (c *conversation) goOn(p platforms.Name) string {
	running := c.g.parts.Background.Running(string(c.key))
	if len(running) == 0 {
		return ""
	}
	if len(running) == 1 {
		return fmt.Sprintf("In the background `%s` goes on; `%sstop all` ends it, too.", oneLine(running[0].Command, previewRunes), sign(p))
	}
	return fmt.Sprintf("In the background %d programs go on; `%sstop all` ends them, too.", len(running), sign(p))
}

// endBackground ends the programs in the background that a person may end: in a shared conversation one's own, an admin
// all. It says what it did.
func (c *conversation) endBackground(o platforms.Origin) string {
	whose := ""
	if shared(o.Kind) && !c.g.now().Access.Admin(o.Address.Platform, o.Sender.ID) {
		whose = o.Sender.ID
	}
	ended := c.g.parts.Background.Stop(string(c.key), whose)
	left := len(c.g.parts.Background.Running(string(c.key)))
	var text string
	switch len(ended) {
	case 0:
		text = "Nothing of yours runs in the background."
		if whose == "" {
			text = "Nothing runs in the background."
		}
	case 1:
		text = fmt.Sprintf("Ended `%s`.", oneLine(ended[0].Command, previewRunes))
	default:
		text = fmt.Sprintf("Ended %d programs in the background.", len(ended))
	}
	if left > 0 && whose != "" {
		text += fmt.Sprintf(" %d of other people go on.", left)
	}
	return text
}
