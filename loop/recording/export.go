package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/sessions"
)

// Export writes turns of one conversation, in the order of its log: the records that they depend on and that they wrote,
// and after that the recording of each, which open opens (fs.ErrNotExist = there is none). redact takes the secrets out of
// every text. It reports how many of the turns have a recording.
func Export(out io.Writer, log iter.Seq2[sessions.Record, error], turns []string, open func(turn string) (io.ReadCloser, error), redact func(string) string) (recorded int, err error) {
	w := bufio.NewWriter(out)
	from, err := beginning(turns[0], open)
	if err != nil {
		return 0, err
	}
	records, err := recordsOf(log, turns, from)
	for _, r := range records {
		if err != nil {
			return recorded, err
		}
		text, failed := sessions.Record{At: r.At, Entries: r.Entries}.Encode()
		if err = failed; err == nil {
			err = put(w, line{Kind: kindRecord, Revision: r.Revision, Record: text}, redact)
		}
	}
	for _, turn := range turns {
		if err != nil {
			return recorded, err
		}
		in, failed := open(turn)
		if errors.Is(failed, fs.ErrNotExist) {
			continue
		}
		if err = failed; err == nil {
			recorded++
			err = errors.Join(copyLines(w, in, redact), in.Close())
		}
	}
	return recorded, errors.Join(err, w.Flush())
}

// beginning returns the revision of the log that a turn's recording begins at, 0 if there is none. A compression before the
// turn works on what was before it.
func beginning(turn string, open func(turn string) (io.ReadCloser, error)) (sessions.Revision, error) {
	in, err := open(turn)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer in.Close()
	text, err := bufio.NewReader(in).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read the recording: %w", err)
	}
	var l line
	if json.Unmarshal(text, &l) != nil || l.Turn == nil { // a crash has cut it
		return 0, nil
	}
	return l.Turn.Revision, nil
}

// recordsOf returns the records from the last base before the first of the turns, and not behind from, up to the end of
// the last one.
func recordsOf(log iter.Seq2[sessions.Record, error], turns []string, from sessions.Revision) (records []sessions.Record, err error) {
	begun := false
	for r, err := range log {
		if err != nil {
			return nil, err
		}
		if !begun && r.Base() && (from == 0 || r.Revision <= from) {
			records = records[:0]
		}
		records = append(records, r)
		for _, e := range r.Entries {
			switch e := e.(type) {
			case sessions.TurnStarted:
				begun = begun || slices.Contains(turns, e.Turn)
			case sessions.TurnEnded:
				if e.Turn == turns[len(turns)-1] {
					return records, nil
				}
			}
		}
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
