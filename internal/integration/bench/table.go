package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// nanoseconds is the unit of times; the table shows them in a readable one.
const nanoseconds = "ns"

// ourName is the lock of a line that does not say another.
const ourName = "distlock"

// A line is one figure of the table.
type line struct {
	Scenario string  `json:"scenario"`
	Service  string  `json:"service,omitempty"` // where the scenario has several
	Lock     string  `json:"lock"`
	Figure   string  `json:"figure"`
	At       int     `json:"at,omitempty"`   // of how many leases or waiters
	Unit     string  `json:"unit,omitempty"` // none: a count
	Value    float64 `json:"value"`          // a median where there are quartiles
	// Quartiles are of the slices, between which the median is.
	Quartiles *spread `json:"quartiles,omitempty"`
	Floor     float64 `json:"beside,omitempty"` // 0: there is nothing beside
	Ratio     *spread `json:"ratio,omitempty"`
	Budget    *budget `json:"budget,omitempty"`
	// Failures of a peer, and what the last one said.
	Failures    int    `json:"failures,omitempty"`
	LastFailure string `json:"last_failure,omitempty"`
	// LeftOut is why there is no value.
	LeftOut string `json:"left_out,omitempty"`
	// Plot is the chart whose points have the same, by At.
	Plot string `json:"plot,omitempty"`
}

// A budget bounds a line's ratio if it has one, else its value.
type budget struct {
	Max float64 `json:"max"`
	Met bool    `json:"met"`
}

// atMost sets the budget.
func (l line) atMost(limit float64) line {
	v := l.Value
	if l.Ratio != nil {
		v = l.Ratio.Median
	}
	l.Budget = &budget{Max: limit, Met: v <= limit}
	return l
}

// of is a line of one record of times.
func of(figure string, r *record) line { return counted(figure, nanoseconds, r) }

// counted is a line of one record of something else.
func counted(figure, unit string, r *record) line {
	q := r.spread()
	return line{Figure: figure, Unit: unit, Value: q.Median, Quartiles: &q}
}

// compared is a line of two records.
func compared(figure string, ours, floor *record) line {
	l := of(figure, ours)
	ratio := ours.over(floor)
	l.Floor, l.Ratio = floor.median(), &ratio
	return l
}

// printTables prints the lines that have a plot by their number, and before them all
// others one by one, and what has failed after them.
func printTables(out io.Writer, lines []line) {
	fmt.Fprintln(out, "| scenario | figure | lock | measured | beside | ratio | budget |")
	fmt.Fprintln(out, "|---|---|---|---:|---:|---:|---:|")
	for _, l := range lines {
		if l.Plot == "" && l.LeftOut == "" {
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", strings.TrimSpace(l.Scenario+" "+l.Service),
				l.Figure, l.Lock, l.measured(), l.beside(), l.ratio(), l.budget())
		}
	}
	for _, name := range plots(lines) {
		printPlot(out, name, lines)
	}
	for _, l := range lines {
		if l.Failures > 0 {
			fmt.Fprintf(out, "\n- %d failures of %s: %s, %s: %s", l.Failures, l.name(), l.Scenario, l.Figure, l.at())
			fmt.Fprintf(out, "the last: %q\n", l.LastFailure)
		}
		if l.LeftOut != "" {
			fmt.Fprintf(out, "\n- Left out of %s: %s, %d: %q\n", l.Scenario, l.name(), l.At, l.LeftOut)
		}
	}
}

// plots lists the names of all plots, in order.
func plots(lines []line) (names []string) {
	for _, l := range lines {
		if l.Plot != "" && !slices.Contains(names, l.Plot) {
			names = append(names, l.Plot)
		}
	}
	return names
}

// printPlot prints one plot as a table: a row for each lock, a column for each number.
func printPlot(out io.Writer, name string, lines []line) {
	var locks []string
	var at []int
	cells := make(map[string]string)
	for _, l := range lines {
		if l.Plot != name {
			continue
		}
		if !slices.Contains(locks, l.name()) {
			locks = append(locks, l.name())
		}
		if !slices.Contains(at, l.At) {
			at = append(at, l.At)
		}
		cells[fmt.Sprint(l.name(), l.At)] = l.value(l.Value)
	}
	slices.Sort(at)
	fmt.Fprintf(out, "\n| %s |", name)
	for _, n := range at {
		fmt.Fprintf(out, " %d |", n)
	}
	fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---:|", len(at)))
	for _, lock := range locks {
		fmt.Fprintf(out, "| %s |", lock)
		for _, n := range at {
			fmt.Fprintf(out, " %s |", cells[fmt.Sprint(lock, n)])
		}
		fmt.Fprintln(out)
	}
}

// name is the lock's, with its service.
func (l line) name() string {
	return strings.TrimPrefix(l.Service+": "+l.Lock, ": ")
}

func (l line) at() string {
	if l.At == 0 {
		return ""
	}
	return fmt.Sprintf("%d, ", l.At)
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

// measured is the value, with its quartiles if it has some.
func (l line) measured() string {
	if l.Quartiles == nil {
		return l.value(l.Value)
	}
	return fmt.Sprintf("%s [%s–%s]", l.value(l.Value), l.value(l.Quartiles.Q1), l.value(l.Quartiles.Q3))
}

func (l line) beside() string {
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

func writeJSON(file string, about []string, lines []line) error {
	text, err := json.MarshalIndent(document{about, lines}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
