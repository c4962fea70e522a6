package redlock_test

import (
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock"
)

// Keep nodes out that have lost their data, until what they had granted before
// is over. The delay is at least the largest TTL + lock-delay of any client.
func ExampleOptions_restartDelay() {
	backend := redlock.New(connect(), &redlock.Options{RestartDelay: 15 * time.Second})
	_, err := distlock.New(backend, distlock.WithTTL(10*time.Second), distlock.WithLockDelay(5*time.Second))
	fmt.Println(err)
	_, err = distlock.New(backend, distlock.WithTTL(20*time.Second))
	fmt.Println(err)
	// Output:
	// <nil>
	// distlock: new (redlock): invalid argument: TTL + lock-delay is 20s, must be at most the restart delay of 15s
}
