package ops

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"math"
	"os"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/talaria-agent/talaria/tools"
)

// The chart, in pixels.
const (
	chartWidth, chartHeight         = 960, 400
	chartLeft, chartRight, chartTop = 80, 20, 20
	chartBottom                     = 30
	legendLine                      = 16
	chartSeries                     = 6 // drawn
	chartsFolder                    = "charts"
	maxCharts                       = 1000 // in one folder
)

// chartColors can be told apart by those who see no red or no green, too (Okabe and Ito's).
var chartColors = [chartSeries]color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255},
}

// chart draws series over a window of time.
type chart struct {
	*image.RGBA
	q         query
	low, high float64
}

// saveChart draws the series that changed most into a new file of the work folder, and says so.
func saveChart(scope tools.Scope, q query, all []digested) string {
	var drawn []digested
	for _, d := range all {
		if d.numbers > 0 && len(drawn) < chartSeries {
			drawn = append(drawn, d)
		}
	}
	if len(drawn) == 0 {
		return "There is nothing to draw."
	}
	var picture bytes.Buffer
	err := png.Encode(&picture, newChart(q, drawn))
	name := ""
	if err == nil {
		name, err = putChart(scope.Work, picture.Bytes())
	}
	if err != nil {
		return fmt.Sprintf("The chart could not be written: %v.", err)
	}
	return fmt.Sprintf("A chart of %d series is in the work folder as %s.", len(drawn), name)
}

// putChart writes a file that was not there.
func putChart(work string, picture []byte) (string, error) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.MkdirAll(chartsFolder, 0o700); err != nil {
		return "", err
	}
	for n := range maxCharts {
		name := fmt.Sprintf("%s/chart-%d.png", chartsFolder, n+1)
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(picture)
		return name, errors.Join(err, file.Close())
	}
	return "", fmt.Errorf("there are %d charts already", maxCharts)
}

func newChart(q query, all []digested) *chart {
	height := chartHeight + legendLine*len(all)
	c := &chart{RGBA: image.NewRGBA(image.Rect(0, 0, chartWidth, height)), q: q, low: all[0].low.value, high: all[0].high.value}
	draw.Draw(c, c.Bounds(), image.White, image.Point{}, draw.Src)
	for _, d := range all {
		c.low, c.high = min(c.low, d.low.value), max(c.high, d.high.value)
	}
	if c.low == c.high {
		c.low, c.high = c.low-1, c.high+1
	}
	c.grid()
	for i, d := range all {
		c.series(d.points, chartColors[i])
		y := chartHeight + legendLine*i + legendLine/2
		c.line(chartLeft, y, chartLeft+20, y, chartColors[i])
		c.text(chartLeft+28, y+4, fmt.Sprintf("%.120s", d.labels))
	}
	return c
}

func (c *chart) x(t time.Time) int {
	share := float64(t.Sub(c.q.from)) / float64(c.q.to.Sub(c.q.from))
	return chartLeft + int(share*(chartWidth-chartLeft-chartRight))
}

func (c *chart) y(v float64) int {
	share := (v - c.low) / (c.high - c.low)
	return chartHeight - chartBottom - int(share*(chartHeight-chartTop-chartBottom))
}

// grid draws five lines each way, with what they stand for.
func (c *chart) grid() {
	const parts = 4
	grey := color.RGBA{220, 220, 220, 255}
	layout := "15:04:05"
	if c.q.to.Sub(c.q.from) > 24*time.Hour {
		layout = "01-02 15:04"
	}
	for i := range parts + 1 {
		v := c.low + (c.high-c.low)*float64(i)/parts
		c.line(chartLeft, c.y(v), chartWidth-chartRight, c.y(v), grey)
		c.text(4, c.y(v)+4, fmt.Sprintf("%10.5g", v))
		t := c.q.from.Add(c.q.to.Sub(c.q.from) * time.Duration(i) / parts)
		c.line(c.x(t), chartTop, c.x(t), chartHeight-chartBottom, grey)
		c.text(min(c.x(t)-28, chartWidth-90), chartHeight-chartBottom+16, t.UTC().Format(layout))
	}
}

// series joins points; where some are missing or no numbers the line is broken.
func (c *chart) series(points []point, ink color.RGBA) {
	for i, p := range points {
		if math.IsNaN(p.value) || math.IsInf(p.value, 0) {
			continue
		}
		from := p
		if i > 0 && p.at.Sub(points[i-1].at) <= c.q.step*3/2 && !math.IsNaN(points[i-1].value) && !math.IsInf(points[i-1].value, 0) {
			from = points[i-1]
		}
		c.line(c.x(from.at), c.y(from.value), c.x(p.at), c.y(p.value), ink)
		c.line(c.x(from.at), c.y(from.value)+1, c.x(p.at), c.y(p.value)+1, ink)
	}
}

func (c *chart) line(x0, y0, x1, y1 int, ink color.RGBA) {
	steps := max(1, x1-x0, x0-x1, y1-y0, y0-y1)
	for i := range steps + 1 {
		c.SetRGBA(x0+(x1-x0)*i/steps, y0+(y1-y0)*i/steps, ink)
	}
}

func (c *chart) text(x, y int, text string) {
	d := font.Drawer{Dst: c, Src: image.Black, Face: basicfont.Face7x13, Dot: fixed.P(x, y)}
	d.DrawString(text)
}
