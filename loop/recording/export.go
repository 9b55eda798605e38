package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

// Export writes a turn: the records of the log that it depends on and that it wrote, then its recording, if there is one
// (nil = none). redact takes the secrets out of every text. It reports whether the turn was there.
func Export(out io.Writer, log iter.Seq2[sessions.Record, error], turn string, recording io.Reader, redact func(string) string) (found bool, err error) {
	records, err := recordsOf(log, turn)
	if err != nil || records == nil {
		return false, err
	}
	w := bufio.NewWriter(out)
	for _, r := range records {
		encoded, err := sessions.Record{At: r.At, Entries: r.Entries}.Encode()
		if err != nil {
			return true, err
		}
		if err := put(w, line{Kind: kindRecord, Revision: r.Revision, Record: encoded}, redact); err != nil {
			return true, err
		}
	}
	if recording != nil {
		if err := copyLines(w, recording, redact); err != nil {
			return true, err
		}
	}
	return true, w.Flush()
}

// recordsOf returns the records from the last base before a turn up to its end, nil if the turn is not there.
func recordsOf(log iter.Seq2[sessions.Record, error], turn string) (records []sessions.Record, err error) {
	found := false
	for r, err := range log {
		if err != nil {
			return nil, err
		}
		if !found && r.Base() {
			records = records[:0]
		}
		records = append(records, r)
		for _, e := range r.Entries {
			switch e := e.(type) {
			case sessions.TurnStarted:
				found = found || e.Turn == turn
			case sessions.TurnEnded:
				if e.Turn == turn {
					return records, nil
				}
			}
		}
	}
	if !found {
		return nil, nil
	}
	return records, nil
}

// copyLines copies a recording. Its last line may be broken, where the process died.
func copyLines(out io.Writer, recording io.Reader, redact func(string) string) error {
	in := bufio.NewReader(recording)
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the recording: %w", err)
		}
		var l line
		if json.Unmarshal(text, &l) != nil {
			continue // a line that a crash has cut, and that another one follows
		}
		if err := put(out, l, redact); err != nil {
			return err
		}
	}
}

// put writes a line without secrets.
func put(out io.Writer, l line, redact func(string) string) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if text, err = withoutSecrets(text, redact); err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

// withoutSecrets takes the secrets out of all texts in JSON, and out of JSON in texts.
func withoutSecrets(text []byte, redact func(string) string) ([]byte, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(clean("", v, redact)); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// clean redacts a value that stands under a key.
func clean(key string, v any, redact func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			v[k] = clean(k, inner, redact)
		}
	case []any:
		for i, inner := range v {
			v[i] = clean(key, inner, redact)
		}
	case string:
		return cleanText(key, v, redact)
	}
	return v
}

// cleanText redacts a text. What is secret may show by the key alone; and JSON must stay JSON, or the loop could not read
// the arguments of a call any more.
func cleanText(key, text string, redact func(string) string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text)) {
		if inner, err := withoutSecrets([]byte(text), redact); err == nil && !bytes.Equal(inner, compacted(text)) {
			return string(inner)
		}
		return text
	}
	named := key + ": "
	if out := redact(named + text); strings.HasPrefix(out, named) {
		return strings.TrimPrefix(out, named)
	}
	return redact(text)
}

// compacted is JSON as withoutSecrets writes it, if it changes nothing.
func compacted(text string) []byte {
	out, err := withoutSecrets([]byte(text), func(s string) string { return s })
	if err != nil {
		return nil
	}
	return out
}
