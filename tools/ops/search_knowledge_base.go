package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/tools"
	"github.com/talaria-agent/talaria/tools/fulltext"
)

const (
	defaultMatches = 5
	maxMatches     = 20
	phraseWeight   = 1.5   // of a section that holds the query word for word
	wholeBytes     = 3_000 // of the best match
	snippetLines   = 8     // of the others
	pageLines      = 150   // of a document that is read
	pageBytes      = 12_000
)

type knowledgeArguments struct {
	Query string `json:"query,omitempty" jsonschema:"a few characteristic words"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many matches to return; default 5, at most 20"`
	Path  string `json:"path,omitempty" jsonschema:"document to read instead of searching"`
	Line  int    `json:"line,omitempty" jsonschema:"first line to read; default 1"`
}

func newKnowledge(o Options) (tools.Tool, error) {
	if len(o.Documents) == 0 {
		return nil, nil
	}
	l := newLibrary(o.Documents)
	tool, err := tools.New(tools.Spec{
		Name: "search_knowledge_base", Toolset: toolset, Description: knowledgeDescription,
		Risk: tools.ReadOnly, Parallel: true, Ranged: true,
		Check: checkKnowledge, Preview: func(arguments json.RawMessage) string {
			var a knowledgeArguments
			_ = json.Unmarshal(arguments, &a)
			return cmp.Or(a.Query, a.Path)
		},
	}, l.call)
	if err != nil {
		return nil, err
	}
	bound(tool, "limit", 1, maxMatches)
	return tool, nil
}

func checkKnowledge(arguments json.RawMessage) []tools.Problem {
	var a knowledgeArguments
	if err := json.Unmarshal(arguments, &a); err != nil {
		return []tools.Problem{{Problem: err.Error()}}
	}
	switch {
	case (a.Query == "") == (a.Path == ""):
		return []tools.Problem{{Argument: "query", Problem: "either query or path must be given", Expected: "query to search, or path to read a document that a result named"}}
	case a.Path == "" && len(fulltext.Words(a.Query)) == 0:
		return []tools.Problem{{Argument: "query", Problem: "it has no word in it", Expected: "a few words that the document would use"}}
	}
	return nil
}

func (l *library) call(ctx context.Context, _ tools.Scope, a knowledgeArguments) (tools.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.update(ctx); err != nil {
		return tools.Result{}, err
	}
	switch {
	case a.Path != "":
		return l.read(a.Path, max(a.Line, 1)), nil
	case len(l.documents) == 0:
		return tools.Wrongf("There are no documents in %s, or they cannot be read.%s", strings.Join(l.folders, ", "), l.left()), nil
	case a.Limit == 0:
		a.Limit = defaultMatches
	}
	return tools.Result{Text: l.report(l.find(a.Query), a)}, nil
}

// find returns the sections that match, the best first.
func (l *library) find(query string) (found []*passage) {
	scores := l.index.Scores(query)
	phrase := strings.ToLower(strings.TrimSpace(query))
	for n := range scores {
		s := l.passages[n]
		if strings.Contains(strings.ToLower(s.indexed()), phrase) {
			scores[n] *= phraseWeight
		}
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b *passage) int {
		return cmp.Or(cmp.Compare(scores[b.number], scores[a.number]), cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line))
	})
	return found
}

func (l *library) report(found []*passage, a knowledgeArguments) string {
	if len(found) == 0 {
		return fmt.Sprintf("Nothing was found in %s. Try other words, fewer of them, or another language.%s", count(len(l.documents), "document"), l.left())
	}
	query := fulltext.Distinct(fulltext.Words(a.Query))
	var b strings.Builder
	for i, p := range found[:min(len(found), a.Limit)] {
		fmt.Fprintf(&b, "%d. %s:%d", i+1, p.path, p.line)
		if p.heading != "" {
			fmt.Fprintf(&b, " (%s)", p.heading)
		}
		b.WriteByte('\n')
		b.WriteString(p.snippet(query, i == 0))
	}
	fmt.Fprintf(&b, "[%s of %s; %d shown, the best first%s]", count(len(found), "passage"), count(len(l.documents), "document"), min(len(found), a.Limit), l.left())
	return b.String()
}

// read returns a page of a document.
func (l *library) read(name string, from int) tools.Result {
	name = path.Clean(name)
	d := l.documents[name]
	if d == nil {
		var all []string
		for known := range l.documents {
			if path.Base(known) == path.Base(name) {
				return tools.Wrongf("There is no document %s; did you mean %s?", name, known)
			}
			all = append(all, known)
		}
		slices.Sort(all)
		text := fmt.Sprintf("There is no document %s.", name)
		if near := nearest(name, all); len(near) > 0 {
			text += " Did you mean " + strings.Join(near, ", or ") + "?"
		}
		return tools.Wrongf("%s Search with query to find out what there is.", text)
	}
	var b strings.Builder
	total, last := 0, 0
	for _, p := range d.passages {
		for i, line := range p.lines {
			total = p.line + i
			if total >= from && total < from+pageLines && b.Len() < pageBytes {
				fmt.Fprintf(&b, "%d|%s\n", total, line)
				last = total
			}
		}
	}
	switch {
	case last == 0:
		return tools.Wrongf("%s has only %s.", name, count(total, "line"))
	case last < total:
		fmt.Fprintf(&b, "[lines %d to %d of %d; read on with line %d]", from, last, total, last+1)
	default:
		fmt.Fprintf(&b, "[lines %d to %d of %d; this is the end]", from, last, total)
	}
	return tools.Result{Text: b.String()}
}
