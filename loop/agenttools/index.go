package agenttools

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/sessions"
)

// Past gives the log of a conversation. sessions.Store is one.
type Past = sessions.Past

const (
	maxIndexed    = 8 << 20 // bytes of text in one index; when it is full, the oldest third is forgotten
	maxDocument   = 20_000  // bytes of one message
	maxToolResult = 2_000   // and of a tool result, of which mostly the beginning tells
	toolWeight    = 0.6     // of a match in a tool result, beside one in what somebody said
	prefixWeight  = 0.5     // of a word that only begins as the query's
	phraseWeight  = 1.5     // of a text that holds the query word for word

	// The usual constants of the BM25 ranking.
	saturation = 1.2
	lengthBias = 0.75
)

// document is one message of the past.
type document struct {
	at      time.Time
	who     string // person, assistant, or the tool's name
	tool    bool
	text    string
	session int // number of the stretch between two changes of session that it was said in
	turn    string
	words   int
}

type posting struct{ doc, times int }

// index finds words in the past of one conversation. It is a projection of the log: built when it is first asked for, and
// brought up to date each time. Compactions and what was taken back change nothing in it, since all of it stays in the log.
type index struct {
	mu       sync.Mutex
	outline  sessions.Outline  // up to where the log is in
	session  int               // number of the one that the conversation is in
	calls    map[string]string // tool call id -> tool, of the newest reply
	docs     []document
	size     int
	limit    int // of size
	words    int
	postings map[string][]posting
}

func newIndex() *index {
	x := &index{limit: maxIndexed}
	x.clear()
	return x
}

// clear forgets all that was said.
func (x *index) clear() {
	x.docs, x.size, x.words = nil, 0, 0
	x.postings, x.calls = map[string][]posting{}, map[string]string{}
}

// update reads what the log has more, or all of it if its beginning has been removed.
func (x *index) update(ctx context.Context, past Past, key sessions.Key) error {
	x.outline.Key = key
	return x.outline.Follow(ctx, past, x.clear, func(record sessions.Record) {
		if s := x.outline.Current(); s != nil {
			x.session = s.Number
		}
		for _, e := range record.Entries {
			x.take(e, record.At)
		}
	})
}

func (x *index) take(e sessions.Entry, at time.Time) {
	switch e := e.(type) {
	case sessions.UserMessage:
		x.add(document{at: at, who: "person", turn: e.Turn, text: e.Message.Text})
	case sessions.Steered:
		x.add(document{at: at, who: "person", turn: e.Turn, text: e.Message.Text})
	case sessions.AssistantMessage:
		x.add(document{at: at, who: "assistant", turn: e.Turn, text: e.Message.Text})
		clear(x.calls)
		for _, c := range e.Message.ToolCalls {
			x.calls[c.ID] = c.Name
		}
	case sessions.ToolResult:
		name := x.calls[e.Message.ToolCallID]
		if name != searchName { // what was found once would be found for ever
			text := strings.ToValidUTF8(e.Message.Text[:min(len(e.Message.Text), maxToolResult)], "")
			x.add(document{at: at, who: name, tool: true, turn: e.Turn, text: text})
		}
	}
}

func (x *index) add(d document) {
	if strings.TrimSpace(d.text) == "" {
		return
	}
	d.text = strings.ToValidUTF8(d.text[:min(len(d.text), maxDocument)], "")
	d.session = x.session
	if x.size+len(d.text) > x.limit {
		old := x.docs[len(x.docs)/3:]
		x.docs, x.size, x.words, x.postings = nil, 0, 0, map[string][]posting{}
		for _, o := range old {
			x.put(o)
		}
	}
	x.put(d)
}

func (x *index) put(d document) {
	times := map[string]int{}
	for _, w := range words(d.text) {
		times[w]++
		d.words++
	}
	for w, n := range times {
		x.postings[w] = append(x.postings[w], posting{len(x.docs), n})
	}
	x.docs = append(x.docs, d)
	x.size += len(d.text)
	x.words += d.words
}

// find returns the documents that match a query, best first, without those of a turn: what is said in it is in sight.
func (x *index) find(query, without string) []int {
	scores := map[int]float64{}
	for _, q := range distinct(words(query)) {
		x.score(scores, x.postings[q], 1)
		for _, w := range x.alike(q) {
			x.score(scores, x.postings[w], prefixWeight)
		}
	}
	phrase := strings.ToLower(strings.TrimSpace(query))
	var hits []int
	for doc := range scores {
		d := x.docs[doc]
		if d.turn == without && without != "" {
			continue
		}
		if d.tool {
			scores[doc] *= toolWeight
		}
		if strings.Contains(strings.ToLower(d.text), phrase) {
			scores[doc] *= phraseWeight
		}
		hits = append(hits, doc)
	}
	slices.SortFunc(hits, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a)) // of equal ones the newer first
	})
	return hits
}

// alike returns the other words of the index that a word of a query may mean, in order: sums of floating-point numbers
// depend on it.
func (x *index) alike(query string) (found []string) {
	for w := range x.postings {
		if w != query && matches(query, w) {
			found = append(found, w)
		}
	}
	slices.Sort(found)
	return found
}

// score adds what one word counts in the documents that hold it: the more, the rarer it is.
func (x *index) score(scores map[int]float64, found []posting, weight float64) {
	n, in := float64(len(x.docs)), float64(len(found))
	rarity := math.Log(1 + (n-in+0.5)/(in+0.5))
	average := float64(x.words) / max(n, 1)
	for _, p := range found {
		t := float64(p.times)
		length := 1 - lengthBias + lengthBias*float64(x.docs[p.doc].words)/max(average, 1)
		scores[p.doc] += weight * rarity * t * (saturation + 1) / (t + saturation*length)
	}
}
