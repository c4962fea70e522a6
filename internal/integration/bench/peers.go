package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// peers compares what is on each service: distlock and the peers take turns.
func peers(ctx context.Context, p plan) ([]line, error) {
	p.pairs = p.rounds
	return onEach(ctx, func(s service, addr string) ([]line, error) {
		if len(s.rivals()) == 1 {
			return nil, nil // memory: see core
		}
		var lines []line
		for _, measure := range []func(context.Context, plan, *field) ([]line, error){
			rivalsAlone, rivalsBusy, rivalsHandOver,
		} {
			f, err := newField(ctx, p, s, addr)
			if err != nil {
				return nil, err
			}
			got, err := measure(ctx, p, f)
			f.close()
			if err != nil {
				return nil, err
			}
			lines = append(lines, got...)
		}
		return lines, nil
	})
}

// A field is the rivals of a service, each with two processes.
type field struct {
	service service
	rivals  []rival
	a, b    []*contender
	tallies []*tally
}

func newField(ctx context.Context, p plan, s service, addr string) (*field, error) {
	f := &field{service: s, rivals: s.rivals()}
	for _, r := range f.rivals {
		t := new(tally)
		for _, side := range []*[]*contender{&f.a, &f.b} {
			c, err := r.dial(ctx, addr, p.leaseOf(r), t)
			if err != nil {
				f.close()
				return nil, err
			}
			*side = append(*side, c)
			if err := c.warm(ctx, p, 0); err != nil {
				f.close()
				return nil, err
			}
		}
		f.tallies = append(f.tallies, t)
	}
	return f, nil
}

func (f *field) close() {
	for _, c := range append(f.a, f.b...) {
		c.close()
	}
}

// compare has the rivals take turns, each by the side that make returns, and gives a
// line for each, a peer's beside that of distlock.
func (f *field) compare(ctx context.Context, p plan, figure string, records []record, sides []side) ([]line, error) {
	forget := make([]*record, len(records))
	for i := range records {
		forget[i] = &records[i]
	}
	if err := inTurn(ctx, p, sides, forget...); err != nil {
		return nil, err
	}
	var lines []line
	for i, r := range f.rivals {
		l := of(figure, &records[i])
		if !r.ours() {
			l = compared(figure, &records[i], &records[0])
		}
		l.Service, l.Lock = r.service, r.name
		lines = append(lines, f.tallies[i].noted(l))
	}
	return lines, nil
}

// A price is what a client pays for a call: medians over slices.
type price struct{ cpu, allocs, bytes record }

// rivalsAlone measures acquire and release without contention, and what it costs the
// client.
func rivalsAlone(ctx context.Context, p plan, f *field) ([]line, error) {
	records, prices, guards := make([]record, len(f.rivals)), make([]price, len(f.rivals)), make([]guard, len(f.rivals))
	var sides []side
	for i := range f.rivals {
		sides = append(sides, f.a[i].alone(p, &records[i], &prices[i], &guards[i]))
	}
	lines, err := f.compare(ctx, p, "acquire + release, p50", records, sides)
	for i, r := range f.rivals {
		for _, l := range []line{
			of("CPU of a client's acquire + release", &prices[i].cpu),
			counted("allocations of it", "", &prices[i].allocs),
			counted("bytes allocated by it", "B", &prices[i].bytes),
		} {
			l.Service, l.Lock = r.service, r.name
			lines = append(lines, l)
		}
	}
	return lines, err
}

// alone returns a side that acquires and releases one key. What has failed is not noted.
func (c *contender) alone(p plan, r *record, paid *price, g *guard) side {
	const key = "bench-rivals-alone"
	return bounded(p, func(ctx, b context.Context, d time.Duration) error {
		var all []float64
		var m, m2 runtime.MemStats
		if len(r.slices) == 0 {
			*paid = price{} // of the warm-up
		}
		runtime.ReadMemStats(&m)
		cpu, calls := processCPU(), 0
		for start := time.Now(); time.Since(start) < d; calls++ {
			begun := time.Now()
			err := c.once(b, key, g)
			took := time.Since(begun)
			ok, err := c.tolerate(ctx, key, err)
			if err != nil {
				return err
			}
			if ok {
				all = append(all, float64(took))
			}
		}
		n := float64(max(calls, 1))
		paid.cpu.slices = append(paid.cpu.slices, (processCPU()-cpu)/n)
		runtime.ReadMemStats(&m2)
		paid.allocs.slices = append(paid.allocs.slices, float64(m2.Mallocs-m.Mallocs)/n)
		paid.bytes.slices = append(paid.bytes.slices, float64(m2.TotalAlloc-m.TotalAlloc)/n)
		r.times(all)
		return nil
	})
}

// rivalsBusy has many goroutines of one process on many keys.
func rivalsBusy(ctx context.Context, p plan, f *field) ([]line, error) {
	records := make([]record, len(f.rivals))
	var sides []side
	for i := range f.rivals {
		c := f.a[i]
		sides = append(sides, func(ctx context.Context, d time.Duration) error {
			b, cancel := context.WithTimeout(ctx, d+p.bound)
			defer cancel()
			return together(&records[i], p.keys, "bench-rivals-busy-%d", func(_ context.Context, key string, g *guard) error {
				_, err := c.tolerate(ctx, key, c.once(b, key, g))
				return err
			})(ctx, d)
		})
	}
	return f.compare(ctx, p, fmt.Sprintf("acquire + release, %d goroutines, %d keys", busyWorkers, p.keys), records, sides)
}

// slowPairs is how many slices there are where a hand-over takes a lease of 20 s.
const slowPairs = 3

// rivalsHandOver measures the time from the call of release by one process to the grant
// of another that waits.
func rivalsHandOver(ctx context.Context, p plan, f *field) ([]line, error) {
	records, guards := make([]record, len(f.rivals)), make([]guard, len(f.rivals))
	var sides []side
	for i := range f.rivals {
		sides = append(sides, handOvers(p, &records[i], f.a[i], f.b[i], &guards[i]))
	}
	if f.rivals[len(f.rivals)-1].slow {
		p.pairs = min(p.pairs, slowPairs)
	}
	return f.compare(ctx, p, "hand-over to another process, p50", records, sides)
}

// handOvers hands a key from a to b, which has waited for it a while.
func handOvers(p plan, r *record, a, b *contender, g *guard) side {
	const key = "bench-rivals-hand-over"
	once := func(ctx context.Context) (time.Duration, error) {
		token, release, err := a.lock(ctx, key)
		if err != nil {
			return 0, err
		}
		err = g.enter(token)
		var at time.Time
		done := make(chan error, 1)
		go func() { // ends with the grant, which is awaited
			token, release, err := b.lock(ctx, key)
			if at = time.Now(); err != nil {
				done <- err
				return
			}
			if err = g.enter(token); err == nil {
				err = g.leave()
			}
			done <- errors.Join(err, release(ctx))
		}()
		err = errors.Join(err, sleep(ctx, settled), g.leave())
		released := time.Now()
		err = errors.Join(err, release(ctx))
		err = errors.Join(err, <-done)
		return at.Sub(released), err
	}
	return bounded(p, func(ctx, b context.Context, d time.Duration) error {
		var all []float64
		for start := time.Now(); time.Since(start) < d; {
			took, err := once(b)
			ok, err := a.tolerate(ctx, key, err)
			if err != nil {
				return err
			}
			if ok {
				all = append(all, float64(took))
			}
		}
		r.times(all)
		return nil
	})
}
