package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/talaria-agent/talaria/tools"
)

const (
	usualHits   = 5
	mostHits    = 20
	maxQuery    = 400 // characters; Brave takes no more
	snippetSize = 500 // characters
)

type searchArguments struct {
	Query string `json:"query" jsonschema:"what to look for"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many results; default 5, at most 20"`
}

// search is web_search.
type search struct {
	rules  *rules
	engine Engine
	client *http.Client
}

func newSearch(r *rules, e Engine) (tools.Tool, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	s := &search{rules: r, engine: e, client: engineClient()}
	return tools.New(tools.Spec{
		Name: "web_search", Toolset: toolset, Description: searchDescription, Risk: tools.ReadOnly,
		Parallel: true, Ranged: true, Untrusted: true, Preview: previewQuery,
	}, s.call)
}

func previewQuery(raw json.RawMessage) string {
	var a searchArguments
	_ = json.Unmarshal(raw, &a) // it matches the schema
	return a.Query
}

func (s *search) call(ctx context.Context, _ tools.Scope, a searchArguments) (tools.Result, error) {
	query := oneLine(a.Query)
	switch {
	case query == "":
		return tools.Wrongf("The query is empty."), nil
	case utf8.RuneCountInString(query) > maxQuery:
		return tools.Wrongf("The query has more than %d characters. Look for a few words.", maxQuery), nil
	case s.rules.leaks(query):
		return tools.Result{Text: "The query holds a secret of this assistant, which must not be sent anywhere.", Failed: true, Class: tools.FailPermission}, nil
	}
	limit := usualHits
	if a.Limit > 0 {
		limit = min(a.Limit, mostHits)
	}
	hits, err := s.engine.ask(ctx, s.client, query, limit)
	if err != nil {
		return tools.Result{}, err
	}
	if len(hits) == 0 {
		return tools.Result{Text: "Nothing was found. Try other or fewer words."}, nil
	}
	var b strings.Builder
	for i, h := range hits[:min(limit, len(hits))] {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, h.title, h.url)
		if h.snippet != "" {
			fmt.Fprintf(&b, "   %s\n", h.snippet)
		}
	}
	return tools.Result{Text: b.String()}, nil
}
