// Invoices bills 10,000 accounts once each with 20 workers, by locks on Redis: the
// efficiency case. A lock keeps two workers from doing the same invoice, which
// saves the money of doing it twice; it does not keep the books. Some workers are
// stopped past their leases, another one does their invoices meanwhile, and then
// they write too: a unique constraint of the ledger discards what they write. The
// second act is the same without the constraint, and shows what it would cost.
//
//	go run ./examples/invoices -redis 127.0.0.1:6379
//
// The ledger is in the same Redis, under a name of its own that is deleted at the
// end. It exits with 1 if the books do not balance where they must, or balance
// where they cannot, and with 2 if it is called wrongly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run bills with the constraint and then without, and returns the exit status.
func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("invoices", flag.ContinueOnError)
	flags.SetOutput(errs)
	addr := flags.String("redis", "127.0.0.1:6379", "the Redis at `HOST:PORT`, for locks and ledger")
	accounts := flags.Int("accounts", 10_000, "how many `accounts` are billed")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil || flags.NArg() > 0 || *accounts < 1 {
		fmt.Fprintln(errs, "usage: invoices [-redis HOST:PORT] [-accounts N]")
		return 2
	}
	rdb := goredis.NewClient(&goredis.Options{Addr: *addr})
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, unique := range []bool{true, false} {
		fmt.Fprintf(out, "%d accounts, %d workers, unique constraint: %v\n", *accounts, workers, unique)
		r := &round{rdb: rdb, ledger: newLedger(rdb, unique), accounts: *accounts}
		err := r.bill(ctx, out)
		if err == nil {
			err = r.judge(ctx, unique, out)
		}
		if err != nil {
			fmt.Fprintln(errs, "invoices:", err)
			return 1
		}
	}
	return 0
}
