package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/talaria-agent/talaria/tools"
)

const (
	longAddress = 400     // bytes behind the host from which on a person is asked
	askFrom     = 8_000   // characters of a page from which on a question is answered by the reader
	readerLimit = 200_000 // characters that the reader gets
)

type extractArguments struct {
	URL      string `json:"url" jsonschema:"the page, with http:// or https://"`
	Offset   int    `json:"offset,omitempty" jsonschema:"the character to begin at, as the part before said; default 0"`
	Full     bool   `json:"full,omitempty" jsonschema:"the whole page with menus and lists, if the article alone lacks what you look for"`
	Question string `json:"question,omitempty" jsonschema:"what you want to know; of a long page you then get the answer instead of the text"`
}

// extract is web_extract.
type extract struct {
	rules  *rules
	client *http.Client
	reader tools.Describer // nil = none
	shelf  shelf

	reading chan struct{} // full while a PDF is being read
}

func newExtract(r *rules, client *http.Client, reader tools.Describer) (tools.Tool, error) {
	x := &extract{rules: r, client: client, reader: reader, reading: make(chan struct{}, 1)}
	tool, err := tools.New(tools.Spec{
		Name: "web_extract", Toolset: toolset, Description: extractDescription, Risk: tools.ReadOnly,
		Parallel: true, Ranged: true, Untrusted: true, Judge: x.judge, Preview: previewURL,
	}, x.call)
	if err == nil && reader == nil {
		delete(tool.Spec().Schema.Properties, "question")
	}
	return tool, err
}

// judge asks a person about addresses that are long enough to carry away what was said in the conversation: a page that
// was read before may have told the model to write it into one.
func (x *extract) judge(scope tools.Scope, raw json.RawMessage) tools.Judgement {
	var a extractArguments
	if json.Unmarshal(raw, &a) != nil {
		return tools.Judgement{Verdict: tools.Allow}
	}
	u, err := x.rules.parse(a.URL)
	if err != nil || x.rules.trusted(u.Hostname()) || len(u.RequestURI()) <= longAddress {
		return tools.Judgement{Verdict: tools.Allow} // what may not be fetched at all, the call says
	}
	return tools.Judgement{
		Verdict: tools.AskFirst, Rule: tools.Rule("web_extract", u.String()),
		Reason: fmt.Sprintf("The address has %d characters behind its host: enough to tell %s what was said here.", len(u.RequestURI()), u.Hostname()),
	}
}

func previewURL(raw json.RawMessage) string {
	var a extractArguments
	_ = json.Unmarshal(raw, &a) // it matches the schema
	return a.URL
}

func (x *extract) call(ctx context.Context, scope tools.Scope, a extractArguments) (tools.Result, error) {
	u, err := x.rules.parse(a.URL)
	if err != nil {
		return tools.Result{Text: err.Error(), Failed: true, Class: tools.FailPermission}, nil
	}
	b := book{conversation: scope.Conversation, address: u.String(), full: a.Full}
	p, known := page{}, false
	if a.Offset > 0 {
		p, known = x.shelf.find(b)
	}
	if !known {
		f, err := fetch(ctx, x.client, u)
		if err != nil {
			return explain(ctx, u, err)
		}
		var cannot refusal
		if p, err = x.newPage(ctx, f, a.Full); errors.As(err, &cannot) {
			return tools.Wrongf("%s was found. %s", p.address, cannot), nil
		} else if err != nil {
			return tools.Result{}, err
		}
		b.page = p
		x.shelf.put(b)
	}
	switch {
	case len(p.text) == 0:
		return tools.Result{Text: p.head() + "(The page has no text. It may be one that only a browser can show.)"}, nil
	case a.Offset < 0 || a.Offset >= len(p.text):
		return tools.Wrongf("The page has only %d characters; offset %d is behind its end.", len(p.text), a.Offset), nil
	case a.Question != "" && x.reader != nil && len(p.text) > askFrom:
		return x.answer(ctx, p, a)
	}
	return tools.Result{Text: p.part(a.Offset)}, nil
}

// newPage makes a page of what was fetched. PDFs are read one at a time, because each takes much memory.
func (x *extract) newPage(ctx context.Context, f fetched, full bool) (page, error) {
	if f.media == "application/pdf" {
		select {
		case x.reading <- struct{}{}:
			defer func() { <-x.reading }()
		case <-ctx.Done():
			return page{}, context.Cause(ctx)
		}
	}
	return newPage(ctx, f, full)
}

// answer has a question about a page answered. If that does not work, the page is there all the same.
func (x *extract) answer(ctx context.Context, p page, a extractArguments) (tools.Result, error) {
	text := p.text[a.Offset:]
	rest := ""
	if len(text) > readerLimit {
		text = text[:readerLimit]
		rest = fmt.Sprintf("; for what comes behind, ask with offset %d", a.Offset+readerLimit)
	}
	answer, err := x.reader.Describe(ctx, a.Question, tools.Part{Text: p.head() + string(text)})
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, context.Cause(ctx)
	case err != nil:
		return tools.Result{Text: "[The question could not be answered, so here is the page.]\n" + p.part(a.Offset)}, nil
	}
	return tools.Result{Text: fmt.Sprintf("%s%s\n\n[an answer from characters %d to %d of %d%s; without a question you get the text itself]",
		p.head(), answer, a.Offset, a.Offset+len(text), len(p.text), rest)}, nil
}
