package schedule

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestNext holds when schedules are due, also on the days when clocks are changed.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		name, when, zone, from string
		want                   []string
	}{
		{"working days", "0 9 * * 1-5", "Europe/Berlin", "2026-01-02T12:00:00Z", []string{"2026-01-05T09:00:00+01:00", "2026-01-06T09:00:00+01:00"}},
		{"named", "@daily", "UTC", "2026-01-02T12:00:00Z", []string{"2026-01-03T00:00:00Z"}},
		{"the hour keeps its place on the clock", "0 9 * * *", "America/New_York", "2026-03-07T12:00:00Z", []string{
			"2026-03-07T09:00:00-05:00", "2026-03-08T09:00:00-04:00", "2026-03-09T09:00:00-04:00",
		}},
		{"within the hour that spring leaves out", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{
			"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00",
		}},
		{"several times within it, once", "*/15 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{
			"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00",
		}},
		{"through spring, every half hour", "*/30 * * * *", "Europe/Berlin", "2026-03-29T00:10:00Z", []string{
			"2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00",
		}},
		{"a midnight that does not exist", "0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", []string{
			"2026-03-08T01:00:00-04:00", "2026-03-09T00:00:00-04:00",
		}},
		{"half an hour left out", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{
			"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00",
		}},
		{"within the hour that autumn has twice, once", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{
			"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00",
		}},
		{"made within it, the second time", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", []string{
			"2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00",
		}},
		{"through autumn, every hour by the clock", "0 * * * *", "Europe/Berlin", "2026-10-24T22:10:00Z", []string{
			"2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00",
		}},
		{"an interval is real time", "every 1h", "Europe/Berlin", "2026-10-24T23:30:00Z", []string{
			"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00",
		}},
		{"once", "in 90 minutes", "Europe/Berlin", "2026-01-02T12:00:00Z", []string{"2026-01-02T13:30:00Z", ""}},
		{"once, in its zone", "2026-07-01 09:00", "Europe/Berlin", "2026-01-02T12:00:00Z", []string{"2026-07-01T09:00:00+02:00", ""}},
		{"once, by RFC 3339", "2026-07-01T09:00:00-07:00", "Europe/Berlin", "2026-01-02T12:00:00Z", []string{"2026-07-01T16:00:00Z", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			zone, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			from := at(t, c.from)
			s, err := Parse(c.when, zone, from)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				next, ok := s.Next(from)
				if want == "" {
					if ok {
						t.Fatalf("after %s it is due at %s", from, next)
					}
					return
				}
				if !ok || !next.Equal(at(t, want)) {
					t.Fatalf("after %s it is due at %s, %v; want %s", from, next, ok, want)
				}
				from = next
			}
		})
	}
}

// TestNextMovesOn: whatever the zone does with its clocks, each moment lies behind the one before.
func TestNextMovesOn(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Asia/Kolkata", "America/St_Johns"} {
		for _, when := range []string{"*/7 * * * *", "30 2 * * *", "0 0 * * *", "59 1-3 * * 0", "0 */6 29 2 *"} {
			s := Schedule{Cron: when, Zone: zone}
			now := at(t, "2026-01-01T00:00:00Z")
			for range 100 {
				next, ok := s.Next(now)
				if !ok || !next.After(now) {
					t.Fatalf("%s in %s: after %s comes %s, %v", when, zone, now, next, ok)
				}
				now = next.Add(3 * time.Hour)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	now := at(t, "2026-01-02T12:00:00Z")
	for text, want := range map[string]string{
		"":                     "says nothing",
		"every":                "no length of time",
		"every 10s":            "too often",
		"every -2h":            "no length of time",
		"in a while":           "no length of time",
		"in 999999999999 days": "no length of time",
		"2025-01-01T00:00:00Z": "over already",
		"0 9 * *":              "no time that I understand",
		"0 0 9 * * *":          "no time that I understand",
		"61 9 * * *":           "no time that I understand",
		"tomorrow":             "no time that I understand",
		"0 0 30 2 *":           "never comes",
	} {
		if s, err := Parse(text, time.UTC, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, %v; want an error with %q", text, s, err, want)
		}
	}
}

func TestString(t *testing.T) {
	now := at(t, "2026-01-02T12:00:00Z")
	for text, want := range map[string]string{
		"0 9 * * 1-5":      "`0 9 * * 1-5` (UTC)",
		"every 2 hours":    "every 2h",
		"every 90m":        "every 1h30m",
		"every 10m":        "every 10m",
		"2026-01-31 09:00": "once at 2026-01-31 09:00 UTC",
	} {
		s, err := Parse(text, time.UTC, now)
		if err != nil || s.String() != want {
			t.Errorf("%q is shown as %q, %v; want %q", text, s, err, want)
		}
	}
}
