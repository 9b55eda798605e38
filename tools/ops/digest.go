package ops

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
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

// variables are what differs between messages of one kind, longest first.
var variables = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "<id>"},
	{regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`), "<ip>"},
	{regexp.MustCompile(`\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]*(?:\d[a-fA-F]|[a-fA-F]\d)[0-9a-fA-F]{6,}\b`), "<hex>"},
	{regexp.MustCompile(`\d+(?:\.\d+)?`), "<n>"},
}

// take counts a message, given without its time.
func (d *digest) take(message []byte, at time.Time, l level, where string) {
	text := strings.Join(strings.Fields(excerpt(message, nil)), " ")
	for _, v := range variables {
		text = v.pattern.ReplaceAllLiteralString(text, v.name)
	}
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
