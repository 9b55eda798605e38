package loop

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
)

const leastProtected = 200 // tokens that stay of a message that is cut

// protect cuts the longest messages of a compressed ledger, in which next to nothing ordinary is left, until all of it has at most
// limit tokens. The whole of each goes to a file of the work folder; if there is no folder, what a person said is left
// alone. What is tagged as system is never cut.
func protect(messages []sessions.Message, tags []tag, limit int, work, id string) {
	order := make([]int, len(messages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(estimateText(messages[b].Text), estimateText(messages[a].Text))
	})
	over := estimate(messages...) - limit
	for _, i := range order {
		m := &messages[i]
		size := estimateText(m.Text)
		if over <= 0 || size <= leastProtected {
			return
		}
		if tags[i] == tagSystem || work == "" && m.Role == sessions.RoleUser {
			continue
		}
		where := "The rest could not be kept."
		file, err := keep(tools.Scope{Work: work, Turn: id, CallID: fmt.Sprintf("message%d", i)}, m.Text)
		switch {
		case err == nil:
			where = fmt.Sprintf("The whole is in the file %s.", file)
		case m.Role == sessions.RoleUser:
			continue
		}
		m.Text = cutTokens(m.Text, max(size-over, leastProtected)) + "\n[" + where + "]"
		over -= size - estimateText(m.Text)
	}
}
