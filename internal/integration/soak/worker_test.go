package soak_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/rpc"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// With targetEnv set the test binary is a worker: a process that its parent can stop.
const (
	targetEnv   = "DISTLOCK_SOAK_TARGET"   // the target's name
	addrsEnv    = "DISTLOCK_SOAK_ADDRS"    // of its servers, with commas between
	resourceEnv = "DISTLOCK_SOAK_RESOURCE" // the parent's socket
)

const (
	keys  = 12 // that all workers share
	hands = 6  // goroutines of a worker
)

func keyName(i int) string { return fmt.Sprint("account-", i) }

// A worker is a process that takes locks and changes the resource.
type worker struct {
	target   target
	locks    *distlock.Client
	resource *rpc.Client
}

// work is the worker's process. It ends when its standard input does.
func work() error {
	w := &worker{}
	for _, w.target = range targets {
		if w.target.name == os.Getenv(targetEnv) {
			break
		}
	}
	var err error
	if w.resource, err = rpc.Dial("unix", os.Getenv(resourceEnv)); err != nil {
		return err
	}
	b, closeClient := w.target.connect(strings.Split(os.Getenv(addrsEnv), ","))
	if w.locks, err = distlock.New(b, distlock.WithTTL(w.target.ttl)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	var running sync.WaitGroup
	for range hands {
		running.Go(func() {
			for ctx.Err() == nil {
				if err := w.once(ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // until the parent closes it
	cancel(io.EOF)
	running.Wait()
	if err := context.Cause(ctx); err != io.EOF {
		return err
	}
	closing, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	return errors.Join(w.locks.Close(closing), closeClient())
}

// once takes one lock, uses the resource and gives the lock back. It does not look
// whether the lease is valid: to keep a late holder out is the fence's work. An error
// is one of the test itself.
func (w *worker) once(ctx context.Context) error {
	v := Visit{Key: keyName(rand.IntN(keys))}
	if err := w.resource.Call("Resource.Begin", v.Key, &v.Floor); err != nil {
		return err
	}
	l, err := w.acquire(ctx, v.Key)
	if err != nil {
		if !errors.Is(err, distlock.ErrHeld) {
			pause(ctx, w.target.ttl/20) // its server is being restarted
		}
		return nil
	}
	v.Token = l.Token()
	if err := w.use(ctx, l, v); err != nil {
		return err
	}
	rctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rand.IntN(2) == 0 {
		cancel()
	}
	_ = l.Release(rctx) // its outcome may be unknown: the next holder shows
	return nil
}

// acquire gets key one way or another.
func (w *worker) acquire(ctx context.Context, key string) (*distlock.Lease, error) {
	limits := []time.Duration{w.target.ttl / 100, w.target.ttl / 5, 3 * w.target.ttl}
	ctx, cancel := context.WithTimeout(ctx, limits[rand.IntN(len(limits))])
	defer cancel()
	if rand.IntN(3) == 0 {
		return w.locks.TryAcquire(ctx, key)
	}
	return w.locks.Acquire(ctx, key)
}

// use changes the resource.
func (w *worker) use(ctx context.Context, l *distlock.Lease, v Visit) error {
	var r Reply
	if err := w.resource.Call("Resource.Enter", v, &r); err != nil {
		return err
	}
	if !r.Stale {
		v.Value = r.Value
		took := w.target.ttl / 50
		if rand.IntN(20) == 0 {
			took = 2 * w.target.ttl // with several renewals
		}
		pause(ctx, rand.N(took))
		if err := w.resource.Call("Resource.Write", v, &r); err != nil {
			return err
		}
	}
	if !r.Stale {
		return nil
	}
	v.Valid = l.Valid()
	return w.resource.Call("Resource.Refused", v, &r)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
