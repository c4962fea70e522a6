package faults_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// reportFile is where a run writes what it has found, as Markdown.
var reportFile = flag.String("report", "", "a file to write the matrix and the figures to")

// conclude comes after all tests. If all were asked for, it fails for each cell of the
// matrix whose test has not run or not passed.
func conclude() (code int) {
	if whole() {
		for _, text := range unproved() {
			fmt.Fprintln(os.Stderr, "the matrix:", text)
			code = 1
		}
	}
	if *reportFile != "" && code == 0 {
		if err := os.WriteFile(*reportFile, []byte(runReport()), 0o666); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// whole reports whether all tests were asked for.
func whole() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f == nil || f.Value.String() != "" {
			return false
		}
	}
	return true
}

// runReport returns what docs/faults.md holds of a run.
func runReport() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run on %s, with %d holders cut off in each way, on %s.\n\n", time.Now().UTC().Format(time.DateOnly), *rounds, versions())
	fmt.Fprintf(&b, "## Backends and faults\n\n%s\n", matrixTable())
	fmt.Fprintf(&b, "## Time until the next holder\n\n%s\n", measured.takeOverTable())
	fmt.Fprintf(&b, "## Two live holders\n\n%s", measured.latenessTable())
	return b.String()
}

// versions names the servers of the run.
func versions() string {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	var all []string
	for _, s := range services {
		f, err := s.shared()
		version := ""
		if err == nil {
			version, err = s.version(ctx, f[0].Addr())
		}
		if err != nil {
			version = err.Error()
		}
		all = append(all, s.name+" "+version)
	}
	return strings.Join(all, ", ")
}

// documented is where the last report is.
const documented = "../../../docs/faults.md"

// TestMatrixIsWhole checks the table: every fault and backend has a cell, every cell a test
// that there is, or a reason.
func TestMatrixIsWhole(t *testing.T) {
	t.Parallel()
	sources := sourceOfTests(t)
	seen := make(map[fault]bool)
	for _, r := range matrix {
		if seen[r.fault] {
			t.Errorf("%s: there are two rows", r.fault)
		}
		seen[r.fault] = true
		for _, s := range services {
			c, ok := r.cells[s.name]
			switch {
			case !ok:
				t.Errorf("%s, %s: no cell", s.name, r.fault)
			case (c.holds == absent) != (c.test == ""):
				t.Errorf("%s, %s: %q with the test %q", s.name, r.fault, verdicts[c.holds], c.test)
			case c.holds != kept && c.note == "":
				t.Errorf("%s, %s: no reason", s.name, r.fault)
			case c.test != "" && !strings.Contains(sources, "\nfunc "+c.test+"(t *testing.T) {\n"):
				t.Errorf("%s, %s: there is no %s", s.name, r.fault, c.test)
			}
		}
		if len(r.cells) != len(services) {
			t.Errorf("%s: %d cells of %d backends", r.fault, len(r.cells), len(services))
		}
	}
}

// sourceOfTests returns the text of all files of this package.
func sourceOfTests(t *testing.T) string {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		text, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestDocumentedReport checks what the documentation holds of the last run: the matrix is
// today's, the bounds are, and nothing was measured beyond them.
func TestDocumentedReport(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(documented)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), matrixTable()) {
		t.Errorf("the matrix in %s is not that of this package: make faults", documented)
	}
	for _, s := range services {
		for _, e := range endings {
			b := takeOvers[s.name][e]
			start := fmt.Sprintf("\n| %s | %s | %v | %v | ", s.name, e, b, b.at(shortTTL))
			_, rest, ok := strings.Cut(string(text), start)
			if !ok {
				t.Errorf("%s lacks %q", documented, start)
				continue
			}
			figure, _, _ := strings.Cut(rest, " |")
			if took, err := time.ParseDuration(figure); err != nil || took <= 0 || took > b.at(shortTTL) {
				t.Errorf("%s, %s: measured %q, with a bound of %v", s.name, e, figure, b.at(shortTTL))
			}
		}
	}
}
