package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

// maxCallID is the length of a call id that OpenAI takes.
const maxCallID = 40

// callIDs gives the calls of a conversation ids that every provider takes, since the ids in a history may come from
// another one: letters, digits, _ and - only, not too long, and each of them once. An id that is all that stays as it
// is; another one depends on nothing but what stands before it, so that a conversation keeps its bytes.
type callIDs struct {
	used    map[string]bool
	current map[string]string // of the newest message with calls: its ids, and what became of them
}

// begin goes on to the next message.
func (c *callIDs) begin(m sessions.Message) {
	if m.Role == sessions.RoleAssistant {
		clear(c.current)
	}
}

// call returns the id for a call of the message that has begun.
func (c *callIDs) call(id string) string {
	valid := id != "" && len(id) <= maxCallID && strings.IndexFunc(id, func(r rune) bool { return !isWordByte(r) }) < 0
	wire := id
	if !valid || c.used[id] {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", len(c.used), id))
		wire = "call_" + hex.EncodeToString(sum[:12])
	}
	c.used[wire] = true
	c.current[id] = wire
	return wire
}

// result returns the id for a result of one of the newest calls.
func (c *callIDs) result(id string) string {
	if wire, ok := c.current[id]; ok {
		return wire
	}
	return id
}
