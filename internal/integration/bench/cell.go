package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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
	var why string
	if err != nil {
		why, _, _ = strings.Cut(err.Error(), "\n") // the others say the same
		lines = []line{{Figure: "left out", LeftOut: why}}
	}
	for i := range lines {
		lines[i].Service, lines[i].Lock, lines[i].At = r.service, r.name, n
	}
	fmt.Fprintf(os.Stderr, "bench:   %v, %d: %.1f s %s\n", r, n, time.Since(begun).Seconds(), why)
	return lines, nil
}
