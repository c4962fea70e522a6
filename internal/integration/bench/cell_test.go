package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCellThatFailsIsLeftOut(t *testing.T) {
	r := rival{service: "redis", name: "another"}
	failure := errors.New("no room")
	got, err := cell(t.Context(), r, 100, func(context.Context) ([]line, error) {
		return []line{{Figure: "half measured"}}, errors.Join(failure, failure)
	})
	if err != nil || len(got) != 1 || got[0].LeftOut != failure.Error() || got[0].Plot != "" {
		t.Fatalf("got %+v, %v of a cell that failed, want why it is left out", got, err)
	}
	var out strings.Builder
	got[0].Scenario = "scale"
	printTables(&out, got)
	if want := `Left out of scale: redis: another, 100: "no room"`; !strings.Contains(out.String(), want) {
		t.Errorf("got %q, want %q in it", out.String(), want)
	}
}

func TestCellEndsTheScenario(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
	}{
		{"a lock that does not exclude", t.Context(), fmt.Errorf("%w: two holders", errUnsafe)},
		{"the end of the run", ended, context.Canceled},
	} {
		got, err := cell(c.ctx, rival{}, 1, func(context.Context) ([]line, error) { return nil, c.err })
		if !errors.Is(err, c.err) || got != nil {
			t.Errorf("%s: got %v, %v, want the error", c.name, got, err)
		}
	}
}
