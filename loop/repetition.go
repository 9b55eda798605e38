package loop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/talaria-agent/talaria/sessions"
)

// repetition counts equal rounds in a row. Two rounds are equal if they call the same tools in the same order with
// arguments that mean the same JSON. It also counts the rounds in a row that only read, and read nothing that was not
// read before since something was last changed.
type repetition struct {
	last  string
	count int

	stale int             // rounds without progress
	known map[string]bool // what reads have returned
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

// learnt takes the results of a round into account.
func (r *repetition) learnt(calls []prepared, results []*finished) {
	news := len(results) == 0
	for i, f := range results {
		switch {
		case f == nil:
			news = true
		case f.outcome != sessions.OutcomeOK || calls[i].effects:
			r.known, news = nil, true
		case !r.known[f.content]:
			if r.known == nil {
				r.known = map[string]bool{}
			}
			r.known[f.content], news = true, true
		}
	}
	if r.stale++; news {
		r.stale = 0
	}
}

// equal is how many rounds in a row have brought nothing new.
func (r *repetition) equal() int { return max(r.count, r.stale) }

// fingerprint names a round by what it does.
func fingerprint(calls []sessions.ToolCall) string {
	var parts []string
	for _, c := range calls {
		parts = append(parts, c.Name, string(canonical(c.Arguments)))
	}
	return fingerprintOf(parts...)
}

// fingerprintOf names a list of texts.
func fingerprintOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
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
