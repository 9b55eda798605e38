package sessions

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Entry is one thing that happened in a conversation. The set is closed and versioned by its kinds: a reader that
// meets an unknown kind fails instead of skipping it, because what it skipped might change what follows.
type Entry interface {
	// kind is the entry's permanent name in the log.
	kind() string
}

// TurnStarted opens a turn and claims the inbox items that it answers.
type TurnStarted struct {
	Turn      string    `json:"turn"` // task id, unique
	Inputs    []ItemID  `json:"inputs,omitempty"`
	Requester string    `json:"requester"`       // stable id of the person who started it
	About     []ItemID  `json:"about,omitempty"` // messages of before that it answers once more, or as they read now
	At        time.Time `json:"at"`
}

// Edited is a message that a person changed after it had been answered. Nothing follows from it by itself.
type Edited struct {
	Original ItemID    `json:"original"`
	Text     string    `json:"text"` // as the model is to see it
	At       time.Time `json:"at"`
}

// TurnResumed says that a turn goes on after the process died in it or parked it, or could not write to the log.
type TurnResumed struct {
	Turn   string    `json:"turn"`
	Within bool      `json:"within,omitempty"` // the process that left it goes on with it, so that it did not die
	At     time.Time `json:"at"`
}

// TurnParked says that the process has left an open turn on purpose, so that going on with it is not counted as after a
// crash.
type TurnParked struct {
	Turn string    `json:"turn"`
	At   time.Time `json:"at"`
}

// Steered is what people said while a turn ran, as the model sees it from its next step on. It claims the inbox items.
type Steered struct {
	Turn    string   `json:"turn"`
	Inputs  []ItemID `json:"inputs"`
	Message Message  `json:"message"`
}

// UserMessage is what a person said, as the model sees it.
type UserMessage struct {
	Turn    string  `json:"turn"`
	Message Message `json:"message"`
}

// AssistantMessage is one reply of the model, complete, with its tool calls. It is committed before any of them runs.
type AssistantMessage struct {
	Turn    string    `json:"turn"`
	Message Message   `json:"message"`
	Usage   Usage     `json:"usage"`
	Model   string    `json:"model,omitempty"`
	Plan    []Planned `json:"plan,omitempty"` // one for each of the calls; empty = all begin at once, and nobody is asked
}

// Planned is when a call of a reply begins. It tells after a crash which calls have not begun, without a commit for each
// that does.
type Planned struct {
	Step int  `json:"step"`           // from 1; one begins when the log has all results of those before. 0 = the call never runs
	Asks bool `json:"asks,omitempty"` // it does not begin before the log has a Decided that allows it
}

// Outcome says how a tool call ended.
type Outcome string

const (
	OutcomeOK          Outcome = "ok"
	OutcomeFailed      Outcome = "failed"      // the tool ran and reported a failure
	OutcomeRefused     Outcome = "refused"     // never ran: bad arguments, unknown tool, permission
	OutcomeDenied      Outcome = "denied"      // never ran: a person said no, or did not answer in time
	OutcomeTimedOut    Outcome = "timed out"   // stopped by its deadline
	OutcomeInterrupted Outcome = "interrupted" // stopped or never started, because the turn was stopped
	OutcomeUnknown     Outcome = "unknown"     // it may have taken effect: the process died, or it would not stop
	OutcomeSkipped     Outcome = "skipped"     // never ran: a sibling call or a budget made it pointless
)

// ToolResult answers one tool call. Every call has exactly one.
type ToolResult struct {
	Turn    string  `json:"turn"`
	Message Message `json:"message"` // role tool
	Outcome Outcome `json:"outcome"`
}

// TurnEnded closes a turn. Whatever was open in it has been closed before.
type TurnEnded struct {
	Turn   string    `json:"turn"`
	Reason string    `json:"reason"` // loop.EndReason
	Error  string    `json:"error,omitempty"`
	Usage  Usage     `json:"usage"` // of the whole turn
	Rounds int       `json:"rounds"`
	At     time.Time `json:"at"`
}

// PromptBuilt fixes the system prompt and the tool declarations, byte for byte, until the next one.
type PromptBuilt struct {
	System string `json:"system"`
	Tools  []byte `json:"tools,omitempty"` // JSON; not a RawMessage, which encoding would compact and escape
}

// Compaction replaces the ledger by a shorter one. What was before stays in the log.
type Compaction struct {
	Checkpoint
	Before  int       `json:"before"`  // tokens, measured or estimated
	After   int       `json:"after"`   // tokens, estimated
	Summary bool      `json:"summary"` // written by a model; false = a plain digest, because no model answered
	At      time.Time `json:"at"`
}

// Reset begins a new session: the ledger is empty again. It never stands inside a turn.
type Reset struct {
	By string    `json:"by"` // stable id of the person
	At time.Time `json:"at"`
	// Approvals are the permissions that were given for good.
	Approvals []Approved       `json:"approvals,omitempty"`
	Settings  []SettingChanged `json:"settings,omitempty"`
}

// DeliveryFailed records that a part of an answer will never reach its chat.
type DeliveryFailed struct {
	Row    RowID     `json:"row"`
	Reason string    `json:"reason"` // for people
	At     time.Time `json:"at"`
}

// BubbleShown records the platform's id of a turn's progress message, so that it can be found again.
type BubbleShown struct {
	Turn      string `json:"turn"`
	MessageID string `json:"message_id"`
}

// StreamShown records the platform's ids of the messages that show a turn's answer while it is being written, in order;
// it replaces what was recorded before. Next is the message that is about to be posted behind them.
type StreamShown struct {
	Turn       string      `json:"turn"`
	MessageIDs []string    `json:"message_ids,omitempty"`
	Next       *StreamPost `json:"next,omitempty"`
}

// StreamPost is what a message can be found by that may have been posted before its id could be recorded.
type StreamPost struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

func (TurnStarted) kind() string      { return "turn_started" }
func (TurnResumed) kind() string      { return "turn_resumed" }
func (TurnParked) kind() string       { return "turn_parked" }
func (Steered) kind() string          { return "steered" }
func (UserMessage) kind() string      { return "user_message" }
func (Edited) kind() string           { return "edited" }
func (AssistantMessage) kind() string { return "assistant_message" }
func (ToolResult) kind() string       { return "tool_result" }
func (TurnEnded) kind() string        { return "turn_ended" }
func (PromptBuilt) kind() string      { return "prompt_built" }
func (Compaction) kind() string       { return "compaction" }
func (Reset) kind() string            { return "reset" }
func (BubbleShown) kind() string      { return "bubble_shown" }
func (StreamShown) kind() string      { return "stream_shown" }
func (DeliveryFailed) kind() string   { return "delivery_failed" }

// entryJSON is an entry in the log: its kind and its fields.
type entryJSON struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

func encodeEntry(e Entry) (entryJSON, error) {
	if e == nil || reflect.TypeOf(e).Kind() == reflect.Pointer {
		return entryJSON{}, fmt.Errorf("encode entry of type %T: entries are plain values", e)
	}
	data, err := json.Marshal(e)
	if err != nil {
		return entryJSON{}, fmt.Errorf("encode %s entry: %w", e.kind(), err)
	}
	return entryJSON{Kind: e.kind(), Data: data}, nil
}

func decodeEntry(j entryJSON) (Entry, error) {
	switch j.Kind {
	case "turn_started":
		return decodeAs[TurnStarted](j)
	case "turn_resumed":
		return decodeAs[TurnResumed](j)
	case "turn_parked":
		return decodeAs[TurnParked](j)
	case "steered":
		return decodeAs[Steered](j)
	case "user_message":
		return decodeAs[UserMessage](j)
	case "assistant_message":
		return decodeAs[AssistantMessage](j)
	case "tool_result":
		return decodeAs[ToolResult](j)
	case "turn_ended":
		return decodeAs[TurnEnded](j)
	case "prompt_built":
		return decodeAs[PromptBuilt](j)
	case "compaction":
		return decodeAs[Compaction](j)
	case "reset":
		return decodeAs[Reset](j)
	case "bubble_shown":
		return decodeAs[BubbleShown](j)
	case "stream_shown":
		return decodeAs[StreamShown](j)
	case "todo_changed":
		return decodeAs[TodoChanged](j)
	case "notes_changed":
		return decodeAs[NotesChanged](j)
	case "approved":
		return decodeAs[Approved](j)
	case "asked":
		return decodeAs[Asked](j)
	case "decided":
		return decodeAs[Decided](j)
	case "revoked":
		return decodeAs[Revoked](j)
	case "rewound":
		return decodeAs[Rewound](j)
	case "edited":
		return decodeAs[Edited](j)
	case "titled":
		return decodeAs[Titled](j)
	case "delegated":
		return decodeAs[Delegated](j)
	case "setting_changed":
		return decodeAs[SettingChanged](j)
	case "delivery_failed":
		return decodeAs[DeliveryFailed](j)
	case "aside":
		return decodeAs[Aside](j)
	case "message_sent":
		return decodeAs[MessageSent](j)
	}
	return nil, fmt.Errorf("decode entry: unknown kind %q (written by a newer version?)", j.Kind)
}

func decodeAs[E Entry](j entryJSON) (Entry, error) {
	var e E
	if err := json.Unmarshal(j.Data, &e); err != nil {
		return nil, fmt.Errorf("decode %s entry: %w", j.Kind, err)
	}
	return e, nil
}
