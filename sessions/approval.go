package sessions

import (
	"slices"
	"time"
)

// Approved records that a person allowed a call, and calls like it, for longer than once.
type Approved struct {
	Rule    string    `json:"rule"` // names the call with all that it depends on
	Tool    string    `json:"tool"`
	Preview string    `json:"preview"` // what a person reads about it
	Forever bool      `json:"forever"` // false = until the next reset
	For     string    `json:"for"`     // stable id of the person whose turns it holds for
	By      string    `json:"by"`      // stable id of the person who gave it
	At      time.Time `json:"at"`
}

// Revoked takes back the permission that a person has for calls with a rule.
type Revoked struct {
	Rule string    `json:"rule"`
	For  string    `json:"for"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

func (Approved) kind() string { return "approved" }
func (Revoked) kind() string  { return "revoked" }

// approved remembers a permission.
func (s *Session) approved(e Approved) {
	s.revoked(Revoked{Rule: e.Rule, For: e.For})
	s.Approvals = append(s.Approvals, e)
}

// revoked forgets a permission. The list is never changed in place, because copies of the session share it.
func (s *Session) revoked(e Revoked) {
	s.Approvals = slices.DeleteFunc(slices.Clone(s.Approvals), func(a Approved) bool { return a.Rule == e.Rule && a.For == e.For })
}

// Approval returns the permission that a person has for calls with a rule.
func (s *Session) Approval(rule, person string) (Approved, bool) {
	i := slices.IndexFunc(s.Approvals, func(a Approved) bool { return a.Rule == rule && a.For == person })
	if rule == "" || i < 0 {
		return Approved{}, false
	}
	return s.Approvals[i], true
}

// Forever returns the permissions that a reset leaves.
func (s *Session) Forever() []Approved {
	return slices.DeleteFunc(slices.Clone(s.Approvals), func(a Approved) bool { return !a.Forever })
}
