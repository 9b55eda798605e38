package ops

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/talaria-agent/talaria/tools"
)

// promFunctions are the functions and aggregations of PromQL.
var promFunctions = strings.Fields(`abs absent absent_over_time acos acosh asin asinh atan atanh avg avg_over_time bottomk ceil
changes clamp clamp_max clamp_min cos cosh count count_over_time count_values day_of_month day_of_week day_of_year days_in_month
deg delta deriv double_exponential_smoothing exp floor group histogram_avg histogram_count histogram_fraction histogram_quantile
histogram_stddev histogram_stdvar histogram_sum hour idelta increase info irate label_join label_replace last_over_time
limit_ratio limitk ln log10 log2 mad_over_time max max_over_time min min_over_time minute month pi predict_linear
present_over_time quantile quantile_over_time rad rate resets round scalar sgn sin sinh sort sort_by_label
sort_by_label_desc sort_desc sqrt stddev stddev_over_time stdvar stdvar_over_time sum sum_over_time tan tanh time timestamp topk
vector year`)

// promWords are words of PromQL that are no names.
var promWords = strings.Fields(`and or unless by without on ignoring group_left group_right offset bool inf nan start end atan2`)

var (
	promStrings = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`")
	promInner   = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on|ignoring|group_left|group_right) *\([^)]*\)`)
	promName    = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	promCall    = regexp.MustCompile(`[a-zA-Z_]\w* *\(`)
	position1   = regexp.MustCompile(`(\d+):(\d+): `)
)

// metricNames returns the names in a query that stand for metrics.
func metricNames(query string) (names []string) {
	query = promInner.ReplaceAllString(promStrings.ReplaceAllString(query, `""`), " ")
	for _, at := range promName.FindAllStringIndex(query, -1) {
		name := query[at[0]:at[1]]
		called := strings.HasPrefix(strings.TrimSpace(query[at[1]:]), "(")
		number := at[0] > 0 && query[at[0]-1] >= '0' && query[at[0]-1] <= '9' // the unit of an offset
		if called || number || slices.Contains(promWords, strings.ToLower(name)) || slices.Contains(promFunctions, name) || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// explain says, for the model, why its query was refused, and what to write instead if that can be told.
func (e *promError) explain(query string) tools.Result {
	text := fmt.Sprintf("The query was refused (%s): %s.", e.Type, strings.TrimSuffix(e.Message, "."))
	switch {
	case strings.Contains(e.Message, "unknown function"):
		for _, call := range promCall.FindAllString(query, -1) {
			name := strings.TrimRight(call, " (")
			if near := nearest(name, promFunctions); len(near) > 0 && !slices.Contains(promFunctions, name) {
				text += fmt.Sprintf(" Instead of %s write %s.", name, strings.Join(near, ", or "))
			}
		}
	case strings.Contains(e.Message, "expected type range vector"):
		text += " This function wants a stretch of time: put one in brackets behind the metric, like x_total[5m]."
	case strings.Contains(e.Message, "expected type instant vector"), strings.Contains(e.Message, "invalid expression type \"range vector\""):
		text += " A stretch of time in brackets stands only inside of a function like rate(x[5m]) or max_over_time(x[1h])."
	case strings.Contains(e.Message, "many-to-many"), strings.Contains(e.Message, "duplicate series"):
		text += " Both sides must have one series for each set of labels: aggregate one (sum by (instance) (...)), or match with on(...) group_left."
	case e.Type == "too large", strings.Contains(e.Message, "too many samples"), strings.Contains(e.Message, "maximum resolution"):
		text += " Aggregate, use a larger step, or ask for a shorter window."
	case strings.Contains(e.Message, "parse error"):
		if m := position1.FindStringSubmatch(e.Message); m != nil {
			text += pointAt(query, m[1], m[2])
		}
	}
	return tools.Wrongf("%s", text)
}

// pointAt quotes the query from where the parser stumbled.
func pointAt(query, line, column string) string {
	var l, c int
	if _, err := fmt.Sscan(line+" "+column, &l, &c); err != nil {
		return ""
	}
	lines := strings.Split(query, "\n")
	if l < 1 || l > len(lines) || c < 1 || c > len(lines[l-1]) {
		return " That is at the end of the query: something is not closed, or missing."
	}
	return fmt.Sprintf(" That is here: %q.", strings.ToValidUTF8(lines[l-1][c-1:min(len(lines[l-1]), c+39)], ""))
}
