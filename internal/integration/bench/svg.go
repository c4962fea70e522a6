package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"strings"
)

// The size of a chart in an SVG file, and of what is around its axes.
const (
	chartWidth, chartHeight              = 640, 400
	chartLeft, chartRight                = 84, 190
	chartTop, chartBottom                = 34, 44
	plotWidth, plotHeight                = chartWidth - chartLeft - chartRight, chartHeight - chartTop - chartBottom
	legendLine                           = 15
	columns                              = 2
	axisColour, gridColour, textFontSize = "#555", "#ddd", 11
)

// colours are told apart by most people; the dashes change when they are used up.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// A chart is the points of one plot on two logarithmic axes.
type chart struct {
	title string
	unit  string
	lines []polyline
	x, y  axis
}

// A polyline is one lock's points, by rising number.
type polyline struct {
	name   string
	points [][2]float64
}

// An axis reaches over whole powers of ten.
type axis struct{ low, high float64 }

func (a *axis) include(v float64) {
	if a.low == 0 {
		a.low, a.high = v, v
	}
	a.low, a.high = min(a.low, v), max(a.high, v)
}

// whole widens a to powers of ten.
func (a *axis) whole() {
	a.low = math.Pow(10, math.Floor(math.Log10(a.low)))
	a.high = math.Pow(10, math.Ceil(math.Log10(a.high)))
	if a.low == a.high {
		a.high *= 10
	}
}

// at is where v is on a, from 0 to 1.
func (a axis) at(v float64) float64 {
	return math.Log(v/a.low) / math.Log(a.high/a.low)
}

// charts makes one of each plot. What is not above 0 has no place on such an axis and is
// left out.
func charts(lines []line) (all []chart) {
	for _, name := range plots(lines) {
		c := chart{title: name}
		for _, l := range lines {
			if l.Plot == name && l.Value > 0 {
				c.add(l)
			}
		}
		if len(c.lines) > 0 {
			c.x.whole()
			c.y.whole()
			all = append(all, c)
		}
	}
	return all
}

func (c *chart) add(l line) {
	c.unit = l.Unit
	c.x.include(float64(l.At))
	c.y.include(l.Value)
	point := [2]float64{float64(l.At), l.Value}
	for i := range c.lines {
		if c.lines[i].name == l.name() {
			c.lines[i].points = append(c.lines[i].points, point)
			return
		}
	}
	c.lines = append(c.lines, polyline{l.name(), [][2]float64{point}})
}

// writeSVG draws the plots of lines into file.
func writeSVG(file string, lines []line) error {
	return os.WriteFile(file, []byte(drawn(lines)), 0o644)
}

func drawn(lines []line) string {
	all := charts(lines)
	rows := (len(all) + columns - 1) / columns
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="%d">`+"\n",
		columns*chartWidth, rows*chartHeight, textFontSize)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", columns*chartWidth, rows*chartHeight)
	for i, c := range all {
		fmt.Fprintf(&b, `<g transform="translate(%d,%d)">`+"\n", i%columns*chartWidth, i/columns*chartHeight)
		c.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// place returns where the point is on the drawing.
func (c chart) place(x, y float64) (px, py float64) {
	return chartLeft + c.x.at(x)*plotWidth, chartTop + (1-c.y.at(y))*plotHeight
}

func (c chart) draw(b *strings.Builder) {
	text(b, chartLeft, chartTop-14, "start", `font-weight="bold" font-size="13"`, c.title)
	scale := line{Unit: c.unit}
	for v := c.x.low; v <= c.x.high*1.01; v *= 10 {
		x, _ := c.place(v, c.y.low)
		rule(b, x, chartTop, x, chartTop+plotHeight, gridColour)
		text(b, x, chartTop+plotHeight+18, "middle", "", fmt.Sprintf("%.0f", v))
	}
	for v := c.y.low; v <= c.y.high*1.01; v *= 10 {
		_, y := c.place(c.x.low, v)
		rule(b, chartLeft, y, chartLeft+plotWidth, y, gridColour)
		text(b, chartLeft-8, y+4, "end", "", scale.value(v))
	}
	rule(b, chartLeft, chartTop+plotHeight, chartLeft+plotWidth, chartTop+plotHeight, axisColour)
	rule(b, chartLeft, chartTop, chartLeft, chartTop+plotHeight, axisColour)
	for i, l := range c.lines {
		c.drawLine(b, i, l)
	}
}

// drawLine draws l and its line of the legend.
func (c chart) drawLine(b *strings.Builder, i int, l polyline) {
	style := fmt.Sprintf(`stroke="%s" stroke-width="2" fill="none"`, colours[i%len(colours)])
	if i >= len(colours) {
		style += fmt.Sprintf(` stroke-dasharray="%d 3"`, 2+4*(i/len(colours)))
	}
	var points []string
	for _, p := range l.points {
		x, y := c.place(p[0], p[1])
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", x, y, colours[i%len(colours)])
	}
	fmt.Fprintf(b, `<polyline points="%s" %s/>`+"\n", strings.Join(points, " "), style)
	x, y := float64(chartLeft+plotWidth+12), float64(chartTop+8+legendLine*i)
	fmt.Fprintf(b, `<polyline points="%.1f,%.1f %.1f,%.1f" %s/>`+"\n", x, y, x+18, y, style)
	text(b, x+23, y+4, "start", `font-size="10"`, l.name)
}

func rule(b *strings.Builder, x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
}

func text(b *strings.Builder, x, y float64, anchor, more, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" %s>`, x, y, anchor, more)
	_ = xml.EscapeText(b, []byte(s)) // a Builder takes all
	b.WriteString("</text>\n")
}
