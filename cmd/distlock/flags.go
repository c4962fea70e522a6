//go:build unix

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/distlock-go/distlock"
)

const usage = `usage: distlock run [FLAG...] KEY -- COMMAND [ARG...]

Runs COMMAND under the lock KEY. Its environment has DISTLOCK_KEY and DISTLOCK_TOKEN.

`

// addrEnv is the variable that -addr can come from.
const addrEnv = "DISTLOCK_ADDR"

// A job is what the command line asks for.
type job struct {
	backend, addr string
	key           string
	command       []string
	wait          time.Duration // for the lock; 0 tries once, less than 0 is for ever
	heldExit      int
	opts          []distlock.Option
}

// parse reads the command line.
func parse(args []string) (*job, error) {
	j := new(job)
	var ttl, minHold time.Duration
	var holder string
	f := flag.NewFlagSet("distlock run", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), usage)
		f.PrintDefaults()
		fmt.Fprintln(f.Output(), "\nbackends, and what -addr is there:")
		for _, b := range backends {
			fmt.Fprintf(f.Output(), "  %-9s %s\n", b.name, b.addr)
		}
	}
	f.StringVar(&j.backend, "backend", os.Getenv("DISTLOCK_BACKEND"), "the lock service's `kind`")
	f.StringVar(&j.addr, "addr", "", "where it is; default: "+addrEnv)
	f.DurationVar(&j.wait, "wait", -1, "how long to wait for the lock; 0 tries once, less than 0 waits for ever")
	f.IntVar(&j.heldExit, "held-exit", exitHeld, "the exit `status` if the lock was not acquired")
	f.DurationVar(&ttl, "ttl", distlock.DefaultTTL, "how long the lock outlives a distlock that is gone")
	f.DurationVar(&minHold, "min-hold", 0, "keep the lock taken for at least this long, so that COMMAND runs once in that time")
	f.StringVar(&holder, "holder", "", "`text` for whoever inspects the lock")
	if len(args) == 0 || args[0] != "run" {
		f.Usage()
		return nil, errors.New("the one thing it can do is run")
	}
	if err := f.Parse(args[1:]); err != nil {
		return nil, err
	}
	// The flag package stops at the key, and leaves the dashes to us.
	rest := f.Args()
	if len(rest) < 3 || rest[1] != "--" {
		return nil, errors.New("want KEY -- COMMAND after the flags")
	}
	if j.addr == "" { // not the flag's default, which the usage shows
		j.addr = os.Getenv(addrEnv)
	}
	j.key, j.command = rest[0], rest[2:]
	j.opts = append(j.opts, distlock.WithTTL(ttl), distlock.WithHolder(holder))
	if minHold != 0 {
		j.opts = append(j.opts, distlock.WithMinHold(minHold))
	}
	return j, nil
}
