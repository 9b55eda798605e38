package files

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// fileDiff is what a unified diff says about one file.
type fileDiff struct {
	path    string
	created bool // the file is not there yet
	deleted bool
	hunks   []hunk
}

// hunk is one block of a unified diff.
type hunk struct {
	start      int // line in the old file; with no old lines, the line behind which the new ones belong; -1 = not said
	old, fresh string
	added      int // lines more than before
}

// parseDiff reads a unified diff as models write them: the counts in "@@" lines may be wrong, numbers may be missing, an
// empty context line may have lost its space, and there may be git's own lines and code fences around it all.
func parseDiff(text string) ([]fileDiff, error) {
	p := &diffParser{lines: strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")}
	var all []fileDiff
	for p.skipToFile() {
		d, err := p.file()
		if err != nil {
			return nil, err
		}
		for _, earlier := range all {
			if earlier.path == d.path {
				return nil, fmt.Errorf("%s is in the diff twice; put all its hunks under one header", d.path)
			}
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, errors.New(`it has no line "--- a/FILE" with a line "+++ b/FILE" behind it`)
	}
	return all, nil
}

type diffParser struct {
	lines []string
	at    int
}

func (p *diffParser) line(ahead int) string {
	if p.at+ahead < len(p.lines) {
		return p.lines[p.at+ahead]
	}
	return ""
}

// header tells whether the header of a file stands so many lines ahead.
func (p *diffParser) header(ahead int) bool {
	return strings.HasPrefix(p.line(ahead), "--- ") && strings.HasPrefix(p.line(ahead+1), "+++ ")
}

func (p *diffParser) skipToFile() bool {
	for p.at < len(p.lines) && !p.header(0) {
		p.at++
	}
	return p.at < len(p.lines)
}

// file reads the header of a file and its hunks.
func (p *diffParser) file() (fileDiff, error) {
	from, to := diffName(p.line(0)[4:]), diffName(p.line(1)[4:])
	d := fileDiff{path: to, created: from == "/dev/null", deleted: to == "/dev/null"}
	p.at += 2
	a, b := strings.TrimPrefix(from, "a/"), strings.TrimPrefix(to, "b/")
	switch {
	case d.created && d.deleted:
		return d, errors.New("a file cannot come from /dev/null and go there")
	case d.deleted:
		d.path = a
	case d.created, a == b:
		d.path = b
	case from != to:
		return d, fmt.Errorf("%s cannot become %s by a diff; write the new file and delete the old one", a, b)
	}
	d.path = path.Clean(d.path)
	for p.at < len(p.lines) {
		switch line := p.line(0); {
		case strings.HasPrefix(line, "@@"):
			h, err := p.hunk()
			if err != nil {
				return d, fmt.Errorf("%s: %w", d.path, err)
			}
			d.hunks = append(d.hunks, h)
		case p.header(0), line != "" && len(d.hunks) > 0:
			return d, d.check()
		default:
			p.at++
		}
	}
	return d, d.check()
}

func (d fileDiff) check() error {
	switch {
	case len(d.hunks) == 0 && !d.created && !d.deleted:
		return fmt.Errorf(`%s has no hunk, which begins with "@@"`, d.path)
	case d.created && (len(d.hunks) > 1 || len(d.hunks) == 1 && d.hunks[0].old != ""):
		return fmt.Errorf("%s is new, so there can be only new lines", d.path)
	case d.deleted && (len(d.hunks) > 1 || len(d.hunks) == 1 && d.hunks[0].fresh != ""):
		return fmt.Errorf("%s is deleted, so there can be only old lines", d.path)
	}
	return nil
}

// diffName returns the name in a line of a header, without the time that may stand behind it.
func diffName(text string) string {
	text, _, _ = strings.Cut(text, "\t")
	text = strings.TrimSpace(text)
	if name, err := strconv.Unquote(text); err == nil && strings.HasPrefix(text, `"`) {
		return name
	}
	return text
}

var hunkHead = regexp.MustCompile(`^@@+ *-(\d+)(?:,(\d+))? +\+\d+(?:,(\d+))? *@@`)

// hunk reads a block. As long as the counts of its head are not used up every line belongs to it that can; behind
// them, too, what is plainly a part of it.
func (p *diffParser) hunk() (hunk, error) {
	h := hunk{start: -1}
	oldLeft, newLeft := 0, 0
	if m := hunkHead.FindStringSubmatch(p.line(0)); m != nil {
		h.start, oldLeft, newLeft = number(m[1], 0), number(m[2], 1), number(m[3], 1)
	}
	p.at++
	var old, fresh []string
	blanks := 0 // empty lines, which are context if more of the hunk follows
	for p.at < len(p.lines) {
		line := p.line(0)
		inside := oldLeft > 0 || newLeft > 0
		if strings.HasPrefix(line, `\`) { // no newline at the end, of what stands right before
			switch before := p.line(-1); {
			case strings.HasPrefix(before, "-"):
				old = withoutEnd(old)
			case strings.HasPrefix(before, "+"):
				fresh = withoutEnd(fresh)
			default:
				old, fresh = withoutEnd(old), withoutEnd(fresh)
			}
			p.at++
			continue
		}
		if p.header(0) && !(inside && (oldLeft == 1 && newLeft == 1 || !strings.HasPrefix(p.line(2), "@@"))) ||
			!inside && (line == "-- " || line == "```") || line != "" && !strings.Contains(" +-", line[:1]) {
			break
		}
		p.at++
		if line == "" && !inside {
			blanks++
			continue
		}
		for ; blanks > 0; blanks-- {
			old, fresh = append(old, "\n"), append(fresh, "\n")
		}
		switch text := strings.TrimPrefix(line, line[:min(1, len(line))]) + "\n"; {
		case strings.HasPrefix(line, "-"):
			old = append(old, text)
			oldLeft--
		case strings.HasPrefix(line, "+"):
			fresh = append(fresh, text)
			newLeft--
		default:
			old, fresh = append(old, text), append(fresh, text)
			oldLeft, newLeft = oldLeft-1, newLeft-1
		}
	}
	h.old, h.fresh, h.added = strings.Join(old, ""), strings.Join(fresh, ""), len(fresh)-len(old)
	switch {
	case h.old == h.fresh:
		return h, errors.New("a hunk changes nothing")
	case h.old == "" && h.start < 0:
		return h, errors.New("a hunk has new lines only and no line number, so nobody knows where they belong; give it context")
	}
	return h, nil
}

// withoutEnd takes the line break from the last line.
func withoutEnd(lines []string) []string {
	if last := len(lines) - 1; last >= 0 {
		lines[last] = strings.TrimSuffix(lines[last], "\n")
	}
	return lines
}

func number(text string, absent int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return absent
}

// changes returns the hunks as changes of the text, with where each is expected once those before it are made.
func (d fileDiff) changes() []change {
	var all []change
	drift := 0
	for _, h := range d.hunks {
		c := change{old: h.old, fresh: h.fresh, lines: true}
		if h.start >= 0 {
			c.at, c.after = max(h.start+drift, 0), max(h.start+drift, 0)
		}
		all = append(all, c)
		drift += h.added
	}
	return all
}
