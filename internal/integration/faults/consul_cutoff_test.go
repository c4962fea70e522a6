package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/proxy"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

// Stands for: Consul's own client learns of a loss by a blocking query, for minutes if
// packets are dropped silently, while its successor works.
func TestConsulHolderThatIsCutOffEndsBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	const rounds, ttl = 30, 2 * time.Second
	for _, c := range []struct {
		name              string
		requests, replies proxy.Mode
	}{
		{"both ways", proxy.Swallow, proxy.Swallow},
		{"replies", proxy.Pass, proxy.Swallow},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := healthyConsulServer(t)
			link, machine := s.Proxy(t), watchMachine(t)
			first := consulLocks(t, link.Addr(), distlock.WithTTL(ttl))
			h := newHandOffs(t, first, s.Addr(), rounds)
			link.Set(c.requests, c.replies)
			h.check(machine)
		})
	}
}

// handOffs are keys that a holder has and a next one waits for.
type handOffs struct {
	t       *testing.T
	rounds  []*round
	running sync.WaitGroup
}

// newHandOffs has first hold keys and a client at addr wait for them. It returns when
// all waits have been told that the key is held.
func newHandOffs(t *testing.T, first *distlock.Client, addr string, rounds int) *handOffs {
	t.Helper()
	var refused sync.Map
	next := consulLocks(t, addr, distlock.WithTTL(nextTTL), distlock.WithTrace(&distlock.Trace{
		Attempted: func(_ context.Context, i distlock.AttemptInfo) {
			if errors.Is(i.Err, distlock.ErrHeld) {
				refused.Store(i.Key, true)
			}
		},
	}))
	h := &handOffs{t: t, rounds: make([]*round, rounds)}
	for i := range h.rounds {
		r := &round{lease: acquire(t, first, fmt.Sprintf("%s-%d", t.Name(), i))}
		h.rounds[i] = r
		r.context = r.lease.Context(t.Context()).Done()
		h.running.Go(func() { <-r.context; r.done = time.Now() })
		h.running.Go(func() { r.follow(t, next) })
	}
	eventually(t, bound, "all wait", func() bool {
		return !slices.ContainsFunc(h.rounds, func(r *round) bool {
			_, told := refused.Load(r.lease.Key())
			return !told
		})
	})
	return h
}

// nextTTL is that of the next holder, whose session has to outlive an election.
const nextTTL = 15 * time.Second

// check waits until all keys have changed hands, and judges how.
func (h *handOffs) check(machine *sentinel) {
	h.t.Helper()
	h.running.Wait()
	var late, gap durations
	excused := 0
	for i, r := range h.rounds {
		if err := r.check(machine); err == errStalled {
			excused++
		} else if err != nil {
			h.t.Errorf("round %d: %v", i, err)
		}
		late, gap = append(late, r.done.Sub(r.deadline)), append(gap, r.in.Sub(r.deadline))
	}
	h.t.Logf("Done after Deadline: %v; next holder after it: %v; %d of %d rounds not judged by Done, as the machine stalled",
		late, gap, excused, len(h.rounds))
}

// Stands for: a holder at a server that is on the wrong side of a partition, or that
// hangs, believes in its lock as long as that server answers.
func TestConsulHolderAtAServerThatIsCutOffEndsBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	const rounds, ttl = 10, 3 * time.Second
	e := servers.Start(t, servers.ConsulTrio)
	for _, c := range []struct {
		name     string
		atLeader bool
		cut, end change
	}{
		{"leader cut off", true, (*servers.Member).CutOff, (*servers.Member).Heal},
		{"follower cut off", false, (*servers.Member).CutOff, (*servers.Member).Heal},
		{"leader paused", true, pauseMember, resumeMember},
		{"leader killed", true, killMember, startMember},
		{"follower killed", false, killMember, startMember},
	} {
		t.Run(c.name, func(t *testing.T) {
			leader, others := consulRoles(t, e)
			at, elsewhere := leader, others[0]
			if !c.atLeader {
				at, elsewhere = others[0], others[1]
			}
			machine := watchMachine(t)
			h := newHandOffs(t, consulLocks(t, at.Addr(), distlock.WithTTL(ttl)), elsewhere.Addr(), rounds)
			mustDo(t, at, c.cut)
			h.check(machine)
			mustDo(t, at, c.end)
		})
	}
}

// A change is one of a member's methods.
type change = func(*servers.Member, context.Context) error

func killMember(m *servers.Member, ctx context.Context) error   { return m.Kill(ctx) }
func startMember(m *servers.Member, ctx context.Context) error  { return m.Start(ctx) }
func pauseMember(m *servers.Member, ctx context.Context) error  { return m.Pause(ctx) }
func resumeMember(m *servers.Member, ctx context.Context) error { return m.Resume(ctx) }

// mustDo carries out a change or ends the test.
func mustDo(t testing.TB, m *servers.Member, c change) {
	t.Helper()
	servers.Do(t, func(ctx context.Context) error { return c(m, ctx) })
}
