package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// nanoseconds is the unit of times; the table shows them in a readable one.
const nanoseconds = "ns"

// A line is one figure of the table.
type line struct {
	Scenario string  `json:"scenario"`
	Figure   string  `json:"figure"`
	Unit     string  `json:"unit,omitempty"` // none: a count
	Ours     float64 `json:"distlock"`
	Floor    float64 `json:"floor,omitempty"` // 0: there is none
	Ratio    *spread `json:"ratio,omitempty"`
	Budget   *budget `json:"budget,omitempty"`
}

// A budget bounds a line's ratio if it has one, else its value.
type budget struct {
	Max float64 `json:"max"`
	Met bool    `json:"met"`
}

// atMost sets the budget.
func (l line) atMost(limit float64) line {
	v := l.Ours
	if l.Ratio != nil {
		v = l.Ratio.Median
	}
	l.Budget = &budget{Max: limit, Met: v <= limit}
	return l
}

// compared is a line of two records.
func compared(figure string, ours, floor *record) line {
	ratio := ours.over(floor)
	return line{Figure: figure, Unit: nanoseconds, Ours: ours.median(), Floor: floor.median(), Ratio: &ratio}
}

func printTable(out io.Writer, lines []line) {
	fmt.Fprintln(out, "| scenario | figure | distlock | floor | ratio | budget |")
	fmt.Fprintln(out, "|---|---|---:|---:|---:|---:|")
	for _, l := range lines {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", l.Scenario, l.Figure,
			l.value(l.Ours), l.floor(), l.ratio(), l.budget())
	}
}

// value writes v with its unit.
func (l line) value(v float64) string {
	switch {
	case l.Unit != nanoseconds:
		return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, l.Unit))
	case v < 1e3:
		return fmt.Sprintf("%.3g ns", v)
	case v < 1e6:
		return fmt.Sprintf("%.4g µs", v/1e3)
	case v < 1e9:
		return fmt.Sprintf("%.4g ms", v/1e6)
	}
	return fmt.Sprintf("%.3g s", v/float64(time.Second))
}

func (l line) floor() string {
	if l.Floor == 0 {
		return ""
	}
	return l.value(l.Floor)
}

func (l line) ratio() string {
	if l.Ratio == nil {
		return ""
	}
	return fmt.Sprintf("%.2f [%.2f–%.2f]", l.Ratio.Median, l.Ratio.Q1, l.Ratio.Q3)
}

func (l line) budget() string {
	switch {
	case l.Budget == nil:
		return ""
	case l.Budget.Met:
		return l.limit() + " met"
	}
	return l.limit() + " **missed**"
}

// limit is the budget's bound, with the figure's unit if it is not one of a ratio.
func (l line) limit() string {
	if l.Ratio == nil && l.Unit == nanoseconds {
		return l.value(l.Budget.Max)
	}
	return fmt.Sprintf("%.4g", l.Budget.Max)
}

func writeJSON(file, about string, lines []line) error {
	text, err := json.MarshalIndent(struct {
		About string `json:"about"`
		Lines []line `json:"lines"`
	}{about, lines}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
