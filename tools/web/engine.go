package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/talaria-agent/talaria/tools"
)

const engineTimeout = 20 * time.Second

// The engines that can be asked.
const (
	SearXNG = "searxng" // https://docs.searxng.org/dev/search_api.html; its settings must allow the format json
	Brave   = "brave"   // https://api-dashboard.search.brave.com/app/documentation/web-search
	Tavily  = "tavily"  // https://docs.tavily.com/documentation/api-reference/endpoint/search
)

// Engine is a search engine. The operator chose it, so it may be on a private network.
type Engine struct {
	Name string // empty = none
	URL  string // of its API; empty = the maker's own
	Key  string
}

// Check says what is missing for the engine to be asked.
func (e Engine) Check() error {
	switch e.Name {
	case SearXNG:
		if e.URL == "" {
			return errors.New("SearXNG needs the address of an instance")
		}
	case Brave, Tavily:
		if e.Key == "" {
			return errors.New("the engine needs an API key")
		}
	default:
		return fmt.Errorf("there is no engine %q", e.Name)
	}
	return nil
}

// engineClient returns a client that goes where it is told and nowhere else.
func engineClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{MaxResponseHeaderBytes: maxHeader, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       engineTimeout,
	}
}

// request makes the request for a search.
func (e Engine) request(ctx context.Context, query string, limit int) (*http.Request, error) {
	base := e.URL
	get := func(path string, values url.Values) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+path+"?"+values.Encode(), nil)
	}
	switch e.Name {
	case SearXNG:
		req, err := get("/search", url.Values{"q": {query}, "format": {"json"}})
		if err == nil && e.Key != "" {
			req.Header.Set("Authorization", "Bearer "+e.Key)
		}
		return req, err
	case Brave:
		if base == "" {
			base = "https://api.search.brave.com/res/v1"
		}
		req, err := get("/web/search", url.Values{"q": {query}, "count": {strconv.Itoa(limit)}, "text_decorations": {"false"}})
		if err == nil {
			req.Header.Set("X-Subscription-Token", e.Key)
		}
		return req, err
	}
	if base == "" {
		base = "https://api.tavily.com"
	}
	body, err := json.Marshal(map[string]any{"query": query, "max_results": limit})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(base, "/")+"/search", bytes.NewReader(body))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	return req, err
}

// hit is one result of a search.
type hit struct{ title, url, snippet string }

// ask asks the engine.
func (e Engine) ask(ctx context.Context, client *http.Client, query string, limit int) ([]hit, error) {
	req, err := e.request(ctx, query, limit)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", e.Name, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	res, err := client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) { // without the address, which is nobody's business
			err = at.Err
		}
		return nil, fmt.Errorf("ask %s: %w", e.Name, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, e.trouble(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", e.Name, err)
	}
	return e.hits(body)
}

// trouble says what an answer other than success means.
func (e Engine) trouble(res *http.Response) error {
	t := &tools.Trouble{Class: tools.FailTool, Harmless: true, Err: fmt.Errorf("%s answers: %w", e.Name, statusError{res.StatusCode})}
	switch code := res.StatusCode; {
	case code == http.StatusTooManyRequests:
		t.Class = tools.FailRateLimit
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
			t.Wait = time.Duration(s) * time.Second
		}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		t.Class = tools.FailPermission
	case code >= 500:
		t.Class = tools.FailUnreachable
	}
	return t
}

// hits reads an answer. SearXNG and Tavily have the results at the top, Brave has them under "web".
func (e Engine) hits(body []byte) ([]hit, error) {
	type result struct{ Title, URL, Content, Description string }
	var answer struct {
		Results []result
		Web     struct{ Results []result }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%s did not answer in JSON", e.Name)
	}
	var all []hit
	for _, r := range append(answer.Results, answer.Web.Results...) {
		snippet := []rune(plainText(r.Content + r.Description))
		if len(snippet) > snippetSize {
			snippet = append(snippet[:snippetSize], '…')
		}
		all = append(all, hit{plainText(r.Title), oneLine(r.URL), string(snippet)})
	}
	return all, nil
}

// plainText takes the tags out of a piece of HTML and puts it on one line.
func plainText(piece string) string {
	var b strings.Builder
	for z := html.NewTokenizer(strings.NewReader(piece)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return oneLine(b.String())
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}
