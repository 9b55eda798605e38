package ops

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// report puts the answer of a search together.
func (s *scan) report() string {
	var b strings.Builder
	shown := 0
	if s.digest != nil {
		b.WriteString(s.digest.report(s.limit, s.clock))
	} else {
		shown = s.write(&b)
	}
	b.WriteString("[" + s.summary(shown) + "]")
	return b.String()
}

// write lists the matches under the names of their files, and returns how many there was room for.
func (s *scan) write(b *strings.Builder) (shown int) {
	hits := s.hits
	if s.newest {
		hits = s.newestHits(s.offset + s.limit)
		hits = hits[:max(0, len(hits)-s.offset)]
		size := 0
		for i, h := range slices.Backward(hits) {
			for _, line := range h.lines {
				size += len(line)
			}
			if size > maxOutput {
				hits = hits[i+1:]
				break
			}
		}
	}
	source := ""
	for i, h := range hits {
		switch {
		case h.source != source:
			source = h.source
			fmt.Fprintf(b, "%s\n", source)
		case i > 0 && s.context > 0:
			b.WriteString("--\n")
		}
		for _, line := range h.lines {
			b.WriteString(line + "\n")
		}
	}
	return len(hits)
}

// summary says what matched, what of it is shown, and what was not read.
func (s *scan) summary(shown int) string {
	var parts []string
	switch {
	case s.found == 0:
		parts = append(parts, "nothing matches")
	case s.digest != nil:
		parts = append(parts, count(s.found, "line")+" in all")
	case shown == s.found:
		parts = append(parts, fmt.Sprintf("matches 1 to %d, that is all%s", s.found, s.span()))
	case shown == 0:
		parts = append(parts, fmt.Sprintf("offset %d is behind the last of %d matches", s.offset, s.found))
	case s.newest:
		last := s.found - s.offset
		parts = append(parts, fmt.Sprintf("matches %d to %d of %d%s; for those before add offset %d", last-shown+1, last, s.found, s.span(), s.offset+shown))
	default:
		last := s.offset + shown
		parts = append(parts, fmt.Sprintf("matches %d to %d of %d%s", s.offset+1, last, s.found, s.span()))
		if last < s.found {
			parts[0] += fmt.Sprintf("; go on with offset %d, or narrow the search", last)
		}
	}
	var by []string
	for l, n := range s.byLevel {
		if n > 0 && l > 0 {
			by = append(by, fmt.Sprintf("%s %d", level(l), n))
		}
	}
	if len(by) > 0 {
		parts = append(parts, "by level: "+strings.Join(by, ", "))
	}
	parts = append(parts, fmt.Sprintf("searched %s in %s", count(s.lines, "line"), count(s.files, "file")))
	if s.old > 0 {
		parts = append(parts, count(s.old, "file")+" written last before since not read")
	}
	if s.timeless > 0 {
		parts = append(parts, count(s.timeless, "file")+" without any time in a known form, so nothing of it is in the window")
	}
	for _, text := range s.skipped {
		parts = append(parts, "not read: "+text)
	}
	return strings.Join(parts, "; ")
}

// span says when the first match was and when the last.
func (s *scan) span() string {
	switch {
	case s.first.IsZero():
		return ""
	case s.first.Equal(s.last):
		return ", at " + s.clock(s.first)
	}
	return ", " + s.clock(s.first) + " to " + s.clock(s.last)
}

func (s *scan) clock(t time.Time) string { return t.In(s.zone).Format(time.RFC3339) }
