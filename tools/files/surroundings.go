package files

import (
	"fmt"
)

// surroundings collects the lines before and after those that match, in one file.
type surroundings struct {
	*searcher
	name    string
	lines   int      // how many to show on each side
	earlier []string // the last lines that were shown nowhere yet
	after   int      // how many more lines belong to the last hit
	shown   int      // number of the last line that was shown, -1 = none yet
}

// pass takes a line that does not match.
func (c *surroundings) pass(number int, line []byte) {
	if c.lines == 0 {
		return
	}
	text := fmt.Sprintf("%s-%d-%s", c.name, number, excerpt(line, 0))
	if c.after > 0 {
		c.after--
		c.shown = number
		if c.kept {
			c.hits[len(c.hits)-1] += "\n" + text
			c.bytes += len(text)
		}
		return
	}
	if c.earlier = append(c.earlier, text); len(c.earlier) > c.lines {
		c.earlier = c.earlier[1:]
	}
}

// before returns what to show before a line that matches: the lines before it, behind a mark if lines were left out.
func (c *surroundings) before(number int) string {
	if c.lines == 0 {
		return ""
	}
	text := ""
	if len(c.hits) > 0 && number-len(c.earlier) > c.shown+1 {
		text = "--\n"
	}
	for _, line := range c.earlier {
		text += line + "\n"
	}
	c.earlier, c.after, c.shown = nil, c.lines, number
	return text
}
