package markup

import (
	"strings"

	"github.com/rivo/uniseg"
)

// widest is how far a cell can widen its column, in character cells. Longer ones run over: padding a whole column for one
// of them would break the lines of all others.
const widest = 32

// aligned is the table as lines of a monospace font, a rule under its header. Widths count East Asian characters and emoji
// as two.
func (t table) aligned() string {
	widths := make([]int, len(t.aligns))
	all := append([][]cell{t.header}, t.rows...)
	for _, row := range all {
		for i, c := range row {
			widths[i] = max(widths[i], min(uniseg.StringWidth(c.String()), widest))
		}
	}
	var lines []string
	for i, row := range all {
		lines = append(lines, t.line(row, widths))
		if i == 0 {
			lines = append(lines, underline(widths))
		}
	}
	return strings.Join(lines, "\n")
}

func (t table) line(row []cell, widths []int) string {
	var b strings.Builder
	for i, c := range row {
		if i > 0 {
			b.WriteString("  ")
		}
		s := c.String()
		room := max(0, widths[i]-uniseg.StringWidth(s))
		left := 0
		switch t.aligns[i] {
		case alignRight:
			left = room
		case alignCenter:
			left = room / 2
		}
		b.WriteString(strings.Repeat(" ", left) + s + strings.Repeat(" ", room-left))
	}
	return strings.TrimRight(b.String(), " ")
}

func underline(widths []int) string {
	dashes := make([]string, len(widths))
	for i, n := range widths {
		dashes[i] = strings.Repeat("─", n)
	}
	return strings.Join(dashes, "  ")
}

// String is the cell's text, with addresses spelled out: a monospace block cannot hold links.
func (c cell) String() string { return spelledFlat(c) }

// joinCells puts a row on a line of text.
func joinCells(row []cell) []span {
	var line []span
	for i, c := range row {
		if i > 0 {
			line = append(line, text(" | "))
		}
		line = append(line, c...)
	}
	return merged(line...)
}

// paragraphs is the table as text, for a row that is too long for a message.
func (t table) paragraphs() []block {
	rows := t.rows
	if !t.continued {
		rows = append([][]cell{t.header}, rows...)
	}
	var out []block
	for _, row := range rows {
		out = append(out, textBlock(joinCells(row))...)
	}
	return out
}
