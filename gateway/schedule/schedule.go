// Package schedule says when something is due: by a cron expression, every so often, or once. It is pure: it knows no clock
// and starts no goroutine.
package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// Shortest is the shortest time between two moments of a schedule.
const Shortest = time.Minute

// Schedule is one of three: a cron expression in a time zone, an interval, or a single moment. The zero value is never due.
type Schedule struct {
	Cron  string        `json:"cron,omitempty"`  // five fields, or "@daily" and the like
	Every time.Duration `json:"every,omitempty"` // counted from Since, in real time whatever clocks do
	Since time.Time     `json:"since,omitzero"`
	Once  time.Time     `json:"once,omitzero"`
	Zone  string        `json:"zone"` // IANA name; of an interval or a moment it is the one that people read times in
}

// Parse reads what a person or a model writes, at a moment:
//
//	0 9 * * 1-5            five fields: minute, hour, day of the month, month, day of the week
//	@daily                 @hourly, @daily, @weekly, @monthly, @yearly
//	every 2h               30m, 2 hours, 1 day ...
//	in 30m
//	2026-01-31T09:00:00Z   RFC 3339; without a zone, or as 2026-01-31 09:00, it is in the given one
//
// Its errors are for whoever wrote it.
func Parse(text string, zone *time.Location, now time.Time) (Schedule, error) {
	text = strings.Join(strings.Fields(text), " ")
	s := Schedule{Zone: zone.String()}
	word, rest, _ := strings.Cut(text, " ")
	switch strings.ToLower(word) {
	case "":
		return s, errors.New("it says nothing about when")
	case "every":
		d, err := duration(rest)
		if err != nil {
			return s, err
		}
		if d < Shortest {
			return s, fmt.Errorf("%s is too often; once a minute is the most", rest)
		}
		s.Every, s.Since = d, now.Round(0)
		return s, nil
	case "in":
		d, err := duration(rest)
		if err != nil {
			return s, err
		}
		s.Once = now.Add(d).Round(0)
		return s, nil
	}
	if at, ok := moment(text, zone); ok {
		if !at.After(now) {
			return s, fmt.Errorf("%s is over already", text)
		}
		s.Once = at
		return s, nil
	}
	if n := len(strings.Fields(text)); n != 5 && (n != 1 || text[0] != '@') || !gronx.IsValid(text) {
		return s, fmt.Errorf("%q is no time that I understand", text)
	}
	s.Cron = text
	if _, ok := s.Next(now); !ok {
		return s, fmt.Errorf("%q never comes", text)
	}
	return s, nil
}

var spelled = regexp.MustCompile(`^(\d+) ?(m|min|mins|minute|minutes|h|hour|hours|d|day|days|w|week|weeks)$`)

// duration reads "2h30m", "30 minutes", "1 day".
func duration(text string) (time.Duration, error) {
	text = strings.ToLower(text)
	d, err := time.ParseDuration(text)
	if m := spelled.FindStringSubmatch(text); m != nil {
		var n int
		if n, err = strconv.Atoi(m[1]); err == nil && n > 100_000 {
			err = errors.New("too long")
		}
		d = time.Duration(n) * map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[m[2][0]]
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no length of time; write it as 30m, 2h or 1 day", text)
	}
	return d, nil
}

// moment reads a date with a time.
func moment(text string, zone *time.Location) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339, strings.ToUpper(text)); err == nil {
		return at, true
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// Next returns the first moment after one, false if there is none.
//
// A cron expression goes by the clock on the wall. What falls into the hour that is left out in spring is due when that
// hour would have begun, once; in autumn, what falls into the hour that comes twice is due the first time.
func (s Schedule) Next(after time.Time) (time.Time, bool) {
	switch {
	case s.Every > 0:
		if after.Before(s.Since) {
			return s.Since.Add(s.Every), true
		}
		return s.Since.Add((after.Sub(s.Since)/s.Every + 1) * s.Every), true
	case s.Cron == "":
		return s.Once, s.Once.After(after)
	}
	loc := s.location()
	wall := onClock(after.In(loc), time.UTC)
	for {
		var err error
		if wall, err = gronx.NextTickAfter(s.Cron, wall, false); err != nil {
			return time.Time{}, false
		}
		if at, ok := shown(wall, loc, after); ok {
			return at, true
		}
	}
}

// shown returns the first moment after one at which the clocks of a place show a time, or at which they leave it out; false
// if there is none. The library is asked for times on the clock alone, because it does not get past a midnight that does
// not exist.
func shown(wall time.Time, loc *time.Location, after time.Time) (time.Time, bool) {
	at := onClock(wall, loc)
	begin, end := at.ZoneBounds()
	if seen := onClock(at, time.UTC); !seen.Equal(wall) { // it lies in a gap, and at beside it
		if at = begin; seen.Before(wall) {
			at = end
		}
		return at, at.After(after)
	}
	for _, beside := range []time.Time{begin.Add(-1), end} { // it may be shown twice
		if beside.Before(begin) && begin.IsZero() || end.IsZero() && !beside.Before(begin) {
			continue
		}
		_, here := at.Zone()
		_, there := beside.In(loc).Zone()
		again := at.Add(time.Duration(here-there) * time.Second)
		if onClock(again, time.UTC).Equal(wall) && again.After(after) && (again.Before(at) || !at.After(after)) {
			at = again
		}
	}
	return at, at.After(after)
}

// onClock returns the moment at which clocks elsewhere show what they show here.
func onClock(t time.Time, loc *time.Location) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), loc)
}

// location returns the zone, UTC if this machine does not know it any more.
func (s Schedule) location() *time.Location {
	if loc, err := time.LoadLocation(s.Zone); err == nil {
		return loc
	}
	return time.UTC
}

// Recurs tells whether it is due more than once.
func (s Schedule) Recurs() bool { return s.Cron != "" || s.Every > 0 }

// Show writes a moment as people in the schedule's zone read it.
func (s Schedule) Show(at time.Time) string {
	return at.In(s.location()).Format("2006-01-02 15:04 MST")
}

// String describes the schedule for people.
func (s Schedule) String() string {
	switch {
	case s.Cron != "":
		zone := s.Zone
		if zone == time.Local.String() {
			zone = "local time"
		}
		return fmt.Sprintf("`%s` (%s)", s.Cron, zone)
	case s.Every > 0:
		return "every " + brief(s.Every)
	case !s.Once.IsZero():
		return "once at " + s.Show(s.Once)
	}
	return "never"
}

// brief writes a duration without its zeros: 2h, 1h30m.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
