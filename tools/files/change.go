package files

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// change replaces one part of a text by another. In both, lines end in "\n" whatever they end in in the file.
type change struct {
	old, fresh string
	all        bool // wherever old stands, which must be in one place only otherwise
	lines      bool // old is whole lines: it stands at the beginning of a line
	at         int  // the line where old is expected, 0 = unknown; of several places the nearest counts
	after      int  // if old is empty and lines is set: the line behind which fresh belongs
}

// source is the text of a file that is being changed.
type source struct {
	raw   string // with the line ends of the file
	plain string // with "\n" alone
	cuts  []int  // offsets in plain of the line ends that are "\r\n" in raw
}

func newSource(raw string) *source {
	s := &source{raw: raw, plain: raw}
	if !strings.Contains(raw, "\r\n") {
		return s
	}
	var plain strings.Builder
	for {
		before, after, found := strings.Cut(raw, "\r\n")
		plain.WriteString(before)
		if !found {
			s.plain = plain.String()
			return s
		}
		s.cuts = append(s.cuts, plain.Len())
		plain.WriteByte('\n')
		raw = after
	}
}

// offset returns where an offset of plain is in raw.
func (s *source) offset(plain int) int { return plain + sort.SearchInts(s.cuts, plain) }

// lineEnd returns what most lines end in.
func (s *source) lineEnd() string {
	if 2*len(s.cuts) > strings.Count(s.plain, "\n") {
		return "\r\n"
	}
	return "\n"
}

// lineOf returns the number of the line that an offset of plain is in.
func (s *source) lineOf(offset int) int { return 1 + strings.Count(s.plain[:offset], "\n") }

// afterLine returns the offset of plain behind a line.
func (s *source) afterLine(line int) int {
	at := 0
	for ; line > 0; line-- {
		i := strings.IndexByte(s.plain[at:], '\n')
		if i < 0 {
			return len(s.plain)
		}
		at += i + 1
	}
	return at
}

// places returns the offsets of plain from which on a change's old text stands, from an offset on.
func (s *source) places(c change, from int) []int {
	var found []int
	for at := from; at <= len(s.plain); {
		i := strings.Index(s.plain[at:], c.old)
		if i < 0 {
			break
		}
		at += i
		if c.lines && at > 0 && s.plain[at-1] != '\n' || c.lines && !strings.HasSuffix(c.old, "\n") && at+len(c.old) < len(s.plain) {
			at++
			continue
		}
		found = append(found, at)
		at += max(1, len(c.old))
	}
	return found
}

// apply makes a change behind an offset of plain. It returns the offset behind the new text, and in how many places the
// text was changed.
func (s *source) apply(c change, from int) (end, times int, err error) {
	c.old, c.fresh = strings.ReplaceAll(c.old, "\r\n", "\n"), strings.ReplaceAll(c.fresh, "\r\n", "\n")
	if c.old == "" && c.lines {
		at := max(from, s.afterLine(c.after))
		if at > 0 && s.plain[at-1] != '\n' { // behind a last line without an end
			c.fresh = "\n" + strings.TrimSuffix(c.fresh, "\n")
		}
		return s.replace([]int{at}, c), 1, nil
	}
	places := s.places(c, from)
	if c.lines && len(places) == 0 && strings.HasSuffix(c.old, "\n") { // the file's last line has no end
		last := c
		last.old, last.fresh = strings.TrimSuffix(c.old, "\n"), strings.TrimSuffix(c.fresh, "\n")
		if at := len(s.plain) - len(last.old); slices.Contains(s.places(last, from), at) {
			places, c = []int{at}, last
		}
	}
	switch {
	case len(places) == 0:
		return 0, 0, &missing{s.nearest(c.old)}
	case len(places) > 1 && c.at > 0:
		places = []int{s.nearestTo(c.at, places)}
	case len(places) > 1 && !c.all:
		var at []string
		for _, p := range places[:min(len(places), 5)] {
			at = append(at, fmt.Sprint(s.lineOf(p)))
		}
		return 0, 0, fmt.Errorf("the old text stands there %d times, at lines %s; give more of what is around the right one", len(places), listed(at, len(places)))
	}
	return s.replace(places, c), len(places), nil
}

// nearestTo returns which of several offsets is nearest to a line.
func (s *source) nearestTo(line int, places []int) int {
	return slices.MinFunc(places, func(a, b int) int {
		return distanceOf(s.lineOf(a), line) - distanceOf(s.lineOf(b), line)
	})
}

func distanceOf(a, b int) int { return max(a-b, b-a) }

// replace puts the new text of a change in the places of the old one, and returns the offset of plain behind the last.
// Lines that are the same in both are left alone, so that they keep their line ends where those are mixed.
func (s *source) replace(places []int, c change) int {
	head, tail := sameLines(c.old, c.fresh)
	old, fresh := c.old[head:len(c.old)-tail], c.fresh[head:len(c.fresh)-tail]
	fresh = strings.ReplaceAll(fresh, "\n", s.lineEnd())
	var raw strings.Builder
	done := 0
	for _, at := range places {
		from, to := s.offset(at+head), s.offset(at+head+len(old))
		raw.WriteString(s.raw[done:from])
		raw.WriteString(fresh)
		done = to
	}
	raw.WriteString(s.raw[done:])
	end := places[len(places)-1] + len(places)*len(c.fresh) - (len(places)-1)*len(c.old)
	*s = *newSource(raw.String())
	return end
}

// sameLines returns how many bytes of whole lines two texts have in common at their beginning, and then at their end.
func sameLines(a, b string) (head, tail int) {
	n := min(len(a), len(b))
	for i := 0; i < n && a[i] == b[i]; i++ {
		if a[i] == '\n' {
			head = i + 1
		}
	}
	for i := 1; i <= n-head && a[len(a)-i] == b[len(b)-i]; i++ {
		if i < n-head && a[len(a)-i-1] == '\n' && b[len(b)-i-1] == '\n' {
			tail = i
		}
	}
	return head, tail
}

// listed joins numbers, of which there may be more than are given.
func listed(numbers []string, total int) string {
	text := strings.Join(numbers, ", ")
	if total > len(numbers) {
		text += ", ..."
	}
	return text
}
