package soak_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/rpc"
	"os"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/history"
)

// With jobEnv set the test binary is a worker: a process that its parent can stop. Its
// file 3 is where its history goes.
const jobEnv = "DISTLOCK_SOAK_JOB"

// A job is what a worker is told.
type job struct {
	Target   string
	Process  string // the worker's name in the history
	Resource string // the parent's socket
	Network  network
	Habits   habits
}

// habits are how workers work.
type habits struct {
	// Prefix begins the names of the keys, of which there are so many.
	Prefix string
	Keys   int
	Hands  int // goroutines of a worker
	// Adds lets them add elements to sets, one after the other; else they do all that
	// can be done with a lock, at random.
	Adds bool
	// Heeds lets them give up what they add when their lease has ended.
	Heeds bool
}

func (h habits) key(i int) string { return fmt.Sprint(h.Prefix, "account-", i) }

// A worker is a process that takes locks and changes the resource.
type worker struct {
	job
	target   target
	locks    *distlock.Client
	resource *rpc.Client
	log      *history.Log
}

// work is the worker's process. It ends when its standard input does.
func work() error {
	w := &worker{}
	if err := json.Unmarshal([]byte(os.Getenv(jobEnv)), &w.job); err != nil {
		return err
	}
	for _, w.target = range targets {
		if w.target.name == w.Target {
			break
		}
	}
	w.log = history.NewLog(os.NewFile(3, "history"), w.Process)
	var err error
	if w.resource, err = rpc.Dial("unix", w.Resource); err != nil {
		return err
	}
	locks, closeLocks, err := w.target.locks(w.Network)
	if err != nil {
		return err
	}
	w.locks = locks
	ctx, cancel := context.WithCancelCause(context.Background())
	once := w.visit
	if w.Habits.Adds {
		once = w.add
	}
	var running sync.WaitGroup
	for range w.Habits.Hands {
		running.Go(func() {
			for ctx.Err() == nil {
				if err := once(ctx); err != nil {
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
	return errors.Join(closeLocks(closing), w.log.Err())
}

// A held lease is one in the history.
type held struct {
	*distlock.Lease
	w     *worker
	grant int // the number of its Acquire
	set   []string
}

// acquire gets key within the limit, or tries once. A nil lease says that it did not get
// it.
func (w *worker) acquire(ctx context.Context, key string, limit time.Duration, once bool) *held {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	how := w.locks.Acquire
	if once {
		how = w.locks.TryAcquire
	}
	c := w.log.Begin(history.Op{Kind: history.Acquire, Key: key})
	l, err := how(ctx, key)
	switch {
	case err == nil:
		c.Token, c.Deadline = l.Token(), history.Until(l.Deadline())
		c.End(history.Done)
		return &held{Lease: l, w: w, grant: c.Number}
	case errors.Is(err, distlock.ErrHeld):
		c.End(history.Refused)
	default:
		c.End(history.Unknown)
		pause(ctx, w.target.ttl/20) // its server is being restarted
	}
	return nil
}

// valid looks whether the lease is.
func (h *held) valid() bool {
	c := h.w.log.Begin(history.Op{Kind: history.Look, Key: h.Key(), Lease: h.grant})
	deadline := history.Until(h.Deadline())
	if !h.Valid() {
		c.End(history.Refused)
		return false
	}
	c.Deadline = deadline
	c.End(history.Done)
	return true
}

// release gives the lease up. Its outcome may be unknown: the next holder shows.
func (h *held) release(ctx context.Context) {
	c := h.w.log.Begin(history.Op{Kind: history.Release, Key: h.Key(), Lease: h.grant})
	switch err := h.Release(ctx); {
	case err == nil:
		c.End(history.Done)
	case errors.Is(err, distlock.ErrLost):
		c.End(history.Refused)
	default:
		c.End(history.Unknown)
	}
}

// enter raises the mark and reads the set. It reports whether the fence lets it in; an
// error is one of the test itself.
func (h *held) enter() (bool, error) {
	c := h.w.log.Begin(history.Op{Kind: history.Enter, Key: h.Key(), Token: h.Token()})
	reply, err := h.use("Resource.Enter", nil)
	if err != nil {
		return false, err
	}
	h.set = reply.Set
	if reply.Stale {
		c.End(history.Refused)
		return false, nil
	}
	c.Value = last(h.set)
	c.End(history.Done)
	return true, nil
}

// write replaces the set by one that ends with value, the name of this write.
func (h *held) write(value string, set []string) (bool, error) {
	c := h.w.log.Begin(history.Op{Kind: history.Write, Key: h.Key(), Token: h.Token(), Base: last(h.set), Value: value})
	reply, err := h.use("Resource.Write", append(set, value))
	if err != nil {
		return false, err
	}
	if reply.Stale {
		c.End(history.Refused)
		return false, nil
	}
	c.End(history.Done)
	return true, nil
}

func (h *held) use(method string, set []string) (reply Reply, err error) {
	err = h.w.resource.Call(method, Use{Process: h.w.Process, Key: h.Key(), Token: h.Token(), Set: set}, &reply)
	return reply, err
}

// element is a name for what a lease writes.
func (h *held) element() string { return fmt.Sprint(h.w.Process, "-", h.grant) }

// visit takes one lock, uses the resource and gives the lock back, all of it at random.
// It does not care whether the lease is valid: to keep a late holder out is the fence's
// work.
func (w *worker) visit(ctx context.Context) error {
	limits := []time.Duration{w.target.ttl / 100, w.target.ttl / 5, 3 * w.target.ttl}
	l := w.acquire(ctx, w.Habits.key(rand.IntN(w.Habits.Keys)), limits[rand.IntN(len(limits))], rand.IntN(3) == 0)
	if l == nil {
		return nil
	}
	entered, err := l.enter()
	if entered {
		took := w.target.ttl / 50
		if rand.IntN(20) == 0 {
			took = 2 * w.target.ttl // with several renewals
		}
		pause(ctx, rand.N(took))
		l.valid()
		_, err = l.write(l.element(), nil)
	}
	if err != nil {
		return err
	}
	l.valid()
	rctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rand.IntN(2) == 0 {
		cancel()
	}
	l.release(rctx)
	return nil
}

// sending is which part of a worker's time goes into the write itself.
const sending = 10

// add adds one element to one set, as a program does that keeps its sets in a store: it
// reads the set, works, and writes the set. If it heeds its lease it stops working when
// that ends, and looks once more before it writes; what comes to it while it writes,
// which takes a tenth of the time, it does not see.
func (w *worker) add(ctx context.Context) error {
	l := w.acquire(ctx, w.Habits.key(rand.IntN(w.Habits.Keys)), 10*w.target.ttl, false)
	if l == nil {
		return nil
	}
	entered, err := l.enter()
	if err != nil {
		return err
	}
	if entered {
		took := w.target.ttl / 4
		w.toil(l, took*(sending-1)/sending)
		if !w.Habits.Heeds || l.valid() {
			pause(context.Background(), took/sending)
			if _, err := l.write(l.element(), l.set); err != nil {
				return err
			}
		}
	}
	l.release(context.Background())
	return nil
}

// toil works for d, or until the lease ends for a worker that heeds that.
func (w *worker) toil(l *held, d time.Duration) {
	ctx := context.Background()
	if w.Habits.Heeds {
		ctx = l.Context(ctx)
	}
	pause(ctx, d)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
