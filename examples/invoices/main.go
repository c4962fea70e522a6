// Invoices bills 10,000 accounts once each with 20 workers. Half of the workers are
// stopped once, in the middle of an invoice, for longer than their lease: another one
// does that invoice meanwhile, and then they wake up and write too.
//
// Efficiency: locks and ledger on Redis. A lock keeps two workers from doing the same
// invoice, which saves the money of doing it twice; it does not keep the books. A unique
// constraint of the ledger discards what comes late.
//
// Correctness: locks on etcd, and a ledger in Postgres that adds up what it is told.
// Its fence compares the token of the lock, in the transaction that writes, with the
// largest it has seen, and refuses what comes late.
//
// Each case has a second act, without the constraint or the fence, which shows what
// that would cost.
//
//	go run ./examples/invoices -redis 127.0.0.1:6379 -etcd 127.0.0.1:2379 -postgres postgres://127.0.0.1/test
//
// The ledgers have names of their own and are deleted at the end. It exits with 1 if
// the books do not balance where they must, or balance where they cannot, and with 2 if
// it is called wrongly. "make example-invoices" starts the servers too.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run bills by each case, with its guard and then without, and returns the exit status.
func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("invoices", flag.ContinueOnError)
	flags.SetOutput(errs)
	redis := flags.String("redis", "", "the Redis at `HOST:PORT`, for the efficiency case")
	etcd := flags.String("etcd", "", "the etcd at `HOST:PORT`, for the correctness case")
	postgres := flags.String("postgres", "", "the `URL` of the Postgres for its ledger")
	accounts := flags.Int("accounts", 10_000, "how many `accounts` are billed")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil || flags.NArg() > 0 || *accounts < workers || (*etcd == "") != (*postgres == "") || *redis+*etcd == "" {
		fmt.Fprintf(errs, "usage: invoices [-redis HOST:PORT] [-etcd HOST:PORT -postgres URL] [-accounts N], N from %d\n", workers)
		return 2
	}
	var acts []act
	if *redis != "" {
		acts = append(acts, efficiency(*redis))
	}
	if *etcd != "" {
		acts = append(acts, correctness(*etcd, *postgres))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	for _, act := range acts {
		for _, guarded := range []bool{true, false} {
			if err := act.play(ctx, &round{name: rand.Text(), accounts: *accounts, guarded: guarded}, out); err != nil {
				fmt.Fprintln(errs, "invoices:", err)
				return 1
			}
		}
	}
	return 0
}

// An act sets a round up: its locks and its ledger.
type act func(ctx context.Context, r *round) (close func(), err error)

func (a act) play(ctx context.Context, r *round, out io.Writer) error {
	end, err := a(ctx, r)
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintf(out, "%s: %d accounts, %d workers, %s: %v\n", r.title, r.accounts, workers, r.guard, r.guarded)
	if err := r.bill(ctx, out); err != nil {
		return errors.Join(err, r.ledger.drop(context.WithoutCancel(ctx)))
	}
	return r.judge(ctx, out)
}
