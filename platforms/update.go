package platforms

import "time"

// Update is what an adapter delivers. The set is closed: *Message, *MessageEdited, *MessageDeleted, *ButtonPressed,
// *CommandInvoked, *ChatMigrated.
type Update interface {
	// NativeID identifies the event for deduplication: the same for every delivery of the same event, different for
	// different events, over all platforms and accounts and for ever.
	NativeID() string
	update()
}

// ChatKind tells what sort of place a message was written in; with the ids it decides the session.
type ChatKind string

const (
	Direct  ChatKind = "dm"      // one person and the bot
	Group   ChatKind = "group"   // several people, one stream of messages: Telegram groups
	Channel ChatKind = "channel" // several people, one stream of messages: Discord channels
	Topic   ChatKind = "topic"   // a Telegram forum topic: shared by its readers
	Thread  ChatKind = "thread"  // a Slack channel's thread, a Discord thread or forum post: shared by its readers
)

// Person is somebody who writes, by stable id. Name is what the platform shows and may change; never authorise by it.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Bot  bool   `json:"bot,omitempty"` // a bot, a webhook, an anonymous admin, a channel: nobody who can be authorised
}

// Origin says where an update comes from and who caused it.
type Origin struct {
	Address Address  `json:"address"` // where replies go
	Kind    ChatKind `json:"kind"`
	Sender  Person   `json:"sender"`
	Title   string   `json:"title,omitempty"` // the chat's name, for people; never authorise by it
}

// Message is something that a person wrote. Immutable.
type Message struct {
	Origin
	Native        string       `json:"native"`                   // see Update.NativeID
	ID            string       `json:"id"`                       // the platform's message id, unique within the chat
	Text          string       `json:"text"`                     // decoded, without the mention of the bot that led it
	Mentioned     bool         `json:"mentioned,omitempty"`      // addressed to the bot: mention, reply to it, or a DM
	MentionsOther bool         `json:"mentions_other,omitempty"` // mentions somebody, and not the bot
	Forwarded     bool         `json:"forwarded,omitempty"`      // the text is what somebody wrote elsewhere, passed on
	Quoted        *Quote       `json:"quoted,omitempty"`         // the message that it replies to
	Attachments   []Attachment `json:"attachments,omitempty"`
	Album         string       `json:"album,omitempty"` // shared by the messages of one album
	At            time.Time    `json:"at"`
}

// Quote is the message that another one replies to.
type Quote struct {
	MessageID string `json:"message_id"`
	Sender    Person `json:"sender"`
	Text      string `json:"text"`
	Own       bool   `json:"own,omitempty"` // written by this bot
}

// Attachment describes a file, picture, sticker, location ... that came with a message. The bytes are not in it.
type Attachment struct {
	Kind string `json:"kind"` // "photo", "document", "audio", "voice", "video", "sticker", "location", "contact", "poll", "other"
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"` // MIME type as the platform claims it
	Size int64  `json:"size,omitempty"` // bytes, 0 = unknown
	Ref  string `json:"ref,omitempty"`  // what the adapter needs to fetch it; never a secret
}

// MessageEdited says that a person changed a message. Message holds the new content; its Native identifies the edit,
// its ID is that of the message that was changed, Original that one's Native.
type MessageEdited struct {
	Message
	Original string `json:"original"`
}

// MessageDeleted says that a message was removed; Original is that one's Native. Sender is often unknown.
type MessageDeleted struct {
	Origin
	Native    string `json:"native"`
	MessageID string `json:"message_id"`
	Original  string `json:"original"`
}

// ButtonPressed says that somebody pressed a button below one of our messages.
type ButtonPressed struct {
	Origin
	Native    string `json:"native"`
	MessageID string `json:"message_id"` // the message that holds the button; empty if the platform did not say
	Data      string `json:"data"`
}

// CommandInvoked says that somebody used a native command (Slack slash command, Discord application command).
// Telegram's commands are messages that begin with a slash and arrive as Message.
type CommandInvoked struct {
	Origin
	Native   string    `json:"native"`
	Name     string    `json:"name"` // lower case, without slash
	Argument string    `json:"argument,omitempty"`
	At       time.Time `json:"at"`
}

// ChatMigrated says that a chat has become another one, with another id, and takes no messages any more.
type ChatMigrated struct {
	Native string  `json:"native"`
	From   Address `json:"from"`
	To     string  `json:"to"` // the new chat
}

func (m *Message) NativeID() string        { return m.Native }
func (m *MessageEdited) NativeID() string  { return m.Native }
func (m *MessageDeleted) NativeID() string { return m.Native }
func (b *ButtonPressed) NativeID() string  { return b.Native }
func (c *CommandInvoked) NativeID() string { return c.Native }
func (c *ChatMigrated) NativeID() string   { return c.Native }

func (*Message) update()        {}
func (*MessageDeleted) update() {}
func (*ButtonPressed) update()  {}
func (*CommandInvoked) update() {}
func (*ChatMigrated) update()   {}
