package ops

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/tools/fulltext"
)

const (
	passageLines = 40    // after so many a passage ends at the next empty line ...
	passageBytes = 4_000 // ... and after so many bytes at once
	maxShownLine = 400   // bytes
)

// passage is a part of a document: what stands under one heading, or so many lines.
type passage struct {
	number  int // in the index
	path    string
	line    int    // of its first line, from 1
	heading string // those that it stands under
	lines   []string
}

// indexed returns the words that the passage is found by. Those of its headings and its name count beside its text.
func (p *passage) indexed() string {
	return path.Base(p.path) + "\n" + p.heading + "\n" + strings.Join(p.lines, "\n")
}

var (
	markdownHeading = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*$`)
	codeFence       = regexp.MustCompile("^\\s*(```|~~~)")
)

// split takes a document apart. Every line of it is in exactly one passage, in order.
func split(name, text string) (all []*passage) {
	current := &passage{path: name, line: 1}
	var headings [6]string
	size, fenced := 0, false
	next := func(number int) {
		if len(current.lines) > 0 {
			all = append(all, current)
		}
		current, size = &passage{path: name, line: number, heading: trail(headings[:])}, 0
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		line = strings.TrimRight(line, "\r")
		if codeFence.MatchString(line) {
			fenced = !fenced
		}
		m := markdownHeading.FindStringSubmatch(line)
		switch {
		case m != nil && !fenced:
			depth := len(m[1]) - 1
			headings[depth] = m[2]
			clear(headings[depth+1:])
			next(i + 1)
		case len(current.lines) >= passageLines && strings.TrimSpace(line) == "", size > passageBytes:
			next(i + 1)
		}
		current.lines = append(current.lines, line)
		size += len(line)
	}
	next(0)
	return all
}

func trail(headings []string) string {
	var all []string
	for _, h := range headings {
		if h != "" {
			all = append(all, h)
		}
	}
	return strings.Join(all, " > ")
}

// snippet returns the lines of the passage that say most about a query; of the best match all of them, if it is not long.
func (p *passage) snippet(query []string, best bool) string {
	from, most := 0, -1
	for i, line := range p.lines {
		hits := 0
		words := fulltext.Distinct(fulltext.Words(line))
		for _, q := range query {
			for _, w := range words {
				if w == q {
					hits++
				}
			}
		}
		if hits > most {
			from, most = i, hits
		}
	}
	limit := snippetLines
	if from = max(0, from-2); best {
		limit = len(p.lines)
		if len(strings.Join(p.lines, "\n")) <= wholeBytes {
			from = 0
		}
	}
	var b strings.Builder
	for i := from; i < len(p.lines) && i < from+limit && b.Len() < wholeBytes; i++ {
		if strings.TrimSpace(p.lines[i]) != "" {
			fmt.Fprintf(&b, "   %d|%s\n", p.line+i, shorten(strings.TrimRight(p.lines[i], " \t")))
		}
	}
	return b.String()
}

func shorten(line string) string {
	if len(line) <= maxShownLine {
		return line
	}
	end := maxShownLine
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end] + "…"
}
