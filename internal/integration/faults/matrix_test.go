package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A verdict is what holds when a fault strikes a backend.
type verdict int

const (
	// absent: the fault cannot strike, or cannot be staged; the note says why.
	absent verdict = iota
	// kept: the next grant does not come before the old lease's Deadline or its release.
	kept
	// fenced: it can, and a resource that checks tokens refuses the older one.
	fenced
	// limited: it can, and tokens do not tell. The note says what is left.
	limited
)

var verdicts = map[verdict]string{absent: "–", kept: "kept", fenced: "fence", limited: "limit"}

// A cell is one backend under one fault.
type cell struct {
	holds verdict
	test  string // what shows it
	note  string // why, unless it is kept
}

// A row is a fault and its cells.
type row struct {
	fault fault
	cells cells
}

// cells are those of a row, by backend.
type cells map[string]cell

// everywhere returns the same cell for all backends.
func everywhere(holds verdict, test, note string) cells {
	all := make(cells)
	for _, s := range services {
		all[s.name] = cell{holds, test, note}
	}
	return all
}

// but changes the cell of one backend, or of several with spaces between.
func (c cells) but(backends string, holds verdict, test, note string) cells {
	for name := range strings.FieldsSeq(backends) {
		c[name] = cell{holds, test, note}
	}
	return c
}

// cellOf returns a cell of the matrix.
func cellOf(backend string, f fault) (cell, bool) {
	i := slices.IndexFunc(matrix, func(r row) bool { return r.fault == f })
	if i < 0 {
		return cell{}, false
	}
	c, ok := matrix[i].cells[backend]
	return c, ok
}

// A proof is a cell that a test has run for.
type proof struct {
	backend string
	fault   fault
}

// proved are the cells whose tests have run, and whether all of them passed.
var proved struct {
	mu    sync.Mutex // guards cells
	cells map[proof]bool
}

// covers says that t is the test of a cell, and returns the cell. It ends the test if
// the matrix does not know it as that.
func covers(t *testing.T, backend string, f fault) cell {
	t.Helper()
	c, ok := cellOf(backend, f)
	if !ok || c.holds == absent || c.test != rootName(t) {
		t.Fatalf("the matrix has %q as the test of %s under %q", c.test, backend, f)
	}
	t.Cleanup(func() {
		proved.mu.Lock()
		defer proved.mu.Unlock()
		if proved.cells == nil {
			proved.cells = make(map[proof]bool)
		}
		p := proof{backend, f}
		before, again := proved.cells[p]
		proved.cells[p] = !t.Failed() && !t.Skipped() && (before || !again)
	})
	return c
}

// rootName is the name of the test function that t belongs to.
func rootName(t *testing.T) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return name
}

// forBackends runs test for each backend whose cell under f names the calling test, side
// by side.
func forBackends(t *testing.T, f fault, test func(*testing.T, *service, cell)) {
	ran := false
	for _, s := range services {
		c, _ := cellOf(s.name, f)
		if c.test != rootName(t) {
			continue
		}
		ran = true
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s, covers(t, s.name, f))
		})
	}
	if !ran {
		t.Fatalf("the matrix has no cell for it under %q", f)
	}
}

// unproved returns the cells whose tests have not run or not passed.
func unproved() (all []string) {
	proved.mu.Lock()
	defer proved.mu.Unlock()
	for _, r := range matrix {
		for _, s := range services {
			c := r.cells[s.name]
			passed, ran := proved.cells[proof{s.name, r.fault}]
			switch {
			case c.holds == absent, passed:
			case !ran:
				all = append(all, fmt.Sprintf("%s, %s: %s has not run", s.name, r.fault, c.test))
			default:
				all = append(all, fmt.Sprintf("%s, %s: %s has failed", s.name, r.fault, c.test))
			}
		}
	}
	return all
}

// matrixTable returns the matrix as Markdown, with its notes and the names of the tests.
func matrixTable() string {
	var b, tests strings.Builder
	var notes []string
	b.WriteString("| fault |")
	rule := "\n|---|"
	for _, s := range services {
		b.WriteString(" " + s.name + " |")
		rule += "---|"
	}
	b.WriteString(rule + "\n")
	for _, r := range matrix {
		fmt.Fprintf(&b, "| %s |", r.fault)
		var names []string
		for _, s := range services {
			c := r.cells[s.name]
			text := verdicts[c.holds]
			if c.note != "" {
				n := slices.Index(notes, c.note)
				if n < 0 {
					n, notes = len(notes), append(notes, c.note)
				}
				text += fmt.Sprintf(" (%d)", n+1)
			}
			b.WriteString(" " + text + " |")
			if c.test != "" && !slices.Contains(names, c.test) {
				names = append(names, c.test)
			}
		}
		b.WriteString("\n")
		fmt.Fprintf(&tests, "| %s | `%s` |\n", r.fault, strings.Join(names, "`, `"))
	}
	b.WriteString("\n")
	for i, n := range notes {
		fmt.Fprintf(&b, "%d. %s\n", i+1, n)
	}
	return b.String() + "\n| fault | tests |\n|---|---|\n" + tests.String()
}
