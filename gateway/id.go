package gateway

import (
	"crypto/rand"
	"strconv"
	"strings"
)

// newID returns a random name for a turn, a row or a question: 13 letters and digits, short enough for a button.
func newID() string {
	return strings.ToLower(rand.Text()[:13])
}

func itoa(n int) string { return strconv.Itoa(n) }
