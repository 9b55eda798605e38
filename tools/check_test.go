package tools

import (
	"regexp"
	"strings"
	"testing"
)

func TestCheckTime(t *testing.T) {
	for value, fix := range map[string]string{
		"yesterday afternoon":       "",
		"2026-05-01 12:00:00Z":      `write "2026-05-01T12:00:00Z"`,
		"2026-05-01T12:00+02:00":    `write "2026-05-01T12:00:00+02:00"`,
		"2026-05-01 12:00":          `write "2026-05-01T12:00:00+00:00" with the right zone`,
		"2026-13-01T12:00:00Z":      "",
		"1714564800":                "",
		"2026-05-01T12:00:00Z; rm ": "",
	} {
		found := CheckTime("since", value)
		if len(found) != 1 || found[0].Argument != "since" || found[0].Fix != fix || !strings.Contains(found[0].Expected, "RFC 3339") {
			t.Errorf("%q: %+v", value, found)
		}
	}
	for _, value := range []string{"", "2026-05-01T12:00:00Z", "2026-05-01T12:00:00.5+05:30"} {
		if found := CheckTime("since", value); found != nil {
			t.Errorf("%q: %+v", value, found)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for value, word := range map[string]string{
		"../secret": "leads out", "a/../../b": "leads out", "/etc/passwd": "not relative", "~/x": "not relative", "a\nb": "line break", "a\x00": "zero byte",
	} {
		if found := CheckPath("path", value); len(found) != 1 || !strings.Contains(found[0].Problem, word) {
			t.Errorf("%q: %+v", value, found)
		}
	}
	for _, value := range []string{"", "a", "a/../b", "./x y/ü"} {
		if found := CheckPath("path", value); found != nil {
			t.Errorf("%q: %+v", value, found)
		}
	}
}

func TestCheckID(t *testing.T) {
	shape := regexp.MustCompile(`^job_[0-9a-f]{4}$`)
	if found := CheckID("job", "the backup job", shape, "job_12ab"); len(found) != 1 || !strings.Contains(found[0].Expected, "job_12ab") {
		t.Errorf("%+v", found)
	}
	if found := CheckID("job", "#job_12ab", shape, "job_0000"); len(found) != 1 || found[0].Fix != `write "job_12ab"` {
		t.Errorf("%+v", found)
	}
	if found := CheckID("job", "job_12ab", shape, "job_0000"); found != nil {
		t.Errorf("%+v", found)
	}
}
