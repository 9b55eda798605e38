package tools

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Problem is what is wrong with one argument of a call, in words that help to put it right.
type Problem struct {
	Argument string `json:"argument,omitempty"`
	Problem  string `json:"problem"`
	Expected string `json:"expected,omitempty"`
	Fix      string `json:"fix,omitempty"` // for a near miss
}

// looseTimes are the ways of writing a time from which the right one can be told.
var looseTimes = []string{"2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00", time.RFC1123Z, time.RFC1123}

// localTimes lack the zone.
var localTimes = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

// CheckTime returns what is wrong with an argument that must be a point in time as RFC 3339 writes it; nil = nothing.
// An empty text is nobody's mistake: the schema says whether it may be left out.
func CheckTime(argument, value string) []Problem {
	value = strings.TrimSpace(value)
	if _, err := time.Parse(time.RFC3339, value); err == nil || value == "" {
		return nil
	}
	p := Problem{
		Argument: argument, Problem: fmt.Sprintf("%q is not a point in time", clip(value)),
		Expected: "date, time and zone as in 2026-01-31T15:04:05+01:00 (RFC 3339); work it out from the current time that you know",
	}
	for _, layout := range looseTimes {
		if t, err := time.Parse(layout, value); err == nil {
			p.Fix = fmt.Sprintf("write %q", t.Format(time.RFC3339))
			return []Problem{p}
		}
	}
	for _, layout := range localTimes {
		if t, err := time.Parse(layout, value); err == nil {
			p.Problem = fmt.Sprintf("%q does not say in which zone, or lacks the time of day", clip(value))
			p.Fix = fmt.Sprintf("write %q with the right zone", t.Format("2006-01-02T15:04:05")+"+00:00")
			return []Problem{p}
		}
	}
	return []Problem{p}
}

// CheckPath returns what is wrong with an argument that must name something inside the work folder, relative to it.
func CheckPath(argument, value string) []Problem {
	expected := "a path inside the work folder, relative to it, like notes/plan.md"
	clean := path.Clean(filepath.ToSlash(value))
	switch {
	case value == "":
		return nil
	case strings.ContainsRune(value, 0) || strings.ContainsAny(value, "\r\n"):
		return []Problem{{Argument: argument, Problem: "it has a zero byte or a line break in it", Expected: expected}}
	case path.IsAbs(clean) || strings.HasPrefix(value, "~"):
		return []Problem{{Argument: argument, Problem: "it is not relative to the work folder", Expected: expected}}
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return []Problem{{Argument: argument, Problem: "it leads out of the work folder", Expected: expected}}
	}
	return nil
}

// CheckID returns what is wrong with an argument that must be an id of the given shape, of which example is one.
func CheckID(argument, value string, shape *regexp.Regexp, example string) []Problem {
	if value == "" || shape.MatchString(value) {
		return nil
	}
	p := Problem{
		Argument: argument, Problem: fmt.Sprintf("%q is not an id", clip(value)),
		Expected: fmt.Sprintf("an id like %q, exactly as an earlier result gave it", example),
	}
	if found := shape.FindString(strings.Trim(value, "#<>@`'\" ")); found != "" {
		p.Fix = fmt.Sprintf("write %q", found)
	}
	return []Problem{p}
}

// clip keeps a quoted argument short.
func clip(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}
