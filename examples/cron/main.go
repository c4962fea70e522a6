// Cron runs a short job once in a window of time, though every machine's cron
// starts it.
//
//	0 * * * *  cron -redis 127.0.0.1:6379 -window 30m
//
// The first to come takes the lock and does the job. The lock stays taken until
// the window is over, also after the process has ended, so that a machine
// whose clock is behind finds it taken and leaves. So it does if the job has failed:
// nobody tries again in this window. Without -redis the lock is
// in the process's own memory, which excludes nobody.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	redislock "github.com/distlock-go/distlock/redis"
)

func main() {
	addr := flag.String("redis", "", "lock on the Redis at `HOST:PORT`")
	window := flag.Duration("window", 30*time.Minute, "how long nobody runs the job again: more than clocks differ, less than the period")
	flag.Parse()
	var backend distlock.Backend = memory.New()
	if *addr != "" {
		rdb := goredis.NewClient(&goredis.Options{Addr: *addr})
		defer rdb.Close()
		backend = redislock.New(rdb, nil)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, backend, *window, report, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cron:", err)
		os.Exit(1)
	}
}

// run does the job, unless it was done in this window.
func run(ctx context.Context, b distlock.Backend, window time.Duration, job func(context.Context, io.Writer) error, out io.Writer) error {
	client, err := distlock.New(b, distlock.WithTTL(time.Minute))
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx)) // keeps the key taken, as Release does
	lease, err := client.TryAcquire(ctx, "examples/cron/report", distlock.WithMinHold(window))
	if errors.Is(err, distlock.ErrHeld) {
		fmt.Fprintln(out, "somebody else is at it, or has done it")
		return nil
	}
	if err != nil {
		return err
	}
	err = job(lease.Context(ctx), out)
	return errors.Join(err, lease.Release(ctx)) // ErrLost: it ran, but perhaps not alone
}

// report is the job. It stops when ctx ends.
func report(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "sent the report")
	return ctx.Err()
}
