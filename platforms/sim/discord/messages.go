package discord

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// Limits of one message.
const (
	maxContent    = 2_000 // code points
	maxEmbeds     = 10
	maxEmbedText  = 6_000 // code points in all embeds together
	maxRows       = 5
	maxRowButtons = 5
	maxLabel      = 80
	maxCustomID   = 100
	maxNonce      = 25

	flagSuppressNotifications = 1 << 12

	nonceWindow = 2 * time.Minute // "a few minutes" by the documentation; the strict reading
	typingShows = 10 * time.Second
)

// nonce remembers the message that was sent with a nonce.
type nonce struct {
	message *message
	until   time.Time
}

// createMessage handles POST /channels/{id}/messages.
func (s *Server) createMessage(c *call) (int, any, error) {
	p := c.place
	switch {
	case p.kind == typeForum:
		return 0, nil, errNotText
	case p.shut:
		return 0, nil, errCannotMessageUser
	case p.locked:
		return 0, nil, errThreadLocked
	}
	form := c.form()
	if bad := checkMessage(form); bad != nil {
		return 0, nil, bad
	}
	if m := s.sentBefore(p, form); m != nil {
		return http.StatusOK, s.wire(m), nil
	}
	m := &message{id: s.ids.next(), author: sim.Bot, at: time.Now(), place: p, nonce: form["nonce"]}
	if bad := m.refer(form); bad != nil {
		return 0, nil, bad
	}
	m.fill(form)
	if m.content == "" && len(m.embeds) == 0 {
		return 0, nil, errEmptyMessage
	}
	if f, ok := form["flags"].(float64); ok {
		m.flags = int(f)
	}
	s.notify(m, ruleOf(form))
	s.publish(m)
	if m.nonce != nil {
		s.rememberNonce(p, m)
	}
	return http.StatusOK, s.wire(m), nil
}

// refer sets the message that m replies to.
func (m *message) refer(form object) *problem {
	ref, ok := form["message_reference"].(object)
	if !ok {
		return nil
	}
	id := text(ref, "message_id")
	if m.place.find(id) != nil {
		m.replyTo = id
		return nil
	}
	if fail, set := ref["fail_if_not_exists"].(bool); set && !fail {
		return nil
	}
	return invalidForm(fieldError{"message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message"})
}

// fill takes the content of a form over into the message.
func (m *message) fill(form object) {
	if v, ok := form["content"]; ok {
		t, _ := v.(string)
		m.content = strings.TrimSpace(t)
	}
	if _, ok := form["components"]; ok {
		m.components = list(form, "components")
	}
	if _, ok := form["embeds"]; ok {
		m.embeds = list(form, "embeds")
	}
}

// ruleOf reads allowed_mentions; without it everything notifies.
func ruleOf(form object) mentionRule {
	allowed, ok := form["allowed_mentions"].(object)
	if !ok {
		return mentionRule{everything: true, repliedUser: true}
	}
	strs := func(key string) (out []string) {
		for _, v := range list(allowed, key) {
			if t, ok := v.(string); ok {
				out = append(out, t)
			}
		}
		return out
	}
	replied, _ := allowed["replied_user"].(bool)
	return mentionRule{parse: strs("parse"), users: strs("users"), roles: strs("roles"), repliedUser: replied}
}

// sentBefore returns the message that was sent with the same nonce, if the form asks for that.
func (s *Server) sentBefore(p *place, form object) *message {
	if enforce, _ := form["enforce_nonce"].(bool); !enforce || form["nonce"] == nil {
		return nil
	}
	n, ok := s.nonces[nonceKey(p, form["nonce"])]
	if !ok || !n.until.After(time.Now()) {
		return nil
	}
	return n.message
}

func (s *Server) rememberNonce(p *place, m *message) {
	now := time.Now()
	if len(s.nonces) > 1024 {
		for k, n := range s.nonces {
			if !n.until.After(now) {
				delete(s.nonces, k)
			}
		}
	}
	s.nonces[nonceKey(p, m.nonce)] = nonce{message: m, until: now.Add(nonceWindow)}
}

func nonceKey(p *place, value any) string {
	b, _ := json.Marshal(value) // decoded JSON always encodes
	return p.id + " " + strings.Trim(string(b), `"`)
}

// editMessage handles PATCH /channels/{id}/messages/{id}.
func (s *Server) editMessage(c *call) (int, any, error) {
	m, err := s.pathMessage(c)
	if err != nil {
		return 0, nil, err
	}
	switch {
	case m.author != sim.Bot:
		return 0, nil, errNotYours
	case c.place.archived:
		return 0, nil, errArchived
	}
	form := c.form()
	if bad := checkMessage(form); bad != nil {
		return 0, nil, bad
	}
	changed := *m
	changed.fill(form)
	if changed.content == "" && len(changed.embeds) == 0 {
		return 0, nil, errEmptyMessage
	}
	changed.edited = time.Now()
	changed.mentions, changed.roles, changed.everyone = nil, nil, false
	s.notify(&changed, ruleOf(form))
	*m = changed
	s.record("edit", s.look(m))
	s.dispatchMessage("MESSAGE_UPDATE", m)
	return http.StatusOK, s.wire(m), nil
}

func (s *Server) pathMessage(c *call) (*message, error) {
	id := c.PathValue("message")
	if m := c.place.find(id); m != nil {
		return m, nil
	}
	return nil, unknown("message_id", id, errUnknownMessage)
}

func (s *Server) deleteMessage(c *call) (int, any, error) {
	m, err := s.pathMessage(c)
	if err != nil {
		return 0, nil, err
	}
	if m.author != sim.Bot {
		return 0, nil, errMissingPermission
	}
	s.remove(m)
	return http.StatusNoContent, nil, nil
}

func (s *Server) getMessage(c *call) (int, any, error) {
	m, err := s.pathMessage(c)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, s.veiled(m), nil
}

// listMessages handles GET /channels/{id}/messages: newest first, at most 100, before or after an id.
func (s *Server) listMessages(c *call) (int, any, error) {
	query := c.URL.Query()
	limit := 50
	if l := query.Get("limit"); l != "" {
		n, err := strconv.Atoi(l)
		if err != nil || n < 1 || n > 100 {
			return 0, nil, invalidForm(fieldError{"limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100."})
		}
		limit = n
	}
	before, after := query.Get("before"), query.Get("after")
	var found []*message
	for _, m := range c.place.messages {
		if (before == "" || compareIDs(m.id, before) < 0) && (after == "" || compareIDs(m.id, after) > 0) {
			found = append(found, m)
		}
	}
	if n := len(found); n > limit {
		if after != "" {
			found = found[:limit]
		} else {
			found = found[n-limit:]
		}
	}
	out := []object{}
	for _, m := range slices.Backward(found) {
		out = append(out, s.veiled(m))
	}
	return http.StatusOK, out, nil
}

func (s *Server) startTyping(c *call) (int, any, error) {
	if c.place.shut {
		return 0, nil, errCannotMessageUser
	}
	now := time.Now()
	began := !c.place.typing.After(now)
	c.place.typing = now.Add(typingShows)
	if began {
		s.record("typing", sim.Message{Chat: c.place.chat(), Thread: c.place.thread(), User: sim.Bot, At: now})
	}
	return http.StatusNoContent, nil, nil
}

func (s *Server) react(c *call) (int, any, error) {
	m, err := s.pathMessage(c)
	if err != nil {
		return 0, nil, err
	}
	emoji, err := url.PathUnescape(c.PathValue("emoji"))
	if err != nil || !isEmoji(emoji) {
		return 0, nil, errUnknownEmoji
	}
	if !slices.Contains(m.reactions, emoji) {
		m.reactions = append(m.reactions, emoji)
		s.record("react", s.look(m))
	}
	return http.StatusNoContent, nil, nil
}

// isEmoji takes a Unicode emoji or a custom one as name:id.
func isEmoji(e string) bool {
	if name, id, ok := strings.Cut(e, ":"); ok {
		_, err := strconv.ParseUint(id, 10, 64)
		return name != "" && err == nil
	}
	r, _ := utf8.DecodeRuneInString(e)
	return r > 0xff && r != utf8.RuneError
}
