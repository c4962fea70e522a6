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
       distlock inspect [FLAG...] KEY
       distlock break [FLAG...] KEY TOKEN

Run has COMMAND run under the lock KEY. Its environment has DISTLOCK_KEY and
DISTLOCK_TOKEN. Inspect tells who has KEY. Break frees it by force, if the grant
with TOKEN, as inspect has shown it, still has it.

`

// addrEnv is the variable that -addr can come from.
const addrEnv = "DISTLOCK_ADDR"

// A service is where the lock is.
type service struct{ backend, addr string }

// newFlags returns the flags of a verb: those that name the service.
func newFlags(verb string) (*flag.FlagSet, *service) {
	s := new(service)
	f := flag.NewFlagSet("distlock "+verb, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), usage)
		fmt.Fprintf(f.Output(), "flags of %s:\n", verb)
		f.PrintDefaults()
		fmt.Fprintln(f.Output(), "\nbackends, and what -addr is there:")
		for _, b := range backends {
			fmt.Fprintf(f.Output(), "  %-9s %s\n", b.name, b.addr)
		}
	}
	f.StringVar(&s.backend, "backend", os.Getenv("DISTLOCK_BACKEND"), "the lock service's `kind`")
	f.StringVar(&s.addr, "addr", "", "where it is; default: "+addrEnv)
	return f, s
}

// parse reads the flags of a verb, and returns what follows them.
func (s *service) parse(f *flag.FlagSet, args []string) ([]string, error) {
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if s.addr == "" { // not the flag's default, which the usage shows
		s.addr = os.Getenv(addrEnv)
	}
	return f.Args(), nil
}

// misused is the exit status of a verb whose flags or arguments are wrong.
func misused(verb string, err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	complain("%v (distlock %s -help)", err, verb)
	return exitUsage
}

// lockDelay defines -lock-delay, of which none and 0 are two things.
func lockDelay(f *flag.FlagSet, opts *[]distlock.Option, use string) {
	f.Func("lock-delay", use+", a `duration`; default: what the backend does, mostly 0", func(text string) error {
		d, err := time.ParseDuration(text)
		*opts = append(*opts, distlock.WithLockDelay(d))
		return err
	})
}

// A job is what run is asked to do.
type job struct {
	*service
	key      string
	command  []string
	wait     time.Duration // for the lock; 0 tries once, less than 0 is for ever
	heldExit int
	ttl      time.Duration
	opts     []distlock.Option
}

// parseRun reads the command line of run.
func parseRun(args []string) (*job, error) {
	f, s := newFlags("run")
	j := &job{service: s}
	var minHold, maxHold time.Duration
	f.DurationVar(&j.wait, "wait", -1, "how long to wait for the lock; 0 tries once, less than 0 waits for ever")
	f.IntVar(&j.heldExit, "held-exit", exitHeld, "the exit `status`, 0 to 255, if the lock was not acquired")
	f.DurationVar(&j.ttl, "ttl", distlock.DefaultTTL, "how long the lock outlives a distlock that is gone")
	f.DurationVar(&minHold, "min-hold", 0, "keep the lock taken for at least this long, so that COMMAND runs once in that time")
	f.DurationVar(&maxHold, "max-hold", 0, "kill a COMMAND that has the lock for longer than this; default: never")
	lockDelay(f, &j.opts, "for how long nobody gets the lock after a distlock that was killed or cut off")
	f.Func("holder", "`text` for whoever inspects the lock; default: host name and process id", func(text string) error {
		j.opts = append(j.opts, distlock.WithHolder(text))
		return nil
	})
	// The flag package stops at the key, and leaves the dashes to us.
	rest, err := s.parse(f, args)
	if err != nil {
		return nil, err
	}
	if len(rest) < 3 || rest[1] != "--" {
		return nil, errors.New("want KEY -- COMMAND after the flags")
	}
	if j.heldExit < 0 || j.heldExit > maxExit {
		return nil, fmt.Errorf("-held-exit is %d, must be from 0 to %d", j.heldExit, maxExit)
	}
	j.key, j.command = rest[0], rest[2:]
	j.opts = append(j.opts, distlock.WithTTL(j.ttl))
	if minHold != 0 {
		j.opts = append(j.opts, distlock.WithMinHold(minHold))
	}
	if maxHold != 0 {
		j.opts = append(j.opts, distlock.WithMaxHold(maxHold))
	}
	return j, nil
}
