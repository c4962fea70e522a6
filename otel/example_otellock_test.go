package otellock_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/memory"
	otellock "github.com/distlock-go/distlock/otel"
)

// Record metrics and spans with the program's global providers, and tell kinds
// of locks apart by what stands before the first slash of a key.
func ExampleNew() {
	ctx := context.Background()
	trace, err := otellock.New(&otellock.Options{KeyClass: func(key string) string {
		class, _, _ := strings.Cut(key, "/")
		return class
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, _ := distlock.New(memory.New(), distlock.WithTrace(trace))
	defer client.Close(ctx)

	err = distlock.Do(ctx, client, "invoice/77", func(context.Context, *distlock.Lease) error { return nil })
	fmt.Println(err)
	// Output:
	// <nil>
}
