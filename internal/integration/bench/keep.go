package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A document is a result as it is written to a JSON file.
type document struct {
	About []string `json:"about"`
	Lines []line   `json:"lines"`
}

// keep adds to r, in their places, what file has of scenarios that are not in r, so that
// some can be measured anew by themselves. What was said of the others stays, and is said
// of them. A file that is not there has nothing.
func (r *result) keep(file string, measured []scenario) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var old document
	if err := json.Unmarshal(text, &old); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var names []string
	for _, s := range measured {
		names = append(names, s.name)
	}
	old.Lines = slices.DeleteFunc(old.Lines, func(l line) bool { return slices.Contains(names, l.Scenario) })
	if len(old.Lines) == 0 {
		return nil
	}
	place := func(l line) int {
		return slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == l.Scenario })
	}
	r.lines = append(r.lines, old.Lines...)
	slices.SortStableFunc(r.lines, func(a, b line) int { return place(a) - place(b) })
	again := fmt.Sprintf("%s: measured by themselves, %s", strings.Join(names, ", "), strings.Join(r.about, "; "))
	old.About = slices.DeleteFunc(old.About, func(s string) bool { return strings.HasPrefix(s, strings.Join(names, ", ")+": ") })
	r.about = append(old.About, again)
	return nil
}
