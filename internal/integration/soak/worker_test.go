package soak_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
