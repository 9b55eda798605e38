package loop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/talaria-agent/talaria/sessions"
)

// repetition counts equal rounds in a row. Two rounds are equal if they call the same tools in the same order with
// arguments that mean the same JSON.
type repetition struct {
	last  string
	count int
}

// saw takes one round's calls into account.
func (r *repetition) saw(calls []sessions.ToolCall) {
	f := fingerprint(calls)
	if f == r.last {
		r.count++
		return
	}
	r.last, r.count = f, 1
}

// fingerprint names a round by what it does.
func fingerprint(calls []sessions.ToolCall) string {
	h := sha256.New()
	for _, c := range calls {
		h.Write([]byte(c.Name))
		h.Write([]byte{0})
		h.Write(canonical(c.Arguments))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// canonical returns a JSON text with sorted keys and no white space; a text that is not JSON stays as it is.
func canonical(text string) []byte {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return []byte(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return []byte(text)
	}
	return out
}
