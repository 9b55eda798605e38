package loop

import "github.com/talaria-agent/talaria/sessions"

// tag says what a part of the ledger is to a compression. All but the ordinary is protected: it stays, and is at most cut
// (see protect). The system prompt is no part of the ledger.
type tag string

const (
	tagSystem   tag = "system"   // the program's own: the summary, which is updated and never cut
	tagTask     tag = "task"     // the first exchange, and the request that is being worked on
	tagRecent   tag = "recent"   // the newest messages
	tagOrdinary tag = "ordinary" // everything else: it becomes the summary
)

// tagUnits tags the units of a valid ledger. The newest that fit into budget tokens are recent, by half more if the last
// of them is large, but no more than most messages; from the newest reply on at the latest.
func tagUnits(all []unit, budget, most int) []tag {
	tags := make([]tag, len(all))
	for i := range tags {
		tags[i] = tagOrdinary
	}
	if len(all) == 0 {
		return tags
	}
	tags[0] = tagTask
	rest := 1
	if rest < len(all) && all[rest].role() == sessions.RoleAssistant && len(all[rest]) == 1 {
		tags[rest] = tagTask
		rest++
	}
	if rest < len(all) && isSummary(all[rest][0]) {
		tags[rest] = tagSystem
		rest++
		if rest < len(all) && len(all[rest]) == 1 && all[rest][0].Text == summaryTaken {
			tags[rest] = tagSystem
			rest++
		}
	}
	tail, size, count := len(all), 0, 0
	for tail > rest {
		n := estimateUnits(all[tail-1 : tail])
		if count += len(all[tail-1]); size > 0 && (size >= budget || size+n > budget*3/2 || count > most) {
			break
		}
		size += n
		tail--
	}
	if a := lastOf(all, sessions.RoleAssistant); a >= rest {
		tail = min(tail, a)
	}
	for i := tail; i < len(all); i++ {
		tags[i] = tagRecent
	}
	if u := lastOf(all, sessions.RoleUser); u >= rest && u < tail {
		tags[u] = tagTask
	}
	return tags
}

// spread returns the messages of units, and for each the tag of its unit.
func spread(all []unit, tags []tag) (messages []sessions.Message, each []tag) {
	for i, u := range all {
		for _, m := range u {
			messages, each = append(messages, m), append(each, tags[i])
		}
	}
	return messages, each
}
