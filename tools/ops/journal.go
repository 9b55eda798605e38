package ops

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/tools"
)

// journal reads what systemd's journal holds of the units that the operator lets be read.
type journal struct {
	program string
	units   []string // patterns
}

func (j journal) there() bool { return j.program != "" && len(j.units) > 0 }

// unitName has no wildcards, which journalctl would take as such.
var unitName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+$`)

// unit returns the full name of a unit.
func unit(name string) string {
	if path.Ext(name) == "" {
		return name + ".service"
	}
	return name
}

func (j journal) check(name string) []tools.Problem {
	allowed := slices.ContainsFunc(j.units, func(p string) bool {
		ok, _ := path.Match(unit(p), unit(name))
		return ok
	})
	if allowed && unitName.MatchString(name) && name[0] != '-' {
		return nil
	}
	p := tools.Problem{
		Argument: "unit", Problem: fmt.Sprintf("%q is not a unit whose journal may be read", name), Expected: "one of " + strings.Join(j.units, ", "),
	}
	if near := nearest(name, j.units); len(near) > 0 {
		p.Fix = fmt.Sprintf("write %q", near[0])
	}
	return []tools.Problem{p}
}

// journalDay is how far back the journal is read if nobody says since when.
const journalDay = 24 * time.Hour

// read searches the journal of a unit.
func (j journal) read(ctx context.Context, name string, s *scan) error {
	if s.from.IsZero() {
		s.from = time.Now().Add(-journalDay)
		if !s.to.IsZero() {
			s.from = s.to.Add(-journalDay)
		}
	}
	arguments := []string{"--no-pager", "--quiet", "--output=json", "--unit=" + unit(name), fmt.Sprintf("--since=@%d", s.from.Unix())}
	if !s.to.IsZero() {
		arguments = append(arguments, fmt.Sprintf("--until=@%d", s.to.Unix()+1))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // when enough was read
	cmd := exec.CommandContext(ctx, j.program, arguments...)
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	cmd.WaitDelay = 5 * time.Second
	var complaint bytes.Buffer
	cmd.Stderr = &limited{&complaint, 2000}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start journalctl: %w", err)
	}
	enough := s.journal(ctx, unit(name), bufio.NewReaderSize(out, 64<<10))
	if enough {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case enough:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && s.lines == 0:
		return fmt.Errorf("journalctl: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return nil
}

// limited takes in only so much, and drops the rest.
type limited struct {
	*bytes.Buffer
	max int
}

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), max(0, l.max-l.Len()))])
	return len(p), nil
}

// journal searches the output of journalctl, one JSON object a line. It returns true when it has read all that it may.
func (s *scan) journal(ctx context.Context, name string, out *bufio.Reader) (enough bool) {
	s.files++
	at := position{source: "journal of " + name, scan: s}
	for ctx.Err() == nil {
		raw, err := out.ReadBytes('\n')
		if err != nil {
			return false
		}
		if s.budget -= int64(len(raw)); s.budget <= 0 {
			s.skip(name, fmt.Errorf("what comes after %d MiB", maxScanned>>20))
			return true
		}
		var e journalEntry
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		micros, err := strconv.ParseInt(e.Time, 10, 64)
		if err != nil {
			continue
		}
		at.time = time.UnixMicro(micros)
		text := e.text()
		if at.known = levelOf(text); at.known == 0 {
			at.known = e.level()
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			at.number++
			s.lines++
			shown := line
			if i == 0 {
				shown = append([]byte(s.clock(at.time)+" "), line...)
			}
			at.entry(shown, line)
		}
	}
	return false
}

// journalEntry is what systemd.journal-fields(7) calls the fields. A message that is not text comes as a list of bytes.
type journalEntry struct {
	Time     string          `json:"__REALTIME_TIMESTAMP"`
	Message  json.RawMessage `json:"MESSAGE"`
	Priority string          `json:"PRIORITY"`
}

func (e journalEntry) text() []byte {
	var text string
	if json.Unmarshal(e.Message, &text) == nil {
		return []byte(text)
	}
	var numbers []int
	if err := json.Unmarshal(e.Message, &numbers); err != nil {
		return []byte(err.Error())
	}
	raw := make([]byte, len(numbers))
	for i, n := range numbers {
		raw[i] = byte(n)
	}
	return raw
}

// level returns what syslog's priority means: 0 to 2 are emergencies, then comes errors, warnings, notices, news, debugging.
func (e journalEntry) level() level {
	n, err := strconv.Atoi(e.Priority)
	if err != nil || n < 0 || n > 7 {
		return 0
	}
	return [...]level{6, 6, 6, 5, 4, 3, 3, 2}[n]
}

// CheckUnits returns an error if one of the patterns cannot name a unit.
func CheckUnits(patterns []string) error {
	var all []error
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" || p[0] == '-' {
			all = append(all, fmt.Errorf("%q is not a unit like app.service", p))
		}
	}
	return errors.Join(all...)
}
