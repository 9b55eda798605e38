// Package recording writes down what a turn gets from outside of the loop, and plays it back.
//
// A recording is a file of JSON lines, see docs/recordings.md. A Recorder writes it as the turn goes, so what a crash
// leaves is good to its last line; a Folder keeps the files of many turns within a bound. Export joins a recording with
// the entries of the conversation's log, without secrets. Replay runs the loop on an export: models, tools and people
// say what they said then, and the first thing that the loop does differently is what it returns.
//
// The package starts no goroutine. A Recorder and the player behind Replay may be used from the goroutines of their turn.
package recording

import (
	"encoding/json"
	"time"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// version is that of the format. A reader refuses any other.
const version = 1

// kind says what a line is about.
type kind string

const (
	kindRecord    kind = "record"      // of the log; only in an export
	kindSqueeze   kind = "compression" // before the turn
	kindTurn      kind = "turn"        // the loop takes the turn up; comes again if it goes on after a crash
	kindRequest   kind = "request"
	kindReply     kind = "reply"
	kindLook      kind = "look"
	kindCall      kind = "call"
	kindResult    kind = "result"
	kindAsk       kind = "ask" // for permission
	kindDecision  kind = "decision"
	kindQuestion  kind = "question"
	kindAnswer    kind = "answer"
	kindSteered   kind = "steered" // what people said to the turn
	kindMoved     kind = "moved"
	kindWrote     kind = "wrote" // to the log
	kindEvent     kind = "event"
	kindCancelled kind = "cancelled"
	kindEnd       kind = "end"
	kindFull      kind = "full" // the recording is as long as it may be; the rest is missing
)

// pauses tells whether something that takes long comes after a line of this kind, or nothing at all. Lines are written out
// up to there, so that a crash finds all that there was before whatever it came in.
func (k kind) pauses() bool {
	switch k {
	case kindRequest, kindCall, kindAsk, kindQuestion, kindWrote, kindEnd:
		return true
	}
	return false
}

// line is one line. Which fields it has depends on its kind.
type line struct {
	Kind kind   `json:"kind"`
	MS   int64  `json:"ms"` // milliseconds since the line "turn" or "compression"
	Lane string `json:"lane,omitempty"`
	Call string `json:"call,omitempty"` // id of the tool call that it is about

	Turn     *header           `json:"turn,omitempty"`
	Request  *request          `json:"request,omitempty"`
	N        int               `json:"n,omitempty"` // of a request and its reply: the number of the request
	Reply    *reply            `json:"reply,omitempty"`
	Look     *look             `json:"look,omitempty"`
	Result   *result           `json:"result,omitempty"`
	Decision *tools.Decision   `json:"decision,omitempty"`
	Answer   *tools.Answer     `json:"answer,omitempty"`
	Error    *failure          `json:"error,omitempty"` // of a reply, a result, a decision or an answer
	Moved    *moved            `json:"moved,omitempty"`
	Event    string            `json:"event,omitempty"`
	Data     json.RawMessage   `json:"data,omitempty"` // of an event
	Cause    string            `json:"cause,omitempty"`
	End      *end              `json:"end,omitempty"`
	Revision sessions.Revision `json:"revision,omitempty"` // of a record
	Record   json.RawMessage   `json:"record,omitempty"`   // entries: of the log, what people said, or what came of a compression
}

// header is what a turn begins with, or a compression. The session is the fold of the log up to Revision.
type header struct {
	Version   int               `json:"version"`
	Key       sessions.Key      `json:"key"`
	ID        string            `json:"id"`
	Chat      string            `json:"chat,omitempty"`      // under which notes about people are kept
	Requester string            `json:"requester,omitempty"` // of a turn that is not in the log yet
	Program   string            `json:"program,omitempty"`   // version
	At        time.Time         `json:"at"`
	Resumed   bool              `json:"resumed,omitempty"`
	Within    bool              `json:"within,omitempty"` // it goes on in the process that left it
	Revision  sessions.Revision `json:"revision"`
	Setup     loop.Setup        `json:"setup"`
	Tools     []toolSpec        `json:"tools,omitempty"`
}

// toolSpec is what the loop goes by when it runs a tool.
type toolSpec struct {
	Name        string          `json:"name"`
	Toolset     string          `json:"toolset,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Risk        tools.Risk      `json:"risk,omitempty"`
	Parallel    bool            `json:"parallel,omitempty"`
	Ranged      bool            `json:"ranged,omitempty"`
	Timeout     time.Duration   `json:"timeout,omitempty"` // nanoseconds
	Untrusted   bool            `json:"untrusted,omitempty"`
	Verifies    bool            `json:"verifies,omitempty"`
	Substitute  string          `json:"substitute,omitempty"`
	Paths       bool            `json:"paths,omitempty"`   // it says which files a call touches
	Session     bool            `json:"session,omitempty"` // it works on the session
}

// request is a model call, as what differs from the one before in its lane. The first one of the turn itself differs
// from the session: its prompt and its messages.
type request struct {
	Model     string             `json:"model"`
	System    *string            `json:"system,omitempty"` // nil = as before
	Tools     *string            `json:"tools,omitempty"`  // nil = as before
	Keep      int                `json:"keep"`             // so many messages are as before
	Messages  []sessions.Message `json:"messages,omitempty"`
	Hint      string             `json:"hint,omitempty"`
	NoTools   bool               `json:"no_tools,omitempty"`
	MaxOutput int                `json:"max_output,omitempty"`
}

type reply struct {
	Message sessions.Message `json:"message"` // of a failed call: what was heard of it
	Usage   sessions.Usage   `json:"usage"`
	Finish  loop.Finish      `json:"finish,omitempty"`
	FirstMS int64            `json:"first_ms,omitempty"` // when the first piece of text came, since the request
	Pieces  int              `json:"pieces,omitempty"`
}

// failure is an error.
type failure struct {
	Text  string        `json:"text"`
	Class string        `json:"class,omitempty"`
	Wait  time.Duration `json:"wait,omitempty"`  // nanoseconds
	Ended bool          `json:"ended,omitempty"` // it is the end of the context
}

type look struct {
	Problems []tools.Problem `json:"problems,omitempty"`
	Paths    []string        `json:"paths,omitempty"`
	Preview  string          `json:"preview,omitempty"`
	Verdict  tools.Verdict   `json:"verdict,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Fleeting bool            `json:"fleeting,omitempty"`
	Grants   []tools.Grant   `json:"grants,omitempty"`
}

type result struct {
	Text    string          `json:"text"`
	Failed  bool            `json:"failed,omitempty"`
	Class   tools.Failure   `json:"class,omitempty"`
	Tries   int             `json:"tries,omitempty"`
	Entries json.RawMessage `json:"entries,omitempty"` // a record
	Note    string          `json:"note,omitempty"`
	Aside   sessions.Spent  `json:"aside,omitzero"`
	Cost    float64         `json:"cost,omitempty"`
}

type moved struct {
	From   loop.State `json:"from"`
	Signal string     `json:"signal"`
	To     loop.State `json:"to"`
}

// end is how the loop left the turn. Without a reason the turn is still open.
type end struct {
	Reason loop.EndReason `json:"reason,omitempty"`
	Text   string         `json:"text,omitempty"`
	Error  string         `json:"error,omitempty"`
	Rounds int            `json:"rounds"`
	Calls  int            `json:"calls"`
	Usage  sessions.Usage `json:"usage"`
}
