package loop

import "github.com/talaria-agent/talaria/sessions"

// verified remembers how much of a turn's ledger is known to be valid, and the call ids in it, so that a round costs what
// it adds and not what was there before. Within a turn the ledger only grows, but for a compaction.
type verified struct {
	compactions int // of the session, when the rest was found out
	valid       int // so many messages from the beginning on are valid
	read        int // of so many messages the ids are known
	ids         map[string]bool
}

// repair is Repair for the ledger of a session.
func (v *verified) repair(s *sessions.Session) ([]sessions.Message, RepairReport) {
	if v.ids == nil || v.compactions != s.Compactions || v.valid > len(s.Messages) {
		*v = verified{compactions: s.Compactions, ids: map[string]bool{}}
	}
	if checkLedgerFrom(s.Messages, v.valid) != nil {
		v.read = 0 // what is repaired may be another ledger each time
		return Repair(s.Messages)
	}
	v.valid = len(s.Messages)
	return s.Messages, nil
}

// taken returns the ids of all calls in a ledger that repair has returned.
func (v *verified) taken(messages []sessions.Message) map[string]bool {
	for _, m := range messages[min(v.read, len(messages)):] {
		for _, c := range m.ToolCalls {
			v.ids[c.ID] = true
		}
	}
	v.read = len(messages)
	return v.ids
}
