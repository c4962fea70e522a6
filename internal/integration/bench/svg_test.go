package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestDrawn(t *testing.T) {
	lines := []line{
		{Lock: "a<b", Service: "redis", Plot: "heap", Unit: "B", At: 100, Value: 20},
		{Lock: "a<b", Service: "redis", Plot: "heap", Unit: "B", At: 1000, Value: 200},
		{Lock: "c", Service: "redis", Plot: "heap", Unit: "B", At: 100, Value: 0}, // has no logarithm
		{Lock: "c", Service: "redis", Plot: "empty", At: 100, Value: 0},
		{Lock: "c", Service: "redis", Value: 1},
	}
	d := xml.NewDecoder(strings.NewReader(drawn(lines)))
	polylines, points := 0, ""
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			if polylines++; points == "" {
				points = e.Attr[0].Value
			}
		}
	}
	if polylines != 2 { // the line and its legend
		t.Errorf("got %d polylines, want 2", polylines)
	}
	// 100 and 1,000 are the ends of the horizontal axis; 20 and 200 are at 0.15 and 0.65
	// of a vertical one from 10 to 1,000.
	if want := "84.0,307.5 450.0,146.5"; points != want {
		t.Errorf("got the points %q, want %q", points, want)
	}
}

func TestAxis(t *testing.T) {
	var a axis
	for _, v := range []float64{70, 30, 4000} {
		a.include(v)
	}
	if a.whole(); math.Abs(a.low-10) > 1e-9 || math.Abs(a.high-10000) > 1e-9 {
		t.Errorf("got %v, want 10 to 10000", a)
	}
	if got := a.at(100); math.Abs(got-1.0/3) > 1e-9 {
		t.Errorf("got 100 at %v, want a third", got)
	}
	a = axis{}
	a.include(10)
	if a.whole(); a.high <= a.low {
		t.Errorf("got %v for one value, want an axis", a)
	}
}
