package agenttools

import (
	"fmt"
	"strings"
	"testing"
)

func TestIndexForgetsTheOldest(t *testing.T) {
	x := newIndex()
	x.limit = 500_000
	body := strings.Repeat("filler ", maxDocument/7-10)
	n := 2 * x.limit / len(body)
	for i := range n {
		x.add(document{text: fmt.Sprintf("number%d %s", i, body)})
	}
	if x.size > x.limit || len(x.docs) < n/4 {
		t.Errorf("%d bytes in %d documents", x.size, len(x.docs))
	}
	if len(x.find("number0", "")) != 0 {
		t.Error("the oldest is still there")
	}
	for _, i := range []int{n - 1, n - 2, n - n/4} {
		hits := x.find(fmt.Sprintf("number%d", i), "")
		if len(hits) == 0 || !strings.HasPrefix(x.docs[hits[0]].text, fmt.Sprintf("number%d ", i)) {
			t.Errorf("number %d is not found first: %v", i, hits)
		}
	}
	size := 0
	for _, d := range x.docs {
		size += len(d.text)
	}
	if size != x.size {
		t.Errorf("the index counts %d bytes and has %d", x.size, size)
	}
}
