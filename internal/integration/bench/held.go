package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/distlock-go/distlock"
	goredis "github.com/redis/go-redis/v9"
)

// renewals is how many renewal intervals, of a third of the TTL each, held lasts.
const renewals = 3

// heldFigures are one lease's shares, but for cpu.
type heldFigures struct {
	heap, goroutines float64
	renewed          float64 // commands
	cpu              float64 // nanoseconds, of all leases
}

// held compares what leases cost while nothing happens to them.
func held(ctx context.Context, p plan) ([]line, error) {
	var ours, floor record
	var last, first heldFigures
	var floorRenewed float64
	for i := range p.passes {
		var err error
		if last, err = holdLeases(ctx, p); err != nil {
			return nil, err
		}
		if i == 0 {
			first = last
		}
		ours.perOp(time.Duration(last.cpu), 1)
		cpu, renewed, err := holdByHand(ctx, p)
		if err != nil {
			return nil, err
		}
		floorRenewed = renewed
		floor.perOp(time.Duration(cpu), 1)
	}
	cpu := fmt.Sprintf("client CPU of %d leases, %d renewals each", p.leases, renewals)
	return []line{
		line{Figure: "heap of a held lease", Unit: "B", Value: first.heap}.atMost(1024),
		line{Figure: "goroutines of a held lease", Value: first.goroutines}.atMost(0.01),
		compared(cpu, &ours, &floor).atMost(0.5),
		{Figure: "server commands of a held lease", Value: last.renewed, Floor: floorRenewed},
	}, nil
}

// holdLeases acquires the leases with a new client and has them renewed.
func holdLeases(ctx context.Context, p plan) (f heldFigures, err error) {
	proc, err := newProcess(p.addr, distlock.WithTTL(p.ttl))
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, proc.close()) }() // releases all
	keys := heldKeys("bench-held-%d", p.leases)
	leases := make([]*distlock.Lease, p.leases)
	if err := proc.warm(ctx); err != nil {
		return f, err
	}
	heap, goroutines := usage()
	err = eachOf(p.leases, func(i int) (err error) {
		leases[i], err = proc.lock.Acquire(ctx, keys[i])
		return err
	})
	if err != nil {
		return f, err
	}
	heap2, goroutines2 := usage()
	cpu, sum, err := watched(ctx, proc.rdb, func() error {
		return sleep(ctx, p.ttl/3*renewals)
	})
	for _, l := range leases {
		if !l.Valid() {
			err = errors.Join(err, l.Err(), errors.New("a lease was lost"))
			break
		}
	}
	n := float64(p.leases)
	return heldFigures{
		heap: float64(heap2-heap) / n, goroutines: float64(goroutines2-goroutines) / n,
		renewed: float64(sum["set"]) / n, cpu: cpu,
	}, err
}

// warm has buffers and connections made before the heap is looked at, and one lease
// held, for the goroutine that serves them all.
func (p *process) warm(ctx context.Context) error {
	err := eachOf(2*busyWorkers, func(i int) error {
		return p.once(ctx, fmt.Sprintf("bench-warm-%d", i), new(guard))
	})
	if err != nil {
		return err
	}
	_, err = p.lock.Acquire(ctx, "bench-warm") // released by Close
	return err
}

// holdByHand does the same by the floor. It returns its CPU and commands.
func holdByHand(ctx context.Context, p plan) (cpu, renewed float64, err error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: p.addr, PoolSize: poolSize})
	defer rdb.Close()
	keys := heldKeys("bench-held-floor-%d", p.leases)
	err = eachOf(p.leases, func(i int) error {
		ok, err := floorTry(ctx, rdb, keys[i], floorOwner, p.ttl)
		if err == nil && !ok {
			err = fmt.Errorf("%s is held", keys[i])
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	cpu, sum, err := watched(ctx, rdb, func() error { return renewByHand(ctx, rdb, keys, p.ttl) })
	_ = eachOf(p.leases, func(i int) error { return floorRelease(ctx, rdb, keys[i], floorOwner) })
	return cpu, float64(sum["set"]) / float64(p.leases), err
}

// renewByHand renews keys one call each, a few times over.
func renewByHand(ctx context.Context, rdb *goredis.Client, keys []string, ttl time.Duration) error {
	for range renewals {
		due := time.Now().Add(ttl / 3)
		for _, key := range keys {
			if err := floorRenew(ctx, rdb, key, ttl); err != nil {
				return err
			}
		}
		if err := sleep(ctx, time.Until(due)); err != nil {
			return err
		}
	}
	return nil
}

func heldKeys(format string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(format, i)
	}
	return keys
}

// eachOf calls f for 0 to n-1 from busyWorkers goroutines and returns an error of it.
func eachOf(n int, f func(i int) error) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	errs := make([]error, busyWorkers)
	for w := range busyWorkers {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[w] == nil; i = int(next.Add(1)) - 1 {
				errs[w] = f(i)
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

// usage returns the bytes of live heap and the number of goroutines.
func usage() (heap, goroutines int64) {
	runtime.GC()
	runtime.GC() // what finalizers and pools had kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(runtime.NumGoroutine())
}

// watched runs f and returns this process's CPU time in nanoseconds and the commands
// that the server executed meanwhile.
func watched(ctx context.Context, rdb *goredis.Client, f func() error) (cpu float64, sum commands, err error) {
	before, err := executed(ctx, rdb)
	if err != nil {
		return 0, nil, err
	}
	start := processCPU()
	err = f()
	cpu = processCPU() - start
	if err != nil {
		return 0, nil, err
	}
	after, err := executed(ctx, rdb)
	sum = make(commands)
	after.since(before, sum)
	return cpu, sum, err
}

// processCPU is this process's CPU time until now, in nanoseconds, user and system.
func processCPU() float64 {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails only for a bad argument
	return float64(r.Utime.Nano() + r.Stime.Nano())
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
