package telegram

import (
	"strings"
	"unicode"
)

// splitTyped cuts what a person types into messages of at most maxTextRunes, as the apps do before they send: at the last
// line break of a message's second half, else at its last space, else wherever it is full.
func splitTyped(text string) []string {
	var parts []string
	for rest := []rune(text); ; {
		if len(rest) <= maxTextRunes {
			return append(parts, string(rest))
		}
		at := cutAt(rest[:maxTextRunes+1])
		if part := strings.TrimRightFunc(string(rest[:at]), unicode.IsSpace); part != "" {
			parts = append(parts, part)
		}
		for at < len(rest) && unicode.IsSpace(rest[at]) {
			at++
		}
		if rest = rest[at:]; len(rest) == 0 {
			return parts
		}
	}
}

// cutAt finds where a text that is one rune too long is cut best.
func cutAt(text []rune) int {
	space := len(text) - 1
	for i := len(text) - 1; i > len(text)/2; i-- {
		switch {
		case text[i] == '\n':
			return i
		case unicode.IsSpace(text[i]) && space == len(text)-1:
			space = i
		}
	}
	return space
}
