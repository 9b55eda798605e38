package nats

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// message is what is published; exactly one of the pointers, or Record, is set. One that is too big for the server stands
// in parts that were published before it, and the message itself only says where.
type message struct {
	Key    sessions.Key    `json:"key,omitempty"` // of a record or a lease
	Record json.RawMessage `json:"record,omitempty"`
	Lease  *lease          `json:"lease,omitempty"`
	Item   *sessions.Item  `json:"item,omitempty"`
	Mark   *sessions.Mark  `json:"mark,omitempty"`
	Forget *forget         `json:"forget,omitempty"`
	Value  *value          `json:"value,omitempty"`
	Seen   *seen           `json:"seen,omitempty"`
	Erase  *erase          `json:"erase,omitempty"` // of Key
	Parts  *parts          `json:"parts,omitempty"`
}

// lease gives the conversation to its owner; its epoch is the sequence of the message. Released
// takes the current one back.
type lease struct {
	Owner    string `json:"owner"`
	Released bool   `json:"released,omitempty"`
}

// forget names the item or the row that is forgotten. It replaces all earlier messages of its subject.
type forget struct {
	Item sessions.ItemID `json:"item,omitempty"`
	Row  sessions.RowID  `json:"row,omitempty"`
}

// seen stands for an item that was consumed, or went with its conversation. It replaces the item's own message.
type seen struct {
	Item sessions.ItemID `json:"item"`
	At   time.Time       `json:"at"`
}

// erase says that there is nothing of a conversation but its lease. It replaces all its records.
type erase struct {
	Lease sessions.Lease `json:"lease"`
	At    time.Time      `json:"at"`
}

// parts says where the parts of a message are.
type parts struct {
	ID    string `json:"id"`
	Count int    `json:"count"`
	First uint64 `json:"first"` // sequence of the first one
}

// value is what a name stands for from now on. It replaces all earlier messages of its subject.
type value struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// replaces tells whether the earlier messages of the subject are of no use any more.
func (m message) replaces() bool {
	return m.Forget != nil || m.Value != nil || m.Seen != nil || m.Erase != nil
}

// subjects builds the subjects of a stream.
type subjects struct{ name string }

func (s subjects) all() string                    { return s.name + ".>" }
func (s subjects) item(id sessions.ItemID) string { return s.name + ".item." + token(string(id)) }
func (s subjects) log(key sessions.Key) string    { return s.name + ".log." + token(string(key)) }
func (s subjects) row(id sessions.RowID) string   { return s.name + ".row." + token(string(id)) }

func (s subjects) value(name string) string { return s.name + ".value." + token(name) }

// part is the subject of one part of a message on another subject, partsOf that of all parts on it.
func (s subjects) part(of, id string, n int) string {
	return fmt.Sprintf("%s.part%s.%s.%d", s.name, strings.TrimPrefix(of, s.name), id, n)
}

func (s subjects) partsOf(of string) string {
	return s.name + ".part" + strings.TrimPrefix(of, s.name) + ".>"
}

func (s subjects) isPart(subject string) bool { return strings.HasPrefix(subject, s.name+".part.") }

// token makes any name a part of a subject.
func token(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }
