package ops

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	maxKinds     = 5000 // of messages told apart
	shownKinds   = 40
	maxKindBytes = 200
)

// digest counts messages by what they say, whatever numbers and ids are in them.
type digest struct {
	kinds map[string]*kind
	rest  int // messages of kinds that there was no room for
}

type kind struct {
	text        string
	level       level
	times       int
	first, last time.Time
	where       string // of the first
}

func newDigest() *digest { return &digest{kinds: map[string]*kind{}} }

// take counts a message, given without its time.
func (d *digest) take(message []byte, at time.Time, l level, where string) {
	text := general(strings.Join(strings.Fields(excerpt(message, nil)), " "))
	if len(text) > maxKindBytes {
		text = strings.ToValidUTF8(text[:maxKindBytes], "") + "…"
	}
	k := d.kinds[text]
	if k == nil {
		if len(d.kinds) == maxKinds {
			d.rest++
			return
		}
		k = &kind{text: text, level: l, first: at, where: where}
		d.kinds[text] = k
	}
	k.times++
	k.last = at
}

// report lists the kinds, the most frequent first.
func (d *digest) report(limit int, clock func(time.Time) string) string {
	all := slices.SortedFunc(maps.Values(d.kinds), func(a, b *kind) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(b.level, a.level), cmp.Compare(a.text, b.text))
	})
	var b strings.Builder
	for i, k := range all {
		if i == min(limit, shownKinds) {
			break
		}
		fmt.Fprintf(&b, "%d × %s\n    ", k.times, k.text)
		switch {
		case k.first.IsZero():
		case k.times == 1:
			fmt.Fprintf(&b, "at %s, ", clock(k.first))
		default:
			fmt.Fprintf(&b, "%s to %s, first ", clock(k.first), clock(k.last))
		}
		fmt.Fprintf(&b, "in %s\n", k.where)
	}
	left := d.rest
	for _, k := range all[min(len(all), limit, shownKinds):] {
		left += k.times
	}
	if left > 0 {
		fmt.Fprintf(&b, "and %s of rarer kinds, not shown\n", count(left, "line"))
	}
	return b.String()
}

// general returns a message without what differs between messages of one kind: ids, addresses, numbers.
func general(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		n, name := variable(text[i:], i > 0 && isWord(text[i-1]))
		if n == 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(name)
		i += n
	}
	return b.String()
}

// variable tells how long an id, an address or a number at the beginning of a text is, and what to call it; 0 if there is
// none. Within a word only digits count.
func variable(text string, within bool) (n int, name string) {
	if !within {
		if n = uuid(text); n > 0 {
			return n, "<id>"
		}
		if n = hex(text); n > 0 {
			return n, "<hex>"
		}
	}
	dots := 0
	for n < len(text) && (isDigit(text[n]) || n > 0 && text[n] == '.' && n+1 < len(text) && isDigit(text[n+1])) {
		if text[n] == '.' {
			dots++
		}
		n++
	}
	if dots == 3 {
		return n, "<ip>"
	}
	return n, "<n>"
}

// uuid returns 36 if a text begins with a UUID.
func uuid(text string) int {
	const length = 36
	if len(text) < length {
		return 0
	}
	for i := range length {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (text[i] == '-') || !dash && !isHex(text[i]) {
			return 0
		}
	}
	return length
}

// hex returns the length of a hash or the like at the beginning of a text: eight digits or more, of both kinds.
func hex(text string) (n int) {
	digits, letters := false, false
	if strings.HasPrefix(text, "0x") {
		n, digits, letters = 2, true, true
	}
	from := n
	for ; n < len(text) && isHex(text[n]); n++ {
		digits = digits || isDigit(text[n])
		letters = letters || !isDigit(text[n])
	}
	if n-from < 8 && from == 0 || n == from || !digits || !letters || n < len(text) && isWord(text[n]) {
		return 0
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
