// Package audit reads from the log who had what done: the calls of tools with who asked for them, who allowed them and
// what came of them, and what people decided about permissions, settings and sessions. Nothing is written for it: all of
// it is in the log anyway, in the commit of the change that it records. It starts no goroutine and changes nothing.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// What happened.
const (
	Call     = "call"     // a tool was called
	Decision = "decision" // a call of a sub-agent, or a question, was decided
	Granted  = "granted"  // a call is allowed for longer than once
	Revoked  = "revoked"
	Setting  = "setting"
	NewStart = "new session"
	WentBack = "went back" // to an earlier state, another session, or into a branch
	Removed  = "removed"   // the conversation, or its beginning
)

// Line is one thing that happened.
type Line struct {
	At           time.Time    `json:"at"`
	What         string       `json:"what"`
	Conversation sessions.Key `json:"conversation"`
	Person       string       `json:"person,omitempty"` // stable id, with the platform: whose turn it is, or who did it
	Task         string       `json:"task,omitempty"`
	Call         string       `json:"call,omitempty"`
	Tool         string       `json:"tool,omitempty"`
	Arguments    string       `json:"arguments_sha256,omitempty"`
	Preview      string       `json:"preview,omitempty"` // how the arguments begin, or what was set
	Asked        bool         `json:"asked,omitempty"`   // somebody or something had to decide
	Allowed      bool         `json:"allowed,omitempty"`
	Extent       string       `json:"extent,omitempty"` // of a permission
	By           string       `json:"by,omitempty"`     // who decided, empty = nobody
	Note         string       `json:"note,omitempty"`
	Judged       string       `json:"judged,omitempty"`  // why a model has left it to a person
	Outcome      string       `json:"outcome,omitempty"` // of a call; empty = there is none yet
}

// previewSize is how much of a call's arguments a line shows, in bytes.
const previewSize = 200

// Reader turns the records of one conversation into lines. Feed it all of them in order.
type Reader struct {
	key    sessions.Key
	person string
	open   []Line // calls that have no result yet
}

// NewReader returns a reader of a conversation's log.
func NewReader(key sessions.Key) *Reader { return &Reader{key: key} }

// Read returns what a record tells. A call is told of when it has its result.
func (r *Reader) Read(rec sessions.Record) (lines []Line) {
	say := func(l Line) { lines = append(lines, l) }
	for _, e := range rec.Entries {
		l := Line{At: rec.At, Conversation: r.key}
		switch e := e.(type) {
		case sessions.TurnStarted:
			r.person = e.Requester
		case sessions.AssistantMessage:
			for _, c := range e.Message.ToolCalls {
				sum := sha256.Sum256([]byte(c.Arguments))
				l.What, l.Person, l.Task, l.Call, l.Tool = Call, r.name(r.person), e.Turn, c.ID, c.Name
				l.Arguments, l.Preview = hex.EncodeToString(sum[:]), clip(c.Arguments)
				r.open = append(r.open, l)
			}
		case sessions.Asked:
			if i := r.find(e.Call); i >= 0 {
				r.open[i].Judged = e.Judged
			}
		case sessions.Decided:
			if i := r.find(e.Call); i >= 0 {
				r.open[i].decided(e, r.name(e.By))
				continue
			}
			l.What, l.Person, l.Task, l.Call, l.Tool = Decision, r.name(r.person), e.Turn, e.Call, e.Tool
			l.decided(e, r.name(e.By))
			say(l)
		case sessions.ToolResult:
			if i := r.find(e.Message.ToolCallID); i >= 0 {
				r.open[i].Outcome = string(e.Outcome)
				say(r.open[i])
				r.open = append(r.open[:i], r.open[i+1:]...)
			}
		default:
			if l.change(e) {
				l.Person, l.By = r.name(l.Person), r.name(l.By)
				say(l)
			}
		}
	}
	return lines
}

// Rest returns the calls that have no result yet.
func (r *Reader) Rest() []Line { return r.open }

// change tells of what people decide outside of calls.
func (l *Line) change(e sessions.Entry) bool {
	switch e := e.(type) {
	case sessions.Approved:
		l.What, l.Person, l.Tool, l.Preview, l.By = Granted, e.For, e.Tool, clip(e.Preview), e.By
		if l.Extent = "session"; e.Forever {
			l.Extent = "always"
		}
	case sessions.Revoked:
		l.What, l.Person, l.By = Revoked, e.For, e.By
	case sessions.SettingChanged:
		l.What, l.Person, l.Preview = Setting, e.By, strings.TrimSpace(e.Name+" "+e.Value)
	case sessions.Reset:
		l.What, l.Person = NewStart, e.By
	case sessions.Rewound:
		l.What, l.Person = WentBack, e.By
	default:
		return false
	}
	return true
}

func (l *Line) decided(e sessions.Decided, by string) {
	l.Asked, l.Allowed, l.Extent, l.By, l.Note = true, e.Allowed, e.Extent, by, e.Note
}

func (r *Reader) find(call string) int {
	for i := len(r.open) - 1; i >= 0; i-- {
		if r.open[i].Call == call {
			return i
		}
	}
	return -1
}

// name writes a person as platform:id.
func (r *Reader) name(id string) string {
	if id == "" || strings.Contains(id, ":") {
		return id
	}
	platform, _, _ := strings.Cut(string(r.key), "/")
	return platform + ":" + id
}

// clip keeps a beginning, on one line.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > previewSize {
		text = strings.ToValidUTF8(text[:previewSize], "") + "…"
	}
	return text
}
