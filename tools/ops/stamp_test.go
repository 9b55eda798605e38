package ops

import (
	"testing"
	"time"
)

func TestStamps(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	newest := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for line, want := range map[string]string{
		`2026-01-31T15:04:05Z INFO x`:                                       "2026-01-31T15:04:05Z",
		`2026-01-31T15:04:05.123456+01:00 x`:                                "2026-01-31T14:04:05Z",
		`2026-01-31 15:04:05,123 ERROR [main] x`:                            "2026-01-31T13:04:05Z",
		`2026-01-31 15:04:05.123 UTC [7] LOG:  x`:                           "2026-01-31T15:04:05Z",
		`2026-01-31 15:04:05 GMT x`:                                         "2026-01-31T15:04:05Z",
		`2026-01-31 15:04:05 +0100 x`:                                       "2026-01-31T14:04:05Z",
		`[2026-01-31T15:04:05+0100] x`:                                      "2026-01-31T14:04:05Z",
		`{"level":"error","time":"2026-01-31T15:04:05Z","msg":"x"}`:         "2026-01-31T15:04:05Z",
		`time=2026-01-31T15:04:05.000+01:00 level=INFO msg=x`:               "2026-01-31T14:04:05Z",
		`{"level":"info","ts":1769871845.25,"msg":"x"}`:                     "2026-01-31T15:04:05Z",
		`{"level":30,"time":1769871845000,"msg":"x"}`:                       "2026-01-31T15:04:05Z",
		`10.0.0.1 - - [31/Jan/2026:15:04:05 +0100] "GET / HTTP/1.1" 200 12`: "2026-01-31T14:04:05Z",
		`[Sat Jan 31 15:04:05.123456 2026] [core:error] x`:                  "2026-01-31T13:04:05Z",
		`2026/01/31 15:04:05 [error] 7#7: x`:                                "2026-01-31T13:04:05Z",
		`7:M 31 Jan 2026 15:04:05.123 * x`:                                  "2026-01-31T13:04:05Z",
		`Jan 31 15:04:05 host app[7]: x`:                                    "2026-01-31T13:04:05Z",
		`Dec 31 15:04:05 host app[7]: x`:                                    "2025-12-31T13:04:05Z",
		`E0131 15:04:05.123456       7 main.go:1] x`:                        "2026-01-31T13:04:05Z",
		`	at main.go:12 since 2026-01-31T15:04:05Z`:                         "",
		`no time at all 12:00`:                                              "",
		`2026-13-41T25:04:05Z no such day`:                                  "",
		``:                                                                  "",
	} {
		s := &stamps{zone: zone, newest: newest}
		got := ""
		if at, end, ok := s.of([]byte(line)); ok {
			got = at.UTC().Truncate(time.Second).Format(time.RFC3339)
			if end == 0 || end > len(line) {
				t.Errorf("%s: it ends at %d", line, end)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestLevels(t *testing.T) {
	for line, want := range map[string]string{
		`2026-01-31T15:04:05Z ERROR x`: "error",
		`{"level":"warn","msg":"x"}`:   "warn",
		`{"level":50,"msg":"x"}`:       "error",
		`level=INFO msg="an ERROR"`:    "info",
		`[Sat Jan 31] [core:error] x`:  "error",
		`2026/01/31 [crit] x`:          "fatal",
		`E0131 15:04:05.1 x`:           "error",
		`the error is in here`:         "",
		`FATAL:  no such role`:         "fatal",
		`10.0.0.1 - - [31/Jan/2026:15:04:05 +0100] "GET / HTTP/1.1" 502 12`:     "error",
		`10.0.0.1 - - [31/Jan/2026:15:04:05 +0100] "GET / HTTP/1.1" 404 - "x"`:  "warn",
		`10.0.0.1 - - [31/Jan/2026:15:04:05 +0100] "GET /500 HTTP/1.1" 200 500`: "",
		`INFORMATIONS`: "",
	} {
		if got := levelOf([]byte(line)).String(); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestWindow(t *testing.T) {
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2h": "2026-02-01T10:00:00Z", "-90m": "2026-02-01T10:30:00Z", "1h30m": "2026-02-01T10:30:00Z", "3 days ago": "2026-01-29T12:00:00Z",
		"now": "2026-02-01T12:00:00Z", "2026-01-31T15:04:05+01:00": "2026-01-31T15:04:05+01:00",
	} {
		if got, err := moment(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, wrong := range []string{"yesterday", "5 parsecs", "2026-01-31", "99999999999h", "h"} {
		if _, err := moment(wrong, now); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}
