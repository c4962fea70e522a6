package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Machines whose clocks differ by minutes run the job once an hour.
func TestOncePerWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory.New()
		for hour := range 3 {
			start := time.Now()
			var out bytes.Buffer
			for range 4 {
				if err := run(t.Context(), b, 30*time.Minute, report, &out); err != nil {
					t.Errorf("hour %d: %v", hour, err)
				}
				time.Sleep(5 * time.Minute)
			}
			const other = "somebody else is at it, or has done it\n"
			if got, want := out.String(), "sent the report\n"+other+other+other; got != want {
				t.Errorf("hour %d: got %q, want %q", hour, got, want)
			}
			time.Sleep(time.Until(start.Add(time.Hour)))
		}
	})
}

// A job that failed is not run again in its window, and one that lost its lock
// says so.
func TestJobFails(t *testing.T) {
	t.Parallel()
	failed := errors.New("no paper")
	b := memory.New()
	err := run(t.Context(), b, time.Hour, func(context.Context, io.Writer) error { return failed }, io.Discard)
	if !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
	if b.Len() != 1 {
		t.Error("the window is not kept")
	}
	err = run(t.Context(), memory.New(), time.Hour, report, io.Discard)
	if err != nil {
		t.Error(err)
	}
	b = memory.New()
	err = run(t.Context(), b, time.Hour, func(context.Context, io.Writer) error { b.Expire("examples/cron/report"); return nil }, io.Discard)
	if !errors.Is(err, distlock.ErrLost) {
		t.Errorf("got %v, want %v", err, distlock.ErrLost)
	}
}
