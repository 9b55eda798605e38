package ops

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	shownSeries = 20
	curveWidth  = 40 // characters
)

// digest looks at all series and puts those first that matter most: they changed most, or have the highest value.
func (a *answer) digest(q query) (all []digested) {
	for _, s := range a.series {
		all = append(all, s.digest(q.step))
	}
	slices.SortStableFunc(all, func(x, y digested) int {
		if a.ranged() {
			return cmp.Compare(y.spread(), x.spread())
		}
		return cmp.Compare(y.last.value, x.last.value) // NaN is less than any number
	})
	return all
}

// ranged tells whether there are series over time, and not only values of one moment.
func (a *answer) ranged() bool {
	return slices.ContainsFunc(a.series, func(s series) bool { return len(s.points) > 1 })
}

// summary writes an answer down for the model, each series in a few lines.
func (a *answer) summary(q query, all []digested) string {
	var b strings.Builder
	if a.plain != "" {
		fmt.Fprintf(&b, "%s\n", a.plain)
	}
	ranged := a.ranged()
	for _, d := range all[:min(len(all), shownSeries)] {
		if ranged {
			b.WriteString(d.describe())
		} else {
			b.WriteString(d.moment())
		}
	}
	fmt.Fprintf(&b, "[%d series", len(all))
	if q.step > 0 {
		fmt.Fprintf(&b, ", %s to %s, a point each %s", clock(q.from), clock(q.to), q.step)
	} else {
		fmt.Fprintf(&b, " at %s", clock(q.to))
	}
	if left := len(all) - shownSeries; left > 0 {
		order := "the highest values"
		if ranged {
			order = "the greatest changes"
		}
		fmt.Fprintf(&b, "; %d are shown, those with %s, and %d left out: aggregate, or use topk", shownSeries, order, left)
	}
	for _, w := range a.warnings {
		fmt.Fprintf(&b, "; warning: %s", w)
	}
	return b.String() + "]"
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// digested is a series, looked at.
type digested struct {
	series
	low, high, first, last point
	average                float64
	before, after          point // of the greatest change between two neighbours
	numbers                int   // points that are numbers
	gaps                   int   // points that a scrape should have made
	curve                  string
}

func (s series) digest(step time.Duration) digested {
	d := digested{series: s}
	if len(s.points) > 0 {
		d.last = s.points[len(s.points)-1]
	}
	sum := 0.0
	var previous point
	for i, p := range s.points {
		if step > 0 && i > 0 {
			d.gaps += max(0, int(math.Round(float64(p.at.Sub(s.points[i-1].at))/float64(step)))-1)
		}
		if math.IsNaN(p.value) || math.IsInf(p.value, 0) {
			continue
		}
		d.numbers++
		sum += p.value
		if d.numbers == 1 {
			d.low, d.high, d.first = p, p, p
		} else if math.Abs(p.value-previous.value) > math.Abs(d.after.value-d.before.value) {
			d.before, d.after = previous, p
		}
		if p.value < d.low.value {
			d.low = p
		}
		if p.value > d.high.value {
			d.high = p
		}
		previous = p
	}
	if d.numbers > 0 {
		d.average, d.last = sum/float64(d.numbers), previous
	}
	d.curve = curve(s.points, step, d.low.value, d.high.value)
	return d
}

func (d digested) spread() float64 { return d.high.value - d.low.value }

// describe tells how a series went.
func (d digested) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", d.labels)
	switch {
	case d.numbers == 0 && d.histograms > 0:
		fmt.Fprintf(&b, "  %d native histograms; ask for histogram_quantile(0.9, ...) of it\n", d.histograms)
		return b.String()
	case d.numbers == 0:
		fmt.Fprintf(&b, "  %s, none a number (NaN: nothing divided by nothing, or no data)\n", count(len(d.points), "point"))
		return b.String()
	case d.spread() == 0:
		fmt.Fprintf(&b, "  always %s, from %s to %s", number(d.last.value), clock(d.first.at), clock(d.last.at))
	default:
		fmt.Fprintf(&b, "  min %s at %s, max %s at %s, avg %s, last %s at %s\n", number(d.low.value), clock(d.low.at), number(d.high.value), clock(d.high.at),
			number(d.average), number(d.last.value), clock(d.last.at))
		fmt.Fprintf(&b, "  changed most from %s to %s at %s\n", number(d.before.value), number(d.after.value), clock(d.after.at))
		fmt.Fprintf(&b, "  %s %d points", d.curve, d.numbers)
	}
	if bad := len(d.points) - d.numbers; bad > 0 {
		fmt.Fprintf(&b, ", %d more are no numbers (NaN or Inf)", bad)
	}
	if d.gaps > 0 {
		fmt.Fprintf(&b, ", %d missing in between: it was not scraped", d.gaps)
	}
	b.WriteByte('\n')
	return b.String()
}

// moment tells the one value of a series.
func (d digested) moment() string {
	if len(d.points) == 0 {
		return fmt.Sprintf("%s a native histogram; ask for histogram_quantile(0.9, ...) of it\n", d.labels)
	}
	return fmt.Sprintf("%s %s\n", d.labels, number(d.points[0].value))
}

// number writes a value with at most six digits.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// curve draws points as a row of characters, the highest where several fall together. Where there is no number there is a
// blank.
func curve(points []point, step time.Duration, low, high float64) string {
	if len(points) < 2 || high == low {
		return ""
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	begin, span := points[0].at, points[len(points)-1].at.Sub(points[0].at)
	width := min(curveWidth, len(points))
	if step > 0 {
		width = min(curveWidth, int(span/step)+1)
	}
	highest := make([]float64, width)
	for i := range highest {
		highest[i] = math.NaN()
	}
	for _, p := range points {
		i := int(math.Round(float64(width-1) * float64(p.at.Sub(begin)) / float64(span)))
		if !math.IsNaN(p.value) && !math.IsInf(p.value, 0) && !(highest[i] >= p.value) {
			highest[i] = p.value
		}
	}
	row := make([]rune, width)
	for i, v := range highest {
		if row[i] = ' '; !math.IsNaN(v) {
			row[i] = bars[int(math.Round((v-low)/(high-low)*float64(len(bars)-1)))]
		}
	}
	return string(row)
}
