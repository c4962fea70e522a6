package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
)

// Make a client with defaults of your own. Options are checked here, before
// anything is sent; Ping asks the server.
func ExampleNew() {
	ctx := context.Background()
	client, err := distlock.New(memory.New(),
		distlock.WithTTL(10*time.Second),
		distlock.WithHolder("billing-3"),
		distlock.RequireFencing(distlock.FencingDurable),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(ctx)
	fmt.Println("ping:", client.Ping(ctx))

	_, err = distlock.New(memory.New(), distlock.WithTTL(time.Millisecond))
	fmt.Println(err)
	fmt.Println("invalid:", errors.Is(err, distlock.ErrInvalid))
	// Output:
	// ping: <nil>
	// distlock: new (memory): invalid argument: TTL is 1ms, must be between 10ms and 24h0m0s
	// invalid: true
}
