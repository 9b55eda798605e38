package ops

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	maxScanned   = 1 << 30  // bytes read in one search, unpacked
	maxHitBytes  = 600      // shown of one line
	maxOutput    = 48_000   // bytes of one result
	searchedPart = 32 << 10 // of a line
)

var errBudget = fmt.Errorf("left out after %d MiB of others", maxScanned>>20)

// hit is a match with the lines around it.
type hit struct {
	source string
	time   time.Time
	lines  []string
}

// scan is one search: what it looks for, and what it has found so far.
type scan struct {
	pattern       *regexp.Regexp // nil = every line
	from, to      time.Time
	level         level
	context       int // lines
	limit, offset int
	newest        bool
	digest        *digest // nil = lines are wanted
	zone          *time.Location
	budget        int64

	hits        []hit
	size        int // bytes of hits
	found       int
	first, last time.Time // of what was found
	byLevel     [numLevels]int
	files       int
	lines       int
	timeless    int // files without any time, though a time was asked for
	old         int // files that were changed last before the window
	skipped     []string
}

func newScan(a grepArguments, zone *time.Location) (*scan, string) {
	from, to, wrong := window(a.Since, a.Until, time.Now())
	if wrong != "" {
		return nil, wrong
	}
	s := &scan{
		from: from, to: to, level: levelNamed(a.Level), context: a.Context, limit: defaultLines, offset: a.Offset, newest: a.Newest,
		zone: zone, budget: maxScanned,
	}
	if a.Limit > 0 {
		s.limit = a.Limit
	}
	if a.Count {
		s.digest = newDigest()
	}
	if a.Pattern == "" {
		return s, ""
	}
	var err error
	if s.pattern, err = regexp.Compile(a.Pattern); err != nil {
		return nil, err.Error()
	}
	return s, ""
}

func (s *scan) skip(name string, why error) {
	s.skipped = append(s.skipped, fmt.Sprintf("%s: %v", name, why))
}

// file searches one text, which is named and was changed last as said.
func (s *scan) file(ctx context.Context, name string, changed time.Time, text io.Reader) error {
	s.files++
	at := position{source: name, stamps: stamps{zone: s.zone, newest: changed}, scan: s}
	in := bufio.NewReaderSize(text, searchedPart)
	for at.number = 1; ; at.number++ {
		if at.number%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := in.ReadSlice('\n')
		size := len(line)
		rest := err
		for errors.Is(rest, bufio.ErrBufferFull) { // nobody reads that far
			line = bytes.Clone(line)
			var more []byte
			more, rest = in.ReadSlice('\n')
			size += len(more)
		}
		if err = rest; size == 0 {
			break
		}
		s.lines++
		at.line(bytes.TrimRight(line, "\r\n"))
		if s.budget -= int64(size); s.budget <= 0 {
			s.skip(name, fmt.Errorf("read up to line %d, the end of %d MiB", at.number, maxScanned>>20))
			return nil
		}
		if err != nil {
			break
		}
	}
	if at.time.IsZero() && !(s.from.IsZero() && s.to.IsZero()) {
		s.timeless++
	}
	return nil
}

// position is where in a text the search is.
type position struct {
	source string
	number int
	stamps stamps
	time   time.Time // of the newest line with one
	head   []byte    // beginning of the same line, until its level is asked for
	known  level     // the level, then
	before []string  // lines that may become the context of the next match
	after  int       // lines that the newest match still wants
	scan   *scan
}

// line takes the next line of a file.
func (p *position) line(line []byte) {
	message := line
	if t, end, ok := p.stamps.of(line); ok {
		p.time, message = t, line[end:]
		p.head = append(p.head[:0], line[:min(len(line), stampedPart)]...)
	} else if p.time.IsZero() {
		p.head = append(p.head[:0], line[:min(len(line), stampedPart)]...)
	}
	p.entry(line, message)
}

// level returns the level of the newest line with a time.
func (p *position) level() level {
	if len(p.head) > 0 {
		p.known, p.head = levelOf(p.head), p.head[:0]
	}
	return p.known
}

// entry takes a line whose time and level are known; the message is the part of it after the time.
func (p *position) entry(line, message []byte) {
	s := p.scan
	switch {
	case s.pattern != nil && !s.pattern.Match(line), !s.inside(p.time), s.level > 0 && p.level() < s.level:
		p.around(line)
	case s.digest != nil:
		s.tally(p.time, p.level())
		s.digest.take(message, p.time, p.level(), fmt.Sprintf("%s:%d", p.source, p.number))
	default:
		s.tally(p.time, p.level())
		s.keep(hit{p.source, p.time, append(p.before, fmt.Sprintf("%d:%s", p.number, excerpt(line, s.pattern)))})
		p.before, p.after = nil, s.context
	}
}

// around keeps a line that did not match if it stands beside one that does.
func (p *position) around(line []byte) {
	s := p.scan
	if s.context == 0 || s.digest != nil {
		return
	}
	text := fmt.Sprintf("%d-%s", p.number, excerpt(line, nil))
	if p.after > 0 {
		p.after--
		if n := len(s.hits); n > 0 && s.kept() {
			s.hits[n-1].lines = append(s.hits[n-1].lines, text)
			s.size += len(text)
		}
		return
	}
	if len(p.before) == s.context {
		p.before = p.before[1:]
	}
	p.before = append(p.before, text)
}

// inside tells whether a time lies in the window. What has no time lies in no window.
func (s *scan) inside(t time.Time) bool {
	if s.from.IsZero() && s.to.IsZero() {
		return true
	}
	return !t.IsZero() && !t.Before(s.from) && (s.to.IsZero() || t.Before(s.to))
}

func (s *scan) tally(t time.Time, l level) {
	s.found++
	s.byLevel[l]++
	if t.IsZero() {
		return
	}
	if s.first.IsZero() || t.Before(s.first) {
		s.first = t
	}
	if t.After(s.last) {
		s.last = t
	}
}

// keep takes a match that is wanted; of the newest ones the last as many as were asked for.
func (s *scan) keep(h hit) {
	const room = 500 // for more, so that they are not sorted each time
	if s.newest {
		s.hits = append(s.hits, h)
		if len(s.hits) > s.offset+s.limit+room {
			s.hits = slices.Clone(s.newestHits(s.offset + s.limit))
		}
		return
	}
	if s.found > s.offset && len(s.hits) < s.limit && s.size < maxOutput {
		s.hits = append(s.hits, h)
		for _, line := range h.lines {
			s.size += len(line)
		}
	}
}

// newestHits returns the last so many of the matches kept so far, by their time, from whichever file. Those without a time count as oldest.
func (s *scan) newestHits(n int) []hit {
	slices.SortStableFunc(s.hits, func(a, b hit) int { return a.time.Compare(b.time) })
	return s.hits[max(0, len(s.hits)-n):]
}

// kept tells whether the newest match is in hits.
func (s *scan) kept() bool { return s.newest || s.found == s.offset+len(s.hits) }

// excerpt returns a line for the model; of a long one the part around the match.
func excerpt(line []byte, pattern *regexp.Regexp) string {
	if len(line) <= maxHitBytes {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := 0
	if pattern != nil {
		if where := pattern.FindIndex(line); where != nil {
			from = max(0, min(where[0]-maxHitBytes/4, len(line)-maxHitBytes))
		}
	}
	text := strings.Trim(strings.ToValidUTF8(string(line[from:from+maxHitBytes]), "\uFFFD"), "\uFFFD") + "…"
	if from > 0 {
		text = string(line[:min(from, 40)]) + "… …" + text // the time stands at the beginning
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
