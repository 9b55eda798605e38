package telegram

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// draftFor is how long a draft shows after its last change, unless a message of the bot takes its place before
// (core.telegram.org/bots/api#sendmessagedraft; option pending_text_message_period of TDLib).
const draftFor = 30 * time.Second

// draft is a message that the bot is still writing. The person's app shows it, and no history holds it. A place has one
// at most: a call with the same id changes it, one with another id puts another in its place.
type draft struct {
	id      int64
	message message
	until   time.Time
}

// sendMessageDraft counts as an edit against the limits: its own are not published, but it is known to be limited, and
// together with the chat's messages.
func (s *Server) sendMessageDraft(_ *http.Request, p params) (any, *refusal) {
	text, entities := "Thinking…", []entity(nil)
	if strings.TrimSpace(p["text"]) != "" { // since Bot API 10.0 it may be empty
		var refused *refusal
		if text, entities, refused = formatText(p["text"], p["parse_mode"]); refused != nil {
			return nil, refused
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, refused := s.writable(p)
	if refused != nil {
		return nil, refused
	}
	id, _ := p.integer("draft_id")
	switch {
	case c.kind != "dm":
		return nil, badRequest("TEXTDRAFT_PEER_INVALID")
	case id == 0:
		return nil, badRequest("RANDOM_ID_INVALID")
	}
	topic, refused := topicOf(c, p)
	if refused != nil {
		return nil, refused
	}
	if refused := s.limit(c); refused != nil {
		return nil, refused
	}
	d := &draft{id: id, until: time.Now().Add(draftFor)}
	d.message = message{from: s.bot, thread: topic, source: p["text"], text: text, entities: entities, at: time.Now()}
	c.drafts[topic] = d
	s.record("draft", d.show(c, s.bot))
	return true, nil
}

// show returns the draft as the person sees it.
func (d *draft) show(c *chat, bot *user) sim.Message {
	shown := d.message.show(c, bot)
	shown.ID, shown.Draft = "draft-"+strconv.FormatInt(d.id, 10), true
	return shown
}

// shownDrafts returns the drafts that show now.
func (c *chat) shownDrafts(bot *user) []sim.Message {
	var shown []sim.Message
	for _, topic := range slices.Sorted(maps.Keys(c.drafts)) {
		if d := c.drafts[topic]; time.Now().Before(d.until) {
			shown = append(shown, d.show(c, bot))
		}
	}
	return shown
}
