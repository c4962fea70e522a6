package faults_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// rounds is how many holders of each backend are cut off in each way: 100 by make faults.
var rounds = flag.Int("rounds", lanes, "how many holders to cut off")

// lanes is how many are cut off at a time, each with a session of its own.
const lanes = 10

// Stands for: a holder whose packets, or whose answers, are dropped silently goes on
// working for minutes beside its successor, as its client waits for an answer before it
// looks at the clock.
func TestCutOffHolderEndsBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	t.Run("both ways", func(t *testing.T) { cutOffAll(t, cutOffBothWays, proxy.Swallow) })
	t.Run("replies", func(t *testing.T) { cutOffAll(t, cutOffReplies, proxy.Pass) })
}

func cutOffAll(t *testing.T, f fault, requests proxy.Mode) {
	t.Parallel()
	forBackends(t, f, func(t *testing.T, s *service, _ cell) {
		for n := 0; n < *rounds; n += lanes {
			t.Run(fmt.Sprint(n), func(t *testing.T) { cutOff(t, s, requests) })
		}
	})
}

// cutOff lets holders take a key each, cuts them off, and judges how each key gets to the
// next one.
func cutOff(t *testing.T, s *service, requests proxy.Mode) {
	f := s.healthy(t)
	link, machine := f.link(t), watchMachine(t)
	ttl := distlock.WithTTL(shortTTL)
	holders := make([]distlock.Locker, lanes)
	for i := range holders {
		holders[i] = s.locks(t, link.addrs(), ttl)
	}
	h := newHandOffs(t, shortTTL, holders, func(o distlock.Option) *distlock.Client { return s.locks(t, f.addrs(), o) })
	link.set(requests, proxy.Swallow)
	cut := time.Now()
	late := h.check(machine)
	measured.late(s.name, late)
	for _, r := range h.rounds {
		end := cut
		if requests == proxy.Pass { // its requests are signs of life until its lease has ended
			end = r.deadline
		}
		measured.takeOver(t, s.name, partitioned, machine, end, r.in)
	}
}
