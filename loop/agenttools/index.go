package agenttools

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools/fulltext"
)

// Past gives the log of a conversation. sessions.Store is one.
type Past = sessions.Past

const (
	maxIndexed    = 8 << 20 // bytes of text in one index; when it is full, the oldest third is forgotten
	maxDocument   = 20_000  // bytes of one message
	maxToolResult = 2_000   // and of a tool result, of which mostly the beginning tells
	toolWeight    = 0.6     // of a match in a tool result, beside one in what somebody said
	phraseWeight  = 1.5     // of a text that holds the query word for word
)

// document is one message of the past.
type document struct {
	at      time.Time
	who     string // person, assistant, or the tool's name
	tool    bool
	text    string
	session int // number of the stretch between two changes of session that it was said in
	turn    string
}

// index finds words in the past of one conversation. It is a projection of the log: built when it is first asked for, and
// brought up to date each time. Compactions and what was taken back change nothing in it, since all of it stays in the log.
type index struct {
	mu      sync.Mutex
	outline sessions.Outline  // up to where the log is in
	session int               // number of the one that the conversation is in
	calls   map[string]string // tool call id -> tool, of the newest reply
	docs    []document
	words   *fulltext.Index // of docs, under the same numbers
	size    int             // bytes of docs
	limit   int             // of size
}

func newIndex() *index {
	x := &index{limit: maxIndexed}
	x.clear()
	return x
}

// clear forgets all that was said.
func (x *index) clear() {
	x.docs, x.size, x.words, x.calls = nil, 0, fulltext.New(), map[string]string{}
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
		x.docs, x.size, x.words = nil, 0, fulltext.New()
		for _, o := range old {
			x.put(o)
		}
	}
	x.put(d)
}

func (x *index) put(d document) {
	x.words.Add(d.text)
	x.docs = append(x.docs, d)
	x.size += len(d.text)
}

// find returns the documents that match a query, best first, without those of a turn: what is said in it is in sight.
func (x *index) find(query, without string) []int {
	scores := x.words.Scores(query)
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
