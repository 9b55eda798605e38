package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestLogRedacts: no secret comes through the log, wherever it stands: message, attribute, error, group.
func TestLogRedacts(t *testing.T) {
	secrets := []string{
		"my-own-secret-value",
		"7000000001:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
		"xoxb-" + "1234567890-abcdefghij", "xapp-" + "1-A1-2-abcdef", "sk-" + "proj-abcdefghijklmnop",
		"MTAwMDAwMDAwMDAwMDAwMDAw." + "GabcdE." + "abcdefghijklmnopqrstuvwxyz0123456789ab",
	}
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log, _ := newLogger(&b, LogConfig{Level: "debug", Format: format}, newRedactor("my-own-secret-value", ""))
		for _, s := range secrets {
			log.Info("message with "+s, "value", s, "error", errors.New(`Post "https://api.telegram.org/bot`+s+`/getUpdates"`))
			log.With("kept", s).WithGroup("g").Info("x", slog.Group("inner", "value", s))
		}
		for _, s := range secrets {
			if strings.Contains(b.String(), s) {
				t.Errorf("%s: %q is in the log:\n%s", format, s, b.String())
			}
		}
		if !strings.Contains(b.String(), "[redacted]") {
			t.Error("nothing was redacted")
		}
	}
}

// TestErrorsAreRedacted: what ends the program is printed, and comes through no log.
func TestErrorsAreRedacted(t *testing.T) {
	config := writeConfig(t, "[model]\nbase_url = \"ftp://someone:hunter2@host/v1\"\n[platforms.telegram]\napi_url = \"7000000001:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw\"\n")
	var out, errs bytes.Buffer
	if code := start(t.Context(), []string{"check", "-config", config}, &out, &errs); code == 0 {
		t.Error("a bad config is fine")
	}
	said := out.String() + errs.String()
	if strings.Contains(said, "hunter2") || strings.Contains(said, "AAHdq") || !strings.Contains(said, "ftp://[redacted]@host") {
		t.Errorf("it says:\n%s", said)
	}
}
