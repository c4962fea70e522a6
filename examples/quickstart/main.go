// Quickstart shows what a lock with a lease does, and what only a fence can
// do: two workers are sent to debit the same order, and the one that was
// paused past its lease writes late.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -redis 127.0.0.1:6379
//
// It needs no server unless -redis names one. It exits with 1 if the story
// does not come true, and with 2 if it is called wrongly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/distlock-go/distlock"
)

func main() {
	os.Exit(run(os.Args[1:], new(distlock.Fence), os.Stdout, os.Stderr))
}

// run tells the story with fence before the account and then without one, and
// returns the exit status.
func run(args []string, fence guard, out, errs io.Writer) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(errs)
	addr := flags.String("redis", "", "take the locks from the Redis at `HOST:PORT` instead of from memory")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil || flags.NArg() > 0 {
		fmt.Fprintln(errs, "usage: quickstart [-redis HOST:PORT]")
		return 2
	}
	backend, disconnect := connect(*addr)
	defer disconnect()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	if err := backend.Ping(ctx); err != nil { // before anything depends on it; client.Ping does the same
		fmt.Fprintln(errs, "quickstart: the lock service is of no use:", err)
		return 1
	}

	fmt.Fprintf(out, "A prepaid account holds %d. Two workers were sent to debit the same order of %d.\n", deposit, price)
	for _, act := range []struct {
		title   string
		guard   guard
		balance int
		late    error // what A's late write must meet
	}{
		{"With a fence at the account:", fence, deposit - price, distlock.ErrStale},
		{"The same, without a fence:", noGuard{}, deposit - 2*price, nil},
	} {
		fmt.Fprintln(out, act.title)
		end, err := tell(ctx, backend, act.guard, out)
		if err == nil {
			err = end.check(act.balance, act.late)
		}
		if err != nil {
			fmt.Fprintln(errs, "quickstart: the story did not come true:", err)
			return 1
		}
	}
	return 0
}
