package agenttools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/talaria-agent/talaria/loop"
	"github.com/talaria-agent/talaria/sessions"
	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/fulltext"
)

const (
	searchName   = "session_search"
	defaultFound = 5
	maxFound     = 20
	surrounding  = 2   // messages before a match and after it
	foundRunes   = 800 // of a match
	besideRunes  = 200 // of a message beside it
	maxIndexes   = 16  // conversations whose index is kept in memory
)

type searchArguments struct {
	Query string `json:"query" jsonschema:"a few characteristic words"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many matches to return; default 5, at most 20"`
}

// NewSearch returns what searches the past. The indexes of the conversations searched last are kept in memory.
func NewSearch(past Past) *Search {
	return &Search{past: past, indexes: map[sessions.Key]*index{}}
}

// Tools returns the tool session_search. It looks only into the log of the conversation in which it is called.
func (s *Search) Tools() ([]tools.Tool, error) {
	tool, err := newTool(tools.Spec{
		Name: searchName, Toolset: searchName, Description: searchDescription, Risk: tools.ReadOnly, Parallel: true, Ranged: true,
		Preview: func(arguments json.RawMessage) string {
			var a searchArguments
			_ = json.Unmarshal(arguments, &a)
			return a.Query
		},
	}, nil, s.call)
	if err != nil {
		return nil, err
	}
	low, high := 1.0, float64(maxFound)
	limit := tool.Spec().Schema.Properties["limit"]
	limit.Minimum, limit.Maximum = &low, &high
	return []tools.Tool{tool}, nil
}

// Search has the indexes. It may be used from any goroutine.
type Search struct {
	past Past

	mu      sync.Mutex
	indexes map[sessions.Key]*index
	recent  []sessions.Key // the one used last at the end
}

// of returns the index of a conversation, an empty one if it was not there, and forgets the one that was not used for
// longest if there are too many.
func (s *Search) of(key sessions.Key) *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = append(slices.DeleteFunc(s.recent, func(k sessions.Key) bool { return k == key }), key)
	if len(s.recent) > maxIndexes {
		delete(s.indexes, s.recent[0])
		s.recent = s.recent[1:]
	}
	if s.indexes[key] == nil {
		s.indexes[key] = newIndex()
	}
	return s.indexes[key]
}

// wordless is said of a query that nothing can be found by.
const wordless = "The query has no word in it."

func (s *Search) call(ctx context.Context, call loop.SessionCall, a searchArguments) (tools.Result, []sessions.Entry, error) {
	if len(fulltext.Words(a.Query)) == 0 {
		return tools.Wrongf(wordless), nil, nil
	}
	text, err := s.find(ctx, sessions.Key(call.Scope.Conversation), a.Query, call.Scope.Turn, cmp.Or(a.Limit, defaultFound))
	return tools.Result{Text: text}, nil, err
}

// Find looks for the words of a query in a conversation's past, and returns the best matches with what stands around them,
// for people; Markdown.
func (s *Search) Find(ctx context.Context, key sessions.Key, query string) (string, error) {
	if len(fulltext.Words(query)) == 0 {
		return wordless, nil
	}
	return s.find(ctx, key, query, "", defaultFound)
}

// find looks everywhere but in a turn.
func (s *Search) find(ctx context.Context, key sessions.Key, query, without string, limit int) (string, error) {
	x := s.of(key)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.update(ctx, s.past, key); err != nil {
		return "", fmt.Errorf("read the past of the conversation: %w", err)
	}
	return x.report(x.find(query, without), fulltext.Distinct(fulltext.Words(query)), limit), nil
}

// report writes the best matches down, each with the messages around it. One that stands beside a better one is shown
// there.
func (x *index) report(hits []int, query []string, limit int) string {
	if len(hits) == 0 {
		return "Nothing was found. Try other words, fewer of them, or the language in which it was said."
	}
	var b strings.Builder
	shown := map[int]bool{}
	n := 0
	for _, hit := range hits {
		if shown[hit] || n == limit {
			continue
		}
		n++
		d := x.docs[hit]
		where := "this session"
		if d.session != x.session {
			where = "another session"
		}
		fmt.Fprintf(&b, "## %s, %s\n", d.at.Format("2006-01-02 15:04 MST"), where)
		for i := max(0, hit-surrounding); i <= min(len(x.docs)-1, hit+surrounding); i++ {
			o := x.docs[i]
			if o.session != d.session {
				continue
			}
			shown[i] = true
			if i == hit {
				fmt.Fprintf(&b, "> %s: %s\n", o.who, fulltext.Around(o.text, query, foundRunes))
			} else {
				fmt.Fprintf(&b, "  %s: %s\n", o.who, fulltext.Around(o.text, query, besideRunes))
			}
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s found; %d shown, the best first.", count(len(hits), "message"), n)
	return b.String()
}
