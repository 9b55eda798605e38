package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/tools"
)

// searcher makes web_search over a server.
func searcher(t *testing.T, name string, handler http.HandlerFunc) tools.Tool {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	set, err := New(Options{Engine: Engine{Name: name, URL: server.URL + "/", Key: "the-key"}})
	if err != nil {
		t.Fatal(err)
	}
	return set[1]
}

func TestEngines(t *testing.T) {
	const want = "1. Go & more\n   https://go.dev/\n   The Go programming language\n2. Second\n   https://b.example/\n"
	results := func(text string) string {
		return `[{"title": "Go &amp; more", "url": "https://go.dev/", "` + text + `": "The <strong>Go</strong>\nprogramming language"},
			{"title": "Second", "url": "https://b.example/"}, {"title": "Third", "url": "https://c.example/"}]`
	}
	for name, c := range map[string]struct{ method, address, header, value, body, answer string }{
		SearXNG: {"GET", "/search?format=json&q=go+%26+more", "Authorization", "Bearer the-key", "", `{"results": ` + results("content") + `}`},
		Brave:   {"GET", "/web/search?count=2&q=go+%26+more&text_decorations=false", "X-Subscription-Token", "the-key", "", `{"web": {"results": ` + results("description") + `}}`},
		Tavily:  {"POST", "/search", "Authorization", "Bearer the-key", `{"max_results":2,"query":"go \u0026 more"}`, `{"results": ` + results("content") + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			tool := searcher(t, name, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				got := []string{r.Method, r.URL.RequestURI(), r.Header.Get(c.header), string(body)}
				if diff := cmp.Diff([]string{c.method, c.address, c.value, c.body}, got); diff != "" {
					t.Errorf("the request (-want +got):\n%s", diff)
				}
				_, _ = io.WriteString(w, c.answer)
			})
			if diff := cmp.Diff(tools.Result{Text: want}, call(t, tool, map[string]any{"query": " go  & more", "limit": 2})); diff != "" {
				t.Errorf("the result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEngineTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		class   tools.Failure
		wait    time.Duration
	}{
		"wrong key": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, tools.FailPermission, 0},
		"too many": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(429)
		}, tools.FailRateLimit, 3 * time.Second},
		"down": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, tools.FailUnreachable, 0},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, tools.FailTool, 0},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, tools.FailTool, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tool := searcher(t, Brave, c.handler)
			_, err := tool.Call(t.Context(), here, json.RawMessage(`{"query": "something private"}`))
			if err == nil {
				t.Fatal("no error")
			}
			class, _ := tools.Classify(err, tools.ReadOnly)
			var trouble *tools.Trouble
			if class != c.class || errors.As(err, &trouble) && trouble.Wait != c.wait {
				t.Errorf("%+v is %s", err, class)
			}
			if text := err.Error(); strings.Contains(text, "the-key") || strings.Contains(text, "127.0.0.1") {
				t.Errorf("the error says too much: %s", text)
			}
		})
	}
}

func TestSearchArguments(t *testing.T) {
	tool := searcher(t, Tavily, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	for query, want := range map[string]string{
		" ": "empty", strings.Repeat("é", maxQuery+1): "more than 400", strings.Repeat("é", maxQuery): "Nothing was found",
	} {
		if r := call(t, tool, map[string]any{"query": query}); !strings.Contains(r.Text, want) {
			t.Errorf("%.20s: %+v", query, r)
		}
	}
}

func TestEngineCheck(t *testing.T) {
	for e, ok := range map[Engine]bool{
		{Name: SearXNG}: false, {Name: SearXNG, URL: "http://s"}: true, {Name: Brave}: false, {Name: Brave, Key: "k"}: true,
		{Name: Tavily, Key: "k"}: true, {Name: "altavista", Key: "k"}: false,
	} {
		if err := e.Check(); (err == nil) != ok {
			t.Errorf("%+v: %v", e, err)
		}
	}
	set, err := New(Options{})
	if err != nil || len(set) != 1 {
		t.Errorf("without an engine there are %d tools, error %v", len(set), err)
	}
	for _, transport := range []*http.Transport{engineClient().Transport.(*http.Transport), newTransport(nil, nil, nil)} {
		if transport.Proxy != nil {
			t.Error("a proxy of the environment would be used")
		}
	}
}
