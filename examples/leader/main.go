// Leader runs a task on one of several machines at a time, and moves it to
// another one when that machine stops, crashes or is cut off.
//
//	go run ./examples/leader -redis 127.0.0.1:6379    # in two terminals; stop one
//
// Without -redis it is elected in its own memory, which shows how it looks and
// excludes nobody.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
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
	addr := flag.String("redis", "", "be elected through the Redis at `HOST:PORT`")
	flag.Parse()
	var backend distlock.Backend = memory.New()
	if *addr != "" {
		rdb := goredis.NewClient(&goredis.Options{Addr: *addr})
		defer rdb.Close()
		backend = redislock.New(rdb, nil)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, backend, time.Second, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "leader:", err)
		os.Exit(1)
	}
}

// run leads whenever it can, until ctx ends.
func run(ctx context.Context, b distlock.Backend, every time.Duration, out io.Writer) error {
	trace := distlock.LogTrace(slog.Default()) // losses, and terms that failed
	client, err := distlock.New(b, distlock.WithTTL(10*time.Second), distlock.WithTrace(trace))
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	if err := client.Ping(ctx); err != nil {
		return err // at start-up a service that does not answer is a mistake; later it is an outage
	}
	err = distlock.Campaign(ctx, client, "examples/leader", func(ctx context.Context, lease *distlock.Lease) error {
		fmt.Fprintln(out, "leading, token", lease.Token())
		defer fmt.Fprintln(out, "not leading any more")
		return lead(ctx, every, out)
	})
	if ctx.Err() != nil {
		return nil // we were told to stop, and have
	}
	return err
}

// lead is the work of a leader. It stops when ctx ends: after that somebody
// else leads. What it writes elsewhere carries the token.
func lead(ctx context.Context, every time.Duration, out io.Writer) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
			fmt.Fprintln(out, "working")
		}
	}
}
