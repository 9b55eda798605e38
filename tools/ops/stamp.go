package ops

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const stampedPart = 256 // bytes of a line's beginning in which its time and level are looked for

// stampForm is one way in which logs write the time.
type stampForm struct {
	pattern  *regexp.Regexp
	layouts  []string // empty = seconds or milliseconds since 1970
	yearly   bool     // the year is not written
	lettered bool     // the level stands before it, as one letter
}

// stampForms are tried in this order: RFC 3339 and its relatives (also in JSON and logfmt), common log format of web
// servers, error log of Apache, nginx and Go's log package, Redis, syslog, klog, and the seconds of JSON logs.
var stampForms = []stampForm{
	{pattern: regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?`), layouts: []string{
		"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05",
	}},
	{pattern: regexp.MustCompile(`\b\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}`), layouts: []string{"02/Jan/2006:15:04:05 -0700"}},
	{pattern: regexp.MustCompile(`\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? \d{4}\b`), layouts: []string{"Jan _2 15:04:05 2006"}},
	{pattern: regexp.MustCompile(`\b\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?`), layouts: []string{"2006/01/02 15:04:05"}},
	{pattern: regexp.MustCompile(`\b\d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?:\.\d+)?`), layouts: []string{"02 Jan 2006 15:04:05"}},
	{pattern: regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d`), layouts: []string{"Jan _2 15:04:05"}, yearly: true},
	{pattern: regexp.MustCompile(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+`), layouts: []string{"0102 15:04:05"}, yearly: true, lettered: true},
	{pattern: regexp.MustCompile(`(?:"(?:ts|time|timestamp)": ?|\bts=)(\d{10}(?:\.\d+)?|\d{13})\b`)},
}

// stamps reads the times of one file's lines. It tries first what fitted the line before.
type stamps struct {
	zone   *time.Location
	newest time.Time // no line is later than this by more than a day: when the file was changed last
	last   int       // form of the line before
}

// of returns the time in a line and where it ends; false if it has none.
func (s *stamps) of(line []byte) (at time.Time, end int, ok bool) {
	start, from := nearClock(line[:min(len(line), stampedPart)])
	if len(start) == 0 || line[0] == ' ' || line[0] == '\t' {
		return at, 0, false
	}
	if at, end, ok = s.try(s.last, start); ok {
		return at, from + end, true
	}
	for i := range stampForms {
		if i == s.last {
			continue
		}
		if at, end, ok = s.try(i, start); ok {
			s.last = i
			return at, from + end, true
		}
	}
	return at, 0, false
}

// nearClock returns the part of a line around the first thing that looks like 12:34:56, and where it begins; of a line of
// JSON or logfmt without one, all of it. Most lines of a stack trace have neither, and need no closer look.
func nearClock(line []byte) (part []byte, from int) {
	const before, after = 24, 40
	digits := func(i int) bool { return line[i] >= '0' && line[i] <= '9' && line[i+1] >= '0' && line[i+1] <= '9' }
	for i := 2; i+5 < len(line); i++ {
		if line[i] == ':' && line[i+3] == ':' && digits(i-2) && digits(i+1) && digits(i+4) {
			from = max(0, i-before)
			return line[from:min(len(line), i+after)], from
		}
	}
	if len(line) > 0 && line[0] == '{' || bytes.Contains(line, []byte("ts=")) {
		return line, 0
	}
	return nil, 0
}

func (s *stamps) try(form int, start []byte) (at time.Time, end int, ok bool) {
	f := stampForms[form]
	m := f.pattern.FindSubmatchIndex(start)
	if m == nil {
		return at, 0, false
	}
	if len(f.layouts) == 0 {
		at, ok = sinceEpoch(string(start[m[2]:m[3]]))
		return at, m[1], ok
	}
	text := string(start[m[0]:m[1]])
	if form == 0 {
		text = plainStamp(text)
	}
	if f.lettered {
		text = text[1:]
	}
	for _, layout := range f.layouts {
		at, err := time.ParseInLocation(layout, text, s.zone)
		if err != nil {
			continue
		}
		if f.yearly {
			at = s.withYear(at)
		}
		return at, m[1], true
	}
	return at, 0, false
}

// plainStamp writes the relatives of RFC 3339 in one way.
func plainStamp(text string) string {
	const date = len("2006-01-02")
	clock := strings.Replace(text[date+1:], ",", ".", 1)
	for _, utc := range []string{"UTC", "GMT"} {
		if rest, ok := strings.CutSuffix(clock, utc); ok {
			clock = rest + "Z"
		}
	}
	return text[:date] + " " + strings.ReplaceAll(clock, " ", "")
}

// withYear gives a time the year in which it was not later than the file's last change.
func (s *stamps) withYear(at time.Time) time.Time {
	full := at.AddDate(s.newest.In(s.zone).Year(), 0, 0)
	if full.After(s.newest.Add(24 * time.Hour)) {
		full = at.AddDate(s.newest.In(s.zone).Year()-1, 0, 0)
	}
	return full
}

func sinceEpoch(text string) (time.Time, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}, false
	}
	if len(text) == len("1700000000000") && !strings.Contains(text, ".") {
		n /= 1000
	}
	return time.UnixMicro(int64(n * 1e6)).UTC(), true
}
