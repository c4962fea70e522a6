package distlock_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Log what happens to locks. At the level Info only what went wrong would show.
func ExampleLogTrace() {
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key { // what differs from run to run
			case slog.TimeKey, "took", "held":
				return slog.Attr{}
			}
			return a
		},
	}))
	client, _ := distlock.New(memory.New(), distlock.WithTrace(distlock.LogTrace(log)))
	defer client.Close(ctx)

	lease, err := client.Acquire(ctx, "invoice-77")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := lease.Release(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// level=DEBUG msg="lock acquired" backend=memory key=invoice-77 token=1 attempts=1
	// level=DEBUG msg="lock released" backend=memory key=invoice-77 token=1
}

// Count what you want to see on a dashboard. Every function may be left out.
func ExampleTrace() {
	ctx := context.Background()
	var acquired, refused atomic.Int64
	client, _ := distlock.New(memory.New(), distlock.WithTrace(&distlock.Trace{
		Acquired: func(_ context.Context, i distlock.AcquireInfo) {
			if i.Err != nil {
				refused.Add(1)
				return
			}
			acquired.Add(1)
		},
	}))
	defer client.Close(ctx)

	lease, _ := client.TryAcquire(ctx, "k")
	_, err := client.TryAcquire(ctx, "k")
	fmt.Println(acquired.Load(), "acquired,", refused.Load(), "refused:", err)
	if err := lease.Release(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 acquired, 1 refused: distlock: acquire "k" (memory): held by another owner
}
