// Package sim is what the simulators of the three platforms have in common. Each simulator (sim/telegram, sim/slack,
// sim/discord) is a real HTTP and WebSocket server on any net.Listener that checks what the real service checks and
// refuses what it refuses, in the real shapes. One implementation serves `talaria lab`, the tests and the benchmarks.
//
// A simulator has two sides: its handler speaks the platform's protocol with an adapter; its Stage is the people's
// side, where a test or the lab page types, presses buttons and sees what a person would see.
package sim

import (
	"net/http"
	"strings"
	"time"
)

// Stage is the people's side of a simulator. All methods may be called from any goroutine; what they cause reaches the
// adapter asynchronously, in call order for each chat.
type Stage interface {
	// Handler serves the platform's protocol. Close ends its long polls and sockets.
	Handler() http.Handler
	Close()

	// AddUser and AddChat create people and places; they must exist before they are used.
	AddUser(User)
	AddChat(Chat)

	// Say writes a message as a person and returns its id.
	Say(Say) (messageID string, err error)
	// EditAs and DeleteAs change or remove a person's own message.
	EditAs(user, chat, messageID, text string) error
	DeleteAs(user, chat, messageID string) error
	// Press presses the button that carries data below one of the bot's messages. The returned channel yields what
	// the platform shows that person in answer (empty = silent acknowledgement) and is closed; it yields nothing if
	// the bot never answers.
	Press(user, chat, messageID, data string) (<-chan string, error)
	// Invoke uses a native command; an error where the platform has none.
	Invoke(user, chat, thread, name, argument string) (<-chan string, error)

	// Visible returns a chat as it looks now, oldest message first, threads included.
	Visible(chat string) []Message
	// Typing tells whether "typing ..." (Slack: the assistant status) shows now at a place.
	Typing(chat, thread string) bool
	// Log returns everything that was visibly done, by the bot and by people, in order.
	Log() []Event
	// Changed returns a channel that is closed at the next visible change.
	Changed() <-chan struct{}

	// Faults is the fault script of this simulator.
	Faults() *Faults
}

// User is a person of a simulator, or another bot.
type User struct {
	ID, Name string
	Bot      bool
}

// Chat is a place of a simulator.
type Chat struct {
	ID      string
	Kind    string // "dm", "group", "channel", "forum"
	Title   string
	Members []string // user ids; the bot is always in it
}

// Say is one message of a person. Mention puts the platform's own form of a mention of the bot in front of the text.
type Say struct {
	User, Chat, Thread string
	Text               string
	Mention            bool
	ReplyTo            string // message id
	File               string // name of an attached file
	Data               []byte // its content; nil = some text
	Size               int64  // what it claims to be long, for files that are too long to make; 0 = what it is
}

// Upload is a file that a person has sent.
type Upload struct {
	Name, Type string
	Data       []byte
	Size       int64
}

// Upload returns the file of the message, nil if it has none. Its type is that of its content.
func (s Say) Upload() *Upload {
	if s.File == "" {
		return nil
	}
	u := &Upload{Name: s.File, Data: s.Data, Size: s.Size}
	if u.Data == nil {
		u.Data = []byte("This is " + s.File + ".\n")
	}
	if u.Size == 0 {
		u.Size = int64(len(u.Data))
	}
	u.Type, _, _ = strings.Cut(http.DetectContentType(u.Data), ";")
	return u
}

// Title is the file's name, empty if there is none.
func (u *Upload) Title() string {
	if u == nil {
		return ""
	}
	return u.Name
}

// Message is a message as it shows now.
type Message struct {
	ID, Chat, Thread string
	User             string // id of the author; Bot for the bot under test
	Wire             string // the text as it went over the wire
	Visible          string // the text as a person reads it: formatting resolved, marks and escapes removed
	HTML             string // the text as the platform would draw it, sanitised: for the lab page
	ReplyTo          string
	Silent           bool
	Draft            bool // no message: what the bot is still writing, where the platform shows that by itself
	Edited           bool
	Buttons          [][]Button
	Reactions        []string
	File             string
	At               time.Time
}

// Bot is the author of the messages of the bot under test.
const Bot = "bot"

// Button is a button as it shows.
type Button struct{ Label, Data string }

// Event is one visible thing that happened.
type Event struct {
	At   time.Time
	Kind string // "say", "send", "edit", "delete", "react", "typing", "draft", "press", "note"
	Message
}
