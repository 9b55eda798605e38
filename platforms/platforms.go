// Package platforms is the contract between the gateway and the chat platforms.
//
// An adapter turns what a platform sends into an Update, hands it to the Sink and acknowledges the event to the
// platform only after the Sink has returned without an error: by then the update is durable. The other way, it posts
// an Outgoing at an Address and classifies whatever goes wrong into an Error, once, here at the edge.
//
// Nothing in this package knows a concrete platform, a store or a model; it starts no goroutine of its own. Values
// that cross it (Message, Address, Outgoing) are immutable by convention: neither side changes one after handing it
// over, so they may be read from any goroutine.
package platforms

import (
	"context"
	"io"
	"time"
)

// Name identifies a platform: "telegram", "slack", "discord". It is part of session keys and native ids and therefore
// permanent.
type Name string

// The platforms that Talaria speaks.
const (
	Telegram Name = "telegram"
	Slack    Name = "slack"
	Discord  Name = "discord"
)

// Address is where something can be posted. It is comparable, so it can be a map key.
type Address struct {
	Platform Name   `json:"platform"`
	Account  string `json:"account"` // Slack team id, Telegram bot id, Discord application id
	Chat     string `json:"chat"`    // channel, DM or group id; for a Discord thread the parent channel's id
	Thread   string `json:"thread,omitempty"`
	// Thread is a Slack thread's root ts, a Telegram forum topic's id ("general" for the General topic, which is sent
	// without one), a Discord thread's channel id; empty = the chat itself.
}

// String returns "platform/account/chat" or "platform/account/chat/thread", for logs and as a lane's name.
func (a Address) String() string {
	s := string(a.Platform) + "/" + a.Account + "/" + a.Chat
	if a.Thread != "" {
		s += "/" + a.Thread
	}
	return s
}

// Places returns the names under which something can be configured for the address, the most precise first:
// "platform:chat/thread", "platform:chat", "platform".
func (a Address) Places() []string {
	chat := string(a.Platform) + ":" + a.Chat
	return []string{chat + "/" + a.Thread, chat, string(a.Platform)}
}

// Adapter connects one bot account of one platform.
type Adapter interface {
	// Name tells which platform this is.
	Name() Name

	// Run connects and delivers updates to the sink until the context ends (it returns nil) or a fault that only the
	// operator can cure (an *Error of class Fatal: bad token, missing intents). Lost connections are rebuilt inside,
	// with backoff. Updates of one chat reach the sink in the order in which the platform sent them. Run is called
	// once and returns only after every goroutine it started has ended.
	Run(ctx context.Context, sink Sink) error

	// Send posts one message and returns the platform's id for it. The text must fit (see Split). It may be called
	// from any goroutine, also while Run is still connecting; order is the caller's business. Errors are *Error.
	Send(ctx context.Context, to Address, out Outgoing) (messageID string, err error)

	// Split cuts a Markdown text into pieces that Send accepts one by one, without breaking fences, links or
	// graphemes. A blank text gives no piece. It is pure: the same text always gives the same pieces.
	Split(markdown string) []string

	// Limits tells what the platform allows.
	Limits() Limits
}

// Sink takes one update. When it returns nil the update is durable (or was already known, or is of no concern) and the
// adapter acknowledges it; on an error the adapter does not acknowledge and lets the platform deliver it again, or
// retries itself. It may be called from any goroutine.
type Sink func(ctx context.Context, u Update) (Receipt, error)

// Receipt is what the sink wants shown with the acknowledgement of a button press or a native command, where the
// platform can show something to that person alone. It is lossy: it may never be seen.
type Receipt struct {
	Note string // plain text of at most 200 runes; empty = acknowledge silently
}

// Outgoing is one message to be posted or the new content of one to be edited.
type Outgoing struct {
	Text    string     // Markdown source
	Plain   bool       // post Text as it stands, without any formatting (after a refused format)
	Buttons [][]Button // rows of buttons below the text
	Silent  bool       // do not notify, where the platform knows the difference
	ReplyTo string     // id of the message to reply to, if the platform shows replies; a vanished one is no error
	Key     string     // idempotency key: equal for every attempt at the same part; empty = none
	Asks    bool       // it waits for an answer, so it is of no use where nobody sees it
	Class   Priority   // how urgent the call is to the Pacer
}

// Button is a button below a message. Data comes back in ButtonPressed; at most 64 bytes (Telegram's callback_data).
type Button struct {
	Label  string
	Data   string
	Danger bool // shown in the platform's warning style, where it has one
}

// Limits is what a platform allows, as data.
type Limits struct {
	Text       int           // longest text of one message, in the platform's own unit; Split keeps to it
	ButtonData int           // bytes
	ButtonRows int           // rows below one message
	EditEvery  time.Duration // shortest sensible distance between two edits of one message
	TypingFor  time.Duration // how long one typing signal lasts; 0 = no typing indicator
	DraftFor   time.Duration // how long a draft shows, see Streamer
	EditableID bool          // a message can be edited whenever its id is known

	// IdempotentFor is how long after its first attempt a Send can be repeated with the same Key and still makes one
	// message at most; 0 = the platform knows no such key.
	IdempotentFor time.Duration
}

// The optional capabilities of an adapter, found by assertion. All return *Error and may be called from any goroutine.
type (
	// Editor changes the text and buttons of a message of our own. "Not modified" counts as success.
	Editor interface {
		Edit(ctx context.Context, at Address, messageID string, out Outgoing) error
	}
	// Deleter removes a message of our own. An already deleted one counts as success.
	Deleter interface {
		Delete(ctx context.Context, at Address, messageID string) error
	}
	// Typer shows "typing ..." at an address for Limits.TypingFor.
	Typer interface {
		Typing(ctx context.Context, at Address) error
	}
	// Streamer shows a text while it is written, where the platform draws that itself: as a draft, which is no message.
	// It vanishes after Limits.DraftFor, or when the bot's next message at the address takes its place; an edit does not.
	// It changes as long as out.Key stays the same, and one with another key replaces it. The text must fit (see Split);
	// there are no buttons. A draft can be repeated freely. Class Invalid says that there are none at this address.
	Streamer interface {
		Draft(ctx context.Context, at Address, out Outgoing) error
	}
	// Reactor puts an emoji on a message, as a receipt.
	Reactor interface {
		React(ctx context.Context, at Address, messageID, emoji string) error
	}
	// Historian reads what people wrote while nobody listened, for platforms that do not keep it for us.
	Historian interface {
		// History returns what people wrote at an address since a time, oldest first, as Run would have delivered it: a
		// chat without what is in its threads, or one thread.
		History(ctx context.Context, at Address, since time.Time) ([]*Message, error)
		// Connections returns how often Run has begun to receive without being given what was written just before.
		Connections() int
		Prober
	}
	// Finder looks for a message of our own whose Send ended with an unknown outcome at some time since a given one.
	// It returns the platform's id, and an empty one if there is no such message yet: some platforms show a new
	// message to a look-up only seconds later. The message is known by out.Key or, where the platform does not give that
	// back, by the Data of its buttons, or by its text if it has none. An error says that nobody can tell.
	Finder interface {
		Find(ctx context.Context, at Address, out Outgoing, since time.Time) (messageID string, err error)
	}
	// Fetcher reads a file that came with a message. It writes at most so many bytes; class TooLong says that the file
	// has more, or more than the platform gives to bots. What was written before an error is of no use. The caller bounds
	// the time by the context, and may call it again after any error.
	Fetcher interface {
		Fetch(ctx context.Context, a Attachment, into io.Writer, most int64) error
	}
	// Checker asks the platform who the bot is and what keeps it from working, for `talaria check` and `talaria setup`,
	// without starting to receive: nothing that waits for the bot is lost. Where another program can take the bot's
	// messages away, it listens for one as long as listen says, which disturbs that program; 0 = it does not. An error
	// says that the bot does not work at all.
	Checker interface {
		Check(ctx context.Context, listen time.Duration) (Checked, error)
	}
	// CommandRegistrar tells the platform which native commands exist, where it has them. Idempotent; called once
	// the adapter knows its account.
	CommandRegistrar interface {
		RegisterCommands(ctx context.Context, commands []Command) error
	}
	// Paced tells how the platform's rate limits hold calls back.
	Paced interface {
		Pace() Pace
	}
	// Prober tells whether the connection shows signs of life: the time of the last completed poll, heartbeat ack or
	// pong, zero before the first.
	Prober interface {
		LastAlive() time.Time
	}
)

// Checked is what a Checker found out.
type Checked struct {
	Who      string // who the bot is, in one readable line
	Link     string // where a person reaches the bot, or lets it in; empty = nothing is known
	Problems []Problem
}

// Problem is what the operator should see to, each part in one line.
type Problem struct {
	What, Cure string
	Minor      bool // most things work all the same
}

// Command describes a native command to a platform's menu.
type Command struct {
	Name        string // lower case, without slash
	Description string // at most 100 runes
	Argument    string // name of the one free-text argument; empty = none
}
