package ops

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// relative is how long ago something was: "2h", "-90m", "1h30m", "3 days ago".
var relative = regexp.MustCompile(`^-?((?:\d+ ?[a-z]+ ?)+?)(?: ?ago)?$`)

var spans = regexp.MustCompile(`(\d+) ?([a-z]+)`)

var unitsOfTime = map[string]time.Duration{
	"ms": time.Millisecond,
	"s":  time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

const maxSpan = 50 * 366 * 24 * time.Hour

// parseSpan reads a length of time as people and Prometheus write it.
func parseSpan(text string) (time.Duration, bool) {
	m := relative.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return 0, false
	}
	var sum time.Duration
	for _, part := range spans.FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.ParseInt(part[1], 10, 64)
		unit, ok := unitsOfTime[part[2]]
		if err != nil || !ok || n > int64(maxSpan/unit) || sum > maxSpan {
			return 0, false
		}
		sum += time.Duration(n) * unit
	}
	return sum, true
}

// moment returns the point in time that an argument means; the zero time for an empty one.
func moment(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return time.Time{}, nil
	case strings.EqualFold(text, "now"):
		return now, nil
	}
	if ago, ok := parseSpan(text); ok {
		return now.Add(-ago), nil
	}
	return time.Parse(time.RFC3339, text)
}

// checkWindow returns what is wrong with the two ends of a stretch of time.
func checkWindow(since, until string) (problems []tools.Problem) {
	var fixed [2]time.Time // those that do not depend on the clock
	for i, a := range [...]struct{ argument, value string }{{"since", since}, {"until", until}} {
		if _, err := moment(a.value, time.Time{}); err != nil {
			for _, p := range tools.CheckTime(a.argument, a.value) {
				p.Expected += `; or how long ago it was: "30m", "2h", "1d"`
				problems = append(problems, p)
			}
			continue
		}
		fixed[i], _ = time.Parse(time.RFC3339, strings.TrimSpace(a.value))
	}
	if !fixed[0].IsZero() && !fixed[1].IsZero() && !fixed[0].Before(fixed[1]) {
		problems = append(problems, tools.Problem{
			Argument: "until", Problem: fmt.Sprintf("%s is not after since, %s", until, since), Expected: "a later time than since",
			Fix: "swap the two",
		})
	}
	return problems
}

// window returns the stretch of time that two arguments mean, which Spec.Check has seen. An end that is not given is zero.
func window(since, until string, now time.Time) (from, to time.Time, wrong string) {
	from, err := moment(since, now)
	if err == nil {
		to, err = moment(until, now)
	}
	switch {
	case err != nil:
		return from, to, err.Error()
	case !from.IsZero() && !to.IsZero() && !from.Before(to):
		return from, to, fmt.Sprintf("since (%s) is not before until (%s)", from.Format(time.RFC3339), to.Format(time.RFC3339))
	case to.IsZero() && from.After(now):
		return from, to, fmt.Sprintf("since (%s) is in the future; it is %s now", from.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	return from, to, ""
}
