package gateway

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/talaria-agent/talaria/platforms"
	"github.com/talaria-agent/talaria/sessions"
)

// payloadVersion is the version of inbox and outbox payloads.
const payloadVersion = 1

// input is what the inbox holds: exactly one of the updates that a conversation handles, but that the press of a button
// that asks for an answer to a changed message comes with that message.
type input struct {
	Version int                       `json:"v"`
	Message *platforms.Message        `json:"message,omitempty"` // not encoded for an edit: what it says now
	Edited  *platforms.MessageEdited  `json:"edited,omitempty"`
	Deleted *platforms.MessageDeleted `json:"deleted,omitempty"`
	Button  *platforms.ButtonPressed  `json:"button,omitempty"`
	Command *platforms.CommandInvoked `json:"command,omitempty"`
	Errand  *errand                   `json:"errand,omitempty"`  // nobody has written the message just now
	Refused string                    `json:"refused,omitempty"` // why the message will not be worked on; for the person

	// Not encoded:
	item      sessions.ItemID   // the item that holds it
	sign      *firstSign        // the first sign to whoever sent it
	busy      Busy              // of a message: what it does to a running turn
	waits     bool              // belongs to the room: it counts as waiting for a turn
	ready     time.Time         // of a message: no turn starts with it before, because more of it may come
	edits     []sessions.ItemID // changes of the message, and other parts of its album, which end with it
	whole     bool              // an album that was put together
	heard     bool              // a change of what the running turn was told beside what it began with
	stopped   bool              // a command that has stopped a turn and waits for its end
	closing   string            // what is left to say then
	unbegun   bool              // and that turn had not begun
	withdrawn int               // how many messages that waited the command has ended
}

// origin returns where the update came from.
func (in *input) origin() platforms.Origin {
	switch {
	case in.Message != nil:
		return in.Message.Origin
	case in.Deleted != nil:
		return in.Deleted.Origin
	case in.Button != nil:
		return in.Button.Origin
	default:
		return in.Command.Origin
	}
}

// person names who caused it, over all platforms.
func (in *input) person() string {
	o := in.origin()
	return string(o.Address.Platform) + ":" + o.Sender.ID
}

// accepted gives an input the name of its item, and its time.
func (in *input) accepted(item sessions.Item) {
	in.item, in.sign = item.ID, &firstSign{accepted: item.At}
	if in.Edited != nil {
		in.Message = &in.Edited.Message
	}
}

// isCommand tells whether this is a command and no message.
func (in *input) isCommand() bool {
	if in.Message == nil || in.Edited != nil {
		return in.Command != nil
	}
	_, _, ok := parseCommand(in.Message)
	return ok
}

// names tells whether it is a certain command.
func (in *input) names(command string) bool {
	if in.Message == nil || in.Edited != nil {
		return in.Command != nil && completed(in.Command.Name) == command
	}
	name, _, ok := parseCommand(in.Message)
	return ok && name == command
}

// itemsOf are the items that end when these inputs do.
func itemsOf(inputs []*input) (ids []sessions.ItemID) {
	for _, in := range inputs {
		ids = append(ids, in.items()...)
	}
	return ids
}

// items are the items that end when this input does.
func (in *input) items() []sessions.ItemID { return append([]sessions.ItemID{in.item}, in.edits...) }

func (in input) encode() ([]byte, error) {
	in.Version = payloadVersion
	return json.Marshal(in)
}

func decodeInput(item sessions.Item) (*input, error) {
	in := &input{}
	if err := json.Unmarshal(item.Payload, in); err != nil {
		return nil, fmt.Errorf("decode inbox item %s: %w", item.ID, err)
	}
	in.accepted(item)
	if in.Version != payloadVersion {
		return nil, fmt.Errorf("decode inbox item %s: version %d is not known", item.ID, in.Version)
	}
	if in.Message == nil && in.Deleted == nil && in.Button == nil && in.Command == nil {
		return nil, fmt.Errorf("decode inbox item %s: it holds no update", item.ID)
	}
	return in, nil
}

// output is what an outbox row holds: one answer, cut into the parts that are sent one by one; or the last edit of a
// message that has shown how something goes on.
type output struct {
	Version int                      `json:"v"`
	To      platforms.Address        `json:"to"`
	ReplyTo string                   `json:"reply_to,omitempty"`
	Pieces  []string                 `json:"pieces"` // Markdown; part i of the row sends piece i
	Buttons [][]platforms.Button     `json:"buttons,omitempty"`
	Shown   []string                 `json:"shown,omitempty"`   // ids of messages that become the parts, by edits; more than there are parts are deleted
	Closing bool                     `json:"closing,omitempty"` // no answer: nothing is lost with it, and it is never posted anew
	Bubble  string                   `json:"bubble,omitempty"`  // message id of the turn's progress message
	Edited  *platforms.MessageEdited `json:"edited,omitempty"`  // the changed message that a button offers to answer
	Notice  bool                     `json:"notice,omitempty"`  // says that another row is in doubt; never itself offered again
	Owner   bool                     `json:"owner,omitempty"`   // tells the owner; nothing that befalls it is told him again
	About   platforms.Address        `json:"about,omitzero"`    // where the trouble is that the owner is told of
	Refused []platforms.Address      `json:"refused,omitempty"` // homes that did not take what the owner is told
	Message sessions.ItemID          `json:"message,omitempty"` // the item that it answers, for the log
	Task    string                   `json:"task,omitempty"`    // the turn that it is from, for the log
	At      time.Time                `json:"at,omitzero"`       // when it was put into the outbox
	id      sessions.RowID           // not encoded: the row's id, if it must be known before; empty = a new one
	sign    *firstSign               // not encoded: of the message that it answers
}

// lane is the name of the lane that delivers an output. What closes a message has one of its own, so that it holds no
// answer.
func (o output) lane() string {
	if o.Closing {
		return o.To.String() + " closing"
	}
	return o.To.String()
}

func (o output) encode() ([]byte, error) {
	o.Version = payloadVersion
	return json.Marshal(o)
}

func decodeOutput(row sessions.Row) (output, error) {
	var o output
	if err := json.Unmarshal(row.Payload, &o); err != nil {
		return o, fmt.Errorf("decode outbox row %s: %w", row.ID, err)
	}
	if o.Version != payloadVersion {
		return o, fmt.Errorf("decode outbox row %s: version %d is not known", row.ID, o.Version)
	}
	if len(o.Pieces) != len(row.Parts) {
		return o, fmt.Errorf("decode outbox row %s: %d pieces for %d parts", row.ID, len(o.Pieces), len(row.Parts))
	}
	return o, nil
}
