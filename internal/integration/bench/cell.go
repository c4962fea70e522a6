package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// cellBound is how long one cell may take. The longest, 10,000 leases on a service that
// syncs a disk for each, takes half of it.
const cellBound = 90 * time.Second

// cell has f measure r with n, and says what it took. One that fails is left out with its
// error: the others are worth their time. What ends the scenario is a lock that does not
// exclude, or the end of ctx.
func cell(ctx context.Context, r rival, n int, f func(context.Context) ([]line, error)) ([]line, error) {
	bounded, cancel := context.WithTimeout(ctx, cellBound)
	defer cancel()
	begun := time.Now()
	lines, err := f(bounded)
	if ctx.Err() != nil || errors.Is(err, errUnsafe) {
		return nil, errors.Join(err, ctx.Err())
	}
	if err != nil {
		lines = []line{{Figure: "left out", LeftOut: err.Error()}}
	}
	for i := range lines {
		lines[i].Service, lines[i].Lock, lines[i].At = r.service, r.name, n
	}
	fmt.Fprintf(os.Stderr, "bench:   %v, %d: %.1f s", r, n, time.Since(begun).Seconds())
	if err != nil {
		fmt.Fprintf(os.Stderr, ", left out: %v", err)
	}
	fmt.Fprintln(os.Stderr)
	return lines, nil
}
