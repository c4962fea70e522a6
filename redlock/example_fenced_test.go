package redlock_test

import (
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock"
)

// Ask for tokens. Without the option there are none, and New says so.
func ExampleOptions_fenced() {
	nodes := connect()
	_, err := distlock.New(redlock.New(nodes, nil), distlock.RequireFencing(distlock.FencingBestEffort))
	fmt.Println(err)

	fenced := redlock.New(nodes, &redlock.Options{Fenced: true})
	_, err = distlock.New(fenced, distlock.RequireFencing(distlock.FencingBestEffort))
	fmt.Println(err)
	// Output:
	// distlock: new (redlock): fencing level not offered: redlock offers none, best effort is required
	// <nil>
}

// A majority of two is both, so that two servers are worth less than one.
func ExampleNew_tooFew() {
	_, err := distlock.New(redlock.New(connect()[:2], nil))
	fmt.Println(err)
	// Output:
	// distlock: new (redlock): invalid argument: number of nodes is 2, must be at least 3
}
