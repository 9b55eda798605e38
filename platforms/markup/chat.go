package markup

import (
	"fmt"
	"strings"
)

// chatSyntax is what the chat dialects have in common.
type chatSyntax struct{}

func (chatSyntax) margin(w *writer) string { return w.quotes }

func (chatSyntax) rule(w *writer) { w.WriteString("———") }

// marker is made of text, for platforms that have no lists of their own. A task's box takes the place of a bullet.
func (chatSyntax) marker(w *writer, l list, i int) (marker, box string) {
	box = boxes[l.items[i].task]
	switch {
	case l.ordered:
		return fmt.Sprintf("%d. ", l.start+i), box
	case box != "":
		return box, ""
	}
	return [...]string{"• ", "◦ ", "▪ "}[(w.lists-1)%3], ""
}

// boxes show the state of a task.
var boxes = [...]string{noTask: "", openTask: "☐ ", doneTask: "☑ "}

// apart keeps two paragraphs apart; everything else shows by itself where it begins.
func (chatSyntax) apart(before, after block) bool {
	_, ok := before.(paragraph)
	_, ok2 := after.(paragraph)
	return ok && ok2
}

// zeroWidth is a zero width space: it parts characters that would mean something together, and is not seen.
const zeroWidth = "\u200b"

// bareFence keeps a fence of three backticks from ending inside its content.
func bareFence(s string) string {
	for strings.Contains(s, "```") {
		s = strings.ReplaceAll(s, "```", "``"+zeroWidth+"`")
	}
	return s
}
