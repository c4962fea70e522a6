package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Run a short job once in half an hour, however many machines try: the key
// stays taken though the job is done and its process ends.
func ExampleWithMinHold() {
	ctx := context.Background()
	backend := memory.New()

	for _, machine := range []string{"first", "second"} {
		client, _ := distlock.New(backend)
		lease, err := client.TryAcquire(ctx, "report", distlock.WithMinHold(30*time.Minute))
		switch {
		case errors.Is(err, distlock.ErrHeld):
			fmt.Println(machine, "machine: done in this window")
		case err == nil:
			fmt.Println(machine, "machine: sends the report")
			_ = lease.Release(ctx)
		}
		_ = client.Close(ctx)
	}
	// Output:
	// first machine: sends the report
	// second machine: done in this window
}
