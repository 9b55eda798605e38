package ops

import (
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMetrics asks a server that answers as Prometheus documents it.
func TestMetrics(t *testing.T) {
	answers := map[string]string{
		"up":     `{"resultType":"vector","result":[{"metric":{"__name__":"up","job":"b"},"value":[1777636800,"1"]},{"metric":{"__name__":"up","job":"a"},"value":[1777636800,"NaN"]}]}`,
		"1+1":    `{"resultType":"scalar","result":[1777636800,"2"]}`,
		"absent": `{"resultType":"vector","result":[]}`,
		"pool": `{"resultType":"matrix","result":[
			{"metric":{"__name__":"pool","db":"quiet"},"values":[[1777636800,"3"],[1777636860,"3"]]},
			{"metric":{"__name__":"pool","db":"main"},"values":[[1777636800,"12"],[1777636860,"14.5"],[1777636920,"NaN"],[1777637040,"100"],[1777637100,"90"]]},
			{"metric":{"__name__":"pool","db":"dead"},"values":[[1777636800,"NaN"]]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer canary" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fail := func(status int, kind, text string) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"status":"error","errorType":%q,"error":%q}`, kind, text)
		}
		switch query := r.FormValue("query"); {
		case r.URL.Path == "/prom/api/v1/label/__name__/values":
			fmt.Fprint(w, `{"status":"success","data":["up","pg_connections"]}`)
		case query == "raet(x[5m])":
			fail(400, "bad_data", `invalid parameter "query": 1:1: parse error: unknown function with name "raet"`)
		case query == "rate(x)":
			fail(400, "bad_data", `1:6: parse error: expected type range vector in call to function "rate", got instant vector`)
		case query == "sum(x":
			fail(400, "bad_data", `1:6: parse error: unclosed left parenthesis`)
		case query == "slow":
			fail(503, "timeout", "query timed out in expression evaluation")
		case query == "moved":
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
		case query == "many":
			var all []string
			for i := range 30 {
				all = append(all, fmt.Sprintf(`{"metric":{"i":"%d"},"value":[1777636800,"%d"]}`, i, i))
			}
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]},"warnings":["careful"]}`, strings.Join(all, ","))
		case strings.HasPrefix(query, "pg_"):
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
		case query == "pool" && (r.FormValue("start") != "1777636800.000" || r.FormValue("end") != "1777637100.000" || r.FormValue("step") != "60"):
			fail(400, "bad_data", fmt.Sprint("another window: ", r.Form))
		default:
			fmt.Fprintf(w, `{"status":"success","data":%s}`, answers[query])
		}
	}))
	defer server.Close()
	b := newBench(t, Options{Prometheus: server.URL + "/prom/", Token: "canary"})
	b.want("query_metrics", `{"query":"up","until":"2026-05-01T12:00:00Z"}`, "up{job=\"b\"} 1\nup{job=\"a\"} NaN\n[2 series at 2026-05-01T12:00:00Z]")
	b.want("query_metrics", `{"query":"1+1","until":"2026-05-01T12:00:00Z"}`, "2\n[0 series at 2026-05-01T12:00:00Z]")
	b.want("query_metrics", `{"query":"pool","since":"2026-05-01T12:00:00Z","until":"2026-05-01T12:05:00Z","step":"1m","chart":true}`, `pool{db="main"}
  min 12 at 2026-05-01T12:00:00Z, max 100 at 2026-05-01T12:04:00Z, avg 54.125, last 90 at 2026-05-01T12:05:00Z
  changed most from 14.5 to 100 at 2026-05-01T12:04:00Z
  ▁▁  █▇ 4 points, 1 more are no numbers (NaN or Inf), 1 missing in between: it was not scraped
pool{db="quiet"}
  always 3, from 2026-05-01T12:00:00Z to 2026-05-01T12:01:00Z
pool{db="dead"}
  1 point, none a number (NaN: nothing divided by nothing, or no data)
[3 series, 2026-05-01T12:00:00Z to 2026-05-01T12:05:00Z, a point each 1m0s]
A chart of 2 series is in the work folder as charts/chart-1.png.`)
	file, err := os.Open(filepath.Join(b.scope.Work, "charts/chart-1.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if picture, err := png.Decode(file); err != nil || picture.Bounds().Dx() != chartWidth {
		t.Errorf("the chart: %v", err)
	}
	b.has("query_metrics", `{"query":"many"}`, `{i="29"} 29`, "20 are shown, those with the highest values, and 10 left out", "warning: careful")
	b.has("query_metrics", `{"query":"pg_conections"}`, "There is no metric pg_conections; did you mean pg_connections?")
	b.has("query_metrics", `{"query":"pg_connections{a=\"pg_x\"}"}`, "Check the labels")

	b.fails("query_metrics", `{"query":"raet(x[5m])"}`, "unknown function", "Instead of raet write rate")
	b.fails("query_metrics", `{"query":"rate(x)"}`, "x_total[5m]")
	b.fails("query_metrics", `{"query":"sum(x"}`, "something is not closed")
	b.fails("query_metrics", `{"query":"slow"}`, "503", "timed out")
	b.fails("query_metrics", `{"query":"moved"}`, "put that into ops.prometheus")
	b.fails("query_metrics", `{"query":""}`, "PromQL of 1 to")
	b.fails("query_metrics", `{"query":"x","since":"a while ago"}`, "not a point in time")
	b.fails("query_metrics", `{"query":"x","step":"5m"}`, "has no begin")
	b.fails("query_metrics", `{"query":"x","since":"1h","step":"soon"}`, "not a length of time")
	b.fails("query_metrics", `{"query":"x","since":"30d","step":"1s"}`, "makes 2592000 points", "Use 6h0m0s")
	b.tools = newBench(t, Options{Prometheus: server.URL, Token: "wrong"}).tools
	if got, _ := b.call("query_metrics", `{"query":"up"}`); !strings.Contains(got, "403") || strings.Contains(got, "wrong") {
		t.Error(got)
	}
}

func TestMetricNames(t *testing.T) {
	for query, want := range map[string][]string{
		`sum by (instance) (rate(http_requests_total{code=~"5.."}[5m])) / on(job) group_left up`: {"http_requests_total", "up"},
		`histogram_quantile(0.9, sum(rate(x_bucket[5m])) by (le)) > 1e3`:                         {"x_bucket"},
		`a:b:rate5m offset 5m and x`: {"a:b:rate5m", "x"},
		`{__name__="x"}`:             nil,
	} {
		if d := cmp.Diff(want, metricNames(query)); d != "" {
			t.Errorf("%s: %s", query, d)
		}
	}
}
