package slack

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

const (
	mostText       = 40_000 // characters; the rest of a longer text is cut off
	mostUpdateText = 4_000  // bytes; chat.update refuses more
	mostMetadata   = 16 << 10
)

var stampForm = regexp.MustCompile(`^\d{9,11}\.\d{6}$`)

// content is what a message shows, from the arguments of a call.
type content struct {
	text   string
	blocks []block
	plain  bool
}

func readContent(c *call) (content, *refusal) {
	k := content{text: c.arg("text"), plain: c.arg("mrkdwn") == "false"}
	if runes := []rune(k.text); len(runes) > mostText {
		k.text = string(runes[:mostText])
	}
	if raw := c.arg("blocks"); raw != "" {
		blocks, no := parseBlocks(raw)
		if no != nil {
			return k, no
		}
		k.blocks = blocks
	}
	if strings.TrimSpace(k.text) == "" && len(k.blocks) == 0 {
		return k, refuse("no_text")
	}
	return k, nil
}

// room returns the conversation that the bot wants to write in. The lock is held.
func (s *Server) room(id string) (*chat, *refusal) {
	c := s.chats[id]
	if c == nil {
		c = s.directWith(id)
	}
	switch {
	case c == nil:
		return nil, refuse("channel_not_found")
	case c.archived:
		return nil, refuse("is_archived")
	case c.kicked && c.Kind == "dm":
		return nil, refuse("channel_not_found")
	case c.kicked:
		return nil, refuse("not_in_channel")
	}
	return c, nil
}

// directWith finds the DM with a user. The lock is held.
func (s *Server) directWith(user string) *chat {
	for _, c := range s.chats {
		if c.Kind == "dm" && slices.Contains(c.Members, user) {
			return c
		}
	}
	return nil
}

// thread resolves thread_ts. Slack posts a reply to a vanished root at the top level instead of refusing it.
func (c *chat) thread(ts string) (string, *refusal) {
	if ts == "" {
		return "", nil
	}
	if !stampForm.MatchString(ts) {
		return "", refuse("invalid_thread_ts")
	}
	if c.root(ts) == "" && c.replies(ts) == 0 {
		return "", nil
	}
	if root := c.root(ts); root != "" {
		return root, nil
	}
	return ts, nil
}

func readMetadata(raw string) (json.RawMessage, *refusal) {
	if raw == "" {
		return nil, nil
	}
	var m struct {
		EventType    string         `json:"event_type"`
		EventPayload map[string]any `json:"event_payload"`
	}
	switch {
	case len(raw) > mostMetadata:
		return nil, refuse("metadata_too_large")
	case json.Unmarshal([]byte(raw), &m) != nil || m.EventType == "" || m.EventPayload == nil:
		return nil, refuse("invalid_metadata_format")
	}
	return json.RawMessage(raw), nil
}

func (s *Server) postMessage(c *call) (object, *refusal) {
	room, no := s.room(c.chat())
	if no != nil {
		return nil, no
	}
	k, no := readContent(c)
	if no != nil {
		return nil, no
	}
	thread, no := room.thread(c.arg("thread_ts"))
	if no != nil {
		return nil, no
	}
	metadata, no := readMetadata(c.arg("metadata"))
	if no != nil {
		return nil, no
	}
	now := time.Now()
	m := &message{
		ts: room.stamp(now), thread: thread, user: sim.Bot, at: now,
		text: k.text, blocks: k.blocks, plain: k.plain, metadata: metadata,
	}
	room.add(m)
	delete(room.statuses, thread)
	s.happened("send", s.shown(room, m))
	s.emitMessage(room, m)
	return object{"channel": room.ID, "ts": m.ts, "message": s.wire(room, m)}, nil
}

// own returns a message of the bot that a call wants to change. The lock is held.
func (s *Server) own(c *call, not string) (*chat, *message, *refusal) {
	room, no := s.room(c.chat())
	if no != nil {
		return nil, nil, no
	}
	m := room.find(c.arg("ts"))
	switch {
	case m == nil:
		return nil, nil, refuse("message_not_found")
	case m.user != sim.Bot:
		return nil, nil, refuse(not)
	}
	return room, m, nil
}

func (s *Server) chatUpdate(c *call) (object, *refusal) {
	room, m, no := s.own(c, "cant_update_message")
	if no != nil {
		return nil, no
	}
	k, no := readContent(c)
	if no != nil {
		return nil, no
	}
	if len(k.text) > mostUpdateText {
		return nil, refuse("msg_too_long")
	}
	metadata, no := readMetadata(c.arg("metadata"))
	if no != nil {
		return nil, no
	}
	before := *m
	m.text, m.blocks, m.plain = k.text, k.blocks, false // text without blocks removes the old ones
	if metadata != nil {
		m.metadata = metadata
	}
	m.edited = room.stamp(time.Now())
	s.happened("edit", s.shown(room, m))
	s.emitChanged(room, m, &before)
	return object{"channel": room.ID, "ts": m.ts, "text": m.text, "message": s.wire(room, m)}, nil
}

func (s *Server) chatDelete(c *call) (object, *refusal) {
	room, m, no := s.own(c, "cant_delete_message")
	if no != nil {
		return nil, no
	}
	s.happened("delete", s.shown(room, m))
	s.emitRemoved(room, m)
	return object{"channel": room.ID, "ts": m.ts}, nil
}

func (s *Server) postEphemeral(c *call) (object, *refusal) {
	room, no := s.room(c.chat())
	if no != nil {
		return nil, no
	}
	k, no := readContent(c)
	if no != nil {
		return nil, no
	}
	user := c.arg("user")
	if _, ok := s.users[user]; !ok || !room.has(user) {
		return nil, refuse("user_not_in_channel")
	}
	s.note(room, user, c.arg("thread_ts"), k)
	return object{"message_ts": room.stamp(time.Now())}, nil
}

// setStatus shows "is thinking ..." in a thread. It needs one: there is no status at the top level.
func (s *Server) setStatus(c *call) (object, *refusal) {
	room, no := s.room(c.arg("channel_id"))
	if no != nil {
		return nil, no
	}
	thread := c.arg("thread_ts")
	if !stampForm.MatchString(thread) || room.root(thread) != thread {
		return nil, refuse("invalid_thread_ts")
	}
	if !c.args.Has("status") {
		return nil, refuse("invalid_arguments")
	}
	text := c.arg("status")
	if text == "" {
		delete(room.statuses, thread)
	} else {
		room.statuses[thread] = status{text: text, until: time.Now().Add(statusFor)}
	}
	s.happened("typing", sim.Message{Chat: room.ID, Thread: thread, User: sim.Bot, Visible: text, At: time.Now()})
	return nil, nil
}

var emojiName = regexp.MustCompile(`^[a-z0-9_+'-]+(::skin-tone-[2-6])?$`)

func (s *Server) reactionAdd(c *call) (object, *refusal) {
	room, no := s.room(c.chat())
	if no != nil {
		return nil, no
	}
	m, name := room.find(c.arg("timestamp")), c.arg("name")
	switch {
	case m == nil:
		return nil, refuse("message_not_found")
	case !emojiName.MatchString(name):
		return nil, refuse("invalid_name")
	case slices.Contains(m.reacted, name):
		return nil, refuse("already_reacted")
	}
	m.reacted = append(m.reacted, name)
	s.happened("react", s.shown(room, m))
	return nil, nil
}
