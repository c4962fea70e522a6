package main

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
)

func TestOtherScenariosAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	none := func(context.Context, plan) ([]line, error) { return nil, nil }
	first := result{about: []string{"once"}, lines: []line{
		{Scenario: "alone", Value: 1}, {Scenario: "busy", Value: 2}, {Scenario: "scale", Value: 3, At: 10, Plot: "heap"},
	}}
	if err := first.write(files{json: file}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []float64{4, 5} { // the second time over what was measured anew before
		anew := result{about: []string{"again"}, lines: []line{{Scenario: "busy", Value: want}}}
		if err := anew.keep(file, []scenario{{"busy", "", none}}); err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, l := range anew.lines {
			got = append(got, l.Value)
		}
		if !slices.Equal(got, []float64{1, want, 3}) || anew.lines[2].Plot != "heap" {
			t.Errorf("got the lines %+v", anew.lines)
		}
		if !slices.Equal(anew.about, []string{"once", "busy: measured by themselves, again"}) {
			t.Errorf("got what is said of them: %q", anew.about)
		}
		if err := anew.write(files{json: file}); err != nil {
			t.Fatal(err)
		}
	}
	var all result
	if err := all.keep(filepath.Join(t.TempDir(), "none"), nil); err != nil || all.lines != nil {
		t.Errorf("of no file: %v, %v", all.lines, err)
	}
}
