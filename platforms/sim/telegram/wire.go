package telegram

import (
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// The shapes of the Bot API's objects, as far as they are used.

type wireUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username,omitempty"`
}

type wireChat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	Username  string `json:"username,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

type wireMessage struct {
	MessageID         int           `json:"message_id"`
	MessageThreadID   int           `json:"message_thread_id,omitempty"`
	IsTopicMessage    bool          `json:"is_topic_message,omitempty"`
	From              *wireUser     `json:"from,omitempty"`
	Chat              wireChat      `json:"chat"`
	Date              int64         `json:"date"`
	EditDate          int64         `json:"edit_date,omitempty"`
	ReplyToMessage    *wireMessage  `json:"reply_to_message,omitempty"`
	ForumTopicCreated *wireTopic    `json:"forum_topic_created,omitempty"`
	Text              string        `json:"text,omitempty"`
	Entities          []entity      `json:"entities,omitempty"`
	Document          *wireDocument `json:"document,omitempty"`
	Caption           string        `json:"caption,omitempty"`
	CaptionEntities   []entity      `json:"caption_entities,omitempty"`
	ReplyMarkup       *wireKeyboard `json:"reply_markup,omitempty"`
	MigrateToChatID   int64         `json:"migrate_to_chat_id,omitempty"`
	MigrateFromChatID int64         `json:"migrate_from_chat_id,omitempty"`
}

type wireTopic struct {
	Name      string `json:"name"`
	IconColor int    `json:"icon_color"`
}

type wireDocument struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	FileName     string `json:"file_name,omitempty"`
	MimeType     string `json:"mime_type,omitempty"`
	FileSize     int64  `json:"file_size,omitempty"`
}

type wireKeyboard struct {
	Rows [][]wireButton `json:"inline_keyboard"`
}

type wireButton struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data,omitempty"`
	URL   string `json:"url,omitempty"`
	Style string `json:"style,omitempty"`
}

// Command is an entry of the bot's menu.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// user is a person or a bot.
type user struct {
	id       int64
	name     string
	username string
	bot      bool
	blocked  bool // has blocked our bot
}

func (u *user) wire() *wireUser {
	return &wireUser{ID: u.id, IsBot: u.bot, FirstName: u.name, Username: u.username}
}

func (u *user) key() string { return strconv.FormatInt(u.id, 10) }

// message is one message of a chat.
type message struct {
	id       int
	thread   int // topic id, 0 = none or General
	from     *user
	source   string // as it came over the wire
	text     string
	entities []entity
	keyboard *wireKeyboard
	replyTo  int
	silent   bool
	reaction []string
	file     *sim.Upload
	topic    string // name of the topic that this message created
	at       time.Time
	edited   time.Time
}

// wire returns the message as an update or a method's result holds it, with the message that it replies to unless it
// is itself shown as such.
func (m *message) wire(c *chat, withReply bool) *wireMessage {
	w := &wireMessage{
		MessageID: m.id, MessageThreadID: m.thread, IsTopicMessage: m.thread != 0,
		From: m.from.wire(), Chat: c.wire(), Date: m.at.Unix(), ReplyMarkup: m.keyboard,
	}
	if !m.edited.IsZero() {
		w.EditDate = m.edited.Unix()
	}
	switch {
	case m.topic != "":
		w.ForumTopicCreated = &wireTopic{Name: m.topic, IconColor: 7322096}
	case m.file != nil:
		w.Document = &wireDocument{
			FileID: m.fileID(c), FileUniqueID: m.fileID(c), FileName: m.file.Name, MimeType: m.file.Type, FileSize: m.file.Size,
		}
		w.Caption, w.CaptionEntities = m.text, m.entities
	default:
		w.Text, w.Entities = m.text, m.entities
	}
	if m.thread == 0 && m.replyTo != 0 && c.supergroup() {
		// Outside topics the id names the root of a chain of replies, and is no topic (tdlib/telegram-bot-api#447).
		w.MessageThreadID = c.root(m).id
	}
	reply := m.replyTo
	if reply == 0 {
		reply = m.thread // every message of a topic replies to the topic's root
	}
	if root := c.find(reply); withReply && root != nil && root != m {
		w.ReplyToMessage = root.wire(c, false)
	}
	return w
}

// show returns the message as a person sees it.
func (m *message) show(c *chat, bot *user) sim.Message {
	shown := sim.Message{
		ID: strconv.Itoa(m.id), Chat: c.key(), Thread: c.threadName(m.thread), User: m.from.key(),
		Wire: m.source, Visible: m.text, HTML: drawHTML(m.text, m.entities),
		Silent: m.silent, Edited: !m.edited.IsZero(), Reactions: m.reaction, File: m.file.Title(), At: m.at,
	}
	if m.from == bot {
		shown.User = sim.Bot
	}
	if m.replyTo != 0 {
		shown.ReplyTo = strconv.Itoa(m.replyTo)
	}
	if m.keyboard != nil {
		for _, row := range m.keyboard.Rows {
			var buttons []sim.Button
			for _, b := range row {
				buttons = append(buttons, sim.Button{Label: b.Text, Data: b.Data})
			}
			shown.Buttons = append(shown.Buttons, buttons)
		}
	}
	return shown
}

// chat is a place: a person's DM with the bot (its id is the person's), a group, a supergroup or a forum.
type chat struct {
	id       int64
	kind     string // as in sim.Chat
	title    string
	peer     *user // of a DM
	messages []*message
	lastID   int // of a supergroup, which counts its own messages
	topics   map[int]bool
	typing   map[int]time.Time // until when "typing" shows, by topic
	drafts   map[int]*draft    // by topic
	kicked   bool              // the bot is out
	movedTo  int64
}

func (c *chat) key() string { return strconv.FormatInt(c.id, 10) }

// supergroup tells whether this is one: their ids begin with -100.
func (c *chat) supergroup() bool { return strings.HasPrefix(c.key(), "-100") }

func (c *chat) wire() wireChat {
	switch {
	case c.kind == "dm":
		w := wireChat{ID: c.id, Type: "private", IsForum: len(c.topics) > 0}
		if c.peer != nil {
			w.FirstName, w.Username = c.peer.name, c.peer.username
		}
		return w
	case c.supergroup():
		return wireChat{ID: c.id, Type: "supergroup", Title: c.title, IsForum: c.kind == "forum"}
	default:
		return wireChat{ID: c.id, Type: "group", Title: c.title}
	}
}

func (c *chat) find(id int) *message {
	for i := len(c.messages) - 1; i >= 0 && id != 0; i-- {
		if c.messages[i].id == id {
			return c.messages[i]
		}
	}
	return nil
}

// root follows a chain of replies to its beginning.
func (c *chat) root(m *message) *message {
	for {
		next := c.find(m.replyTo)
		if next == nil {
			return m
		}
		m = next
	}
}

// threadName is how the Stage and addresses name a topic.
func (c *chat) threadName(topic int) string {
	switch {
	case topic != 0:
		return strconv.Itoa(topic)
	case c.kind == "forum":
		return general
	default:
		return ""
	}
}

// general names a forum's General topic, which has no thread id in messages.
const general = "general"
