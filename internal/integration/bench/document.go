package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

// What is between these lines of a document is what a run has measured.
const (
	figuresBegin = "<!-- figures -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// A result is what a run has measured, and on what.
type result struct {
	about []string
	lines []line
}

// markdown is all of it, for a terminal or a document.
func (r result) markdown() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", r.about[0])
	for _, text := range r.about[1:] {
		fmt.Fprintf(&b, "- %s.\n", text)
	}
	b.WriteByte('\n')
	printTables(&b, r.lines)
	return b.String()
}

// writeInto puts the figures into the document in file, in the place of those that are
// there.
func (r result) writeInto(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), figuresBegin)
	_, after, ends := strings.Cut(rest, figuresEnd)
	if !ok || !ends {
		return fmt.Errorf("%s: no lines %q and %q", file, strings.TrimSpace(figuresBegin), strings.TrimSpace(figuresEnd))
	}
	return os.WriteFile(file, []byte(before+figuresBegin+r.markdown()+figuresEnd+after), 0o644)
}

// write writes all files that are asked for.
func (r result) write(f files) error {
	for _, out := range []struct {
		file  string
		write func(string) error
	}{
		{f.json, func(file string) error { return writeJSON(file, r.about, r.lines) }},
		{f.svg, func(file string) error { return writeSVG(file, r.lines) }},
		{f.doc, r.writeInto},
	} {
		if out.file == "" {
			continue
		}
		if err := out.write(out.file); err != nil {
			return err
		}
	}
	return nil
}

// files are where the figures go, besides the standard output. Empty names are none.
type files struct {
	json, svg, doc string
}

// today is the date of a run.
func today() string { return time.Now().UTC().Format(time.DateOnly) }
