package markup

import "strings"

// plain is text without markup.
type plain struct{ chatSyntax }

func (plain) text(w *writer, s string, _ rune)      { w.WriteString(s) }
func (plain) codeSpan(w *writer, s string, _ rune)  { w.WriteString(s) }
func (plain) styled(w *writer, s styled, next rune) { w.spans(s.spans, next) }
func (plain) link(w *writer, l link, _ rune)        { w.WriteString(flat(l.spelledOut())) }
func (plain) heading(w *writer, h heading)          { w.spans(h.spans, 0) }
func (plain) code(w *writer, c codeBlock)           { w.raw(c.text) }
func (plain) quote(w *writer, q quote)              { w.blocks(q.blocks) }

func (plain) table(w *writer, t table) {
	var rows []string
	for _, row := range append([][]cell{t.header}, t.rows...) {
		rows = append(rows, spelledFlat(joinCells(row)))
	}
	w.raw(strings.Join(rows, "\n"))
}
