package main

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// A side is one of two things that are compared. It runs for about d and notes what it
// measured.
type side func(ctx context.Context, d time.Duration) error

// warmUp is how much of a slice both sides run before anything counts.
const warmUp = 0.3

// interleave lets a and b take turns: a b, b a, a b, … What the warm-up noted in the
// records of forget is dropped.
func interleave(ctx context.Context, p plan, a, b side, forget ...*record) error {
	return inTurn(ctx, p, []side{a, b}, forget...)
}

// inTurn is interleave for any number of sides: a b c, c b a, a b c, …
func inTurn(ctx context.Context, p plan, sides []side, forget ...*record) error {
	for _, s := range sides {
		if err := s(ctx, time.Duration(warmUp*float64(p.slice))); err != nil {
			return err
		}
	}
	for _, r := range forget {
		*r = record{}
	}
	for range p.pairs {
		for _, s := range sides {
			runtime.GC() // what one side left is not for the other to clean up
			if err := s(ctx, p.slice); err != nil {
				return err
			}
		}
		slices.Reverse(sides)
	}
	return ctx.Err()
}

// A record is what one side measured: one value a slice, and all single times.
type record struct {
	slices []float64 // nanoseconds
	all    []float64
}

// perOp notes a slice of n operations.
func (r *record) perOp(elapsed time.Duration, n int) {
	r.slices = append(r.slices, float64(elapsed)/float64(max(n, 1)))
}

// times notes a slice by the median of its single times.
func (r *record) times(all []float64) {
	if len(all) == 0 {
		return
	}
	r.all = append(r.all, all...)
	r.slices = append(r.slices, quantile(all, 0.5))
}

// median is the median over the slices, p99 over all single times.
func (r *record) median() float64 { return quantile(r.slices, 0.5) }
func (r *record) p99() float64    { return quantile(r.all, 0.99) }

// spread is the median over the slices between its quartiles.
func (r *record) spread() spread { return spreadOf(r.slices) }

// over returns the ratios of r's slices to those of floor, pair by pair.
func (r *record) over(floor *record) spread {
	var ratios []float64
	for i := range min(len(r.slices), len(floor.slices)) {
		ratios = append(ratios, r.slices[i]/floor.slices[i])
	}
	return spreadOf(ratios)
}

// A spread is a median between its quartiles.
type spread struct{ Q1, Median, Q3 float64 }

func spreadOf(values []float64) spread {
	return spread{quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)}
}

// quantile returns the value below which the part q of values lies, or 0 for none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	at := q * float64(len(s)-1)
	low := int(at)
	high := min(low+1, len(s)-1)
	return s[low] + (s[high]-s[low])*(at-float64(low))
}

// repeat runs op again and again for d. It notes how long it takes on average and, if
// single is not nil, each time.
func repeat(mean, single *record, op func(context.Context) error) side {
	return func(ctx context.Context, d time.Duration) error {
		var all []float64
		start, n := time.Now(), 0
		for last := start; last.Sub(start) < d; n++ {
			if err := op(ctx); err != nil {
				return err
			}
			now := time.Now()
			all = append(all, float64(now.Sub(last)))
			last = now
		}
		mean.perOp(time.Since(start), n)
		if single != nil {
			single.times(all)
		}
		return nil
	}
}
