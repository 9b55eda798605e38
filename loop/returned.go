package loop

import (
	"errors"
	"fmt"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

// Returned is what came back from a call.
type Returned struct {
	Result  tools.Result
	Err     error
	Tries   int
	Entries []sessions.Entry // of a SessionTool
	Note    string           // of the operator's hooks
	Aside   sessions.Spent   // by models that it asked, in all tries
	Cost    float64          // of that, US dollars
}

const interruptedText = "This call was interrupted before it was done."

// judge turns what a tool returned into an outcome and the text for the ledger. A call that finished in spite of a
// cancel counts as what it is.
func (c Returned) judge(cancelCause error, p prepared, scope tools.Scope, limits Limits) (sessions.Outcome, string) {
	text := c.Result.Text
	switch {
	case c.Err == nil && !c.Result.Failed:
		return sessions.OutcomeOK, c.text(p.spec, scope, limits)
	case cancelCause != nil:
		outcome, why := sessions.OutcomeInterrupted, interruptedText
		if errors.Is(cancelCause, errDeadline) || errors.Is(cancelCause, errTimeout) {
			outcome, why = sessions.OutcomeTimedOut, "This call was stopped because its time was up."
		}
		if strings.TrimSpace(text) != "" {
			why += "\n" + c.text(p.spec, scope, limits)
		}
		return outcome, why
	case c.Err != nil:
		text := fmt.Sprintf("The tool could not run: %s", prefix(c.Err.Error(), 500))
		if c.Tries > 1 {
			text += fmt.Sprintf(" (tried %d times)", c.Tries)
		}
		return sessions.OutcomeFailed, text
	}
	return sessions.OutcomeFailed, c.text(p.spec, scope, limits)
}

// class says what a call that did not come to a good end failed of.
func (c Returned) class(outcome sessions.Outcome, risk tools.Risk) tools.Failure {
	switch {
	case outcome == sessions.OutcomeTimedOut:
		return tools.FailTimeout
	case c.Err != nil:
		class, _ := tools.Classify(c.Err, risk)
		return class
	case c.Result.Class != "":
		return c.Result.Class
	}
	return tools.FailTool
}

// text is the result as it goes into the ledger.
func (c Returned) text(spec tools.Spec, scope tools.Scope, limits Limits) string {
	text := shape(c.Result, spec, scope, limits)
	if spec.Untrusted {
		text = FromOutside(spec.Name, text)
	}
	if c.Note != "" {
		text += "\n\nThe operator's rules say: " + c.Note
	}
	return text
}
