package faults_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/integration/servers"
)

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
			if c.name == "leader cut off" {
				covers(t, "consul", leaderCutOff)
			}
			leader, others := consulRoles(t, e)
			at, elsewhere := leader, others[0]
			if !c.atLeader {
				at, elsewhere = others[0], others[1]
			}
			machine := watchMachine(t)
			holders := slices.Repeat([]distlock.Locker{consulLocks(t, at.Addr(), distlock.WithTTL(ttl))}, rounds)
			h := newHandOffs(t, ttl, holders, func(o distlock.Option) *distlock.Client {
				return consulLocks(t, elsewhere.Addr(), distlock.WithTTL(nextTTL), o)
			})
			mustDo(t, at, c.cut)
			h.check(machine)
			mustDo(t, at, c.end)
		})
	}
}

// nextTTL is that of the next holder, whose session has to outlive an election.
const nextTTL = 15 * time.Second

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
