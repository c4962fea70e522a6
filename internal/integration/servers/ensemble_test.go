package servers_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

func TestMemberThatIsCutOffLosesItsLeaderAndNotItsClients(t *testing.T) {
	t.Parallel()
	e := servers.Start(t, servers.EtcdTrio)
	leader := leaderOf(t, e)
	servers.Do(t, leader.CutOff, leader.CutOff)
	eventually(t, "the others elect, and it learns that it leads nobody", func() bool {
		return etcdPut(others(e, leader)[0], "k", "1") == nil && etcdLeader(leader.Addr()) == "0"
	})
	if err := etcdPut(leader, "k", "2"); err == nil {
		t.Error("the member that is cut off confirms a write")
	}
	if got, err := etcdGet(leader, "k", true); err != nil || got != "" {
		t.Errorf("got %q, %v from what it still has, want nothing and no error", got, err)
	}
	servers.Do(t, leader.Heal, leader.Heal)
	eventually(t, "it has caught up", func() bool {
		got, err := etcdGet(leader, "k", false)
		return err == nil && got == "1"
	})
}

func TestCutOffOutlivesARestart(t *testing.T) {
	t.Parallel()
	e := servers.Start(t, servers.EtcdTrio)
	m := e.Members[1]
	servers.Do(t, m.Pause, m.CutOff, m.Resume, m.Kill)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // an election takes at most two
	defer cancel()
	if err := m.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's end: it has no leader", err)
	}
	if got := etcdLeader(m.Addr()); got != "0" && got != "" { // it may not even answer
		t.Errorf("it knows leader %q though it is cut off", got)
	}
	servers.Do(t, m.Heal)
	eventually(t, "it has a leader", func() bool { return etcdPut(m, "k", "1") == nil })
}

func TestEnsembleKeepsDataAndAddressesOverAFullRestart(t *testing.T) {
	t.Parallel()
	e := servers.Start(t, servers.EtcdTrio)
	before := e.Addrs()
	for i, end := range []func(context.Context) error{e.Stop, e.Kill} {
		want := fmt.Sprint(i)
		if err := etcdPut(e.Members[0], "k", want); err != nil {
			t.Fatal(err)
		}
		servers.Do(t, end, e.Start)
		for _, m := range e.Members {
			if got, err := etcdGet(m, "k", false); err != nil || got != want {
				t.Errorf("%s: got %q, %v, want %q", m.Name(), got, err, want)
			}
		}
	}
	if after := e.Addrs(); !slices.Equal(after, before) {
		t.Errorf("addresses are %v, were %v", after, before)
	}
}

func TestMemberAloneIsKilledPausedAndProxied(t *testing.T) {
	t.Parallel()
	e := servers.Start(t, servers.EtcdTrio)
	p := e.Members[0].Proxy(t)
	for _, c := range []struct {
		name       string
		end, start func(*servers.Member, context.Context) error
	}{
		{"kill", (*servers.Member).Kill, (*servers.Member).Start},
		{"pause", (*servers.Member).Pause, (*servers.Member).Resume},
	} {
		leader := leaderOf(t, e)
		other := others(e, leader)[0]
		hit := func(f func(*servers.Member, context.Context) error) {
			t.Helper()
			servers.Do(t, func(ctx context.Context) error { return f(leader, ctx) })
		}
		hit(c.end)
		eventually(t, c.name+": the others go on", func() bool { return etcdPut(other, "k", c.name) == nil })
		hit(c.start)
		eventually(t, c.name+": it follows", func() bool {
			got, err := etcdGet(leader, "k", false)
			return err == nil && got == c.name
		})
	}
	if etcdLeader(p.Addr()) == "" {
		t.Error("the proxy leads to no member")
	}
}

func TestEnsembleLeavesNothing(t *testing.T) {
	t.Parallel()
	broken := servers.EnsembleSpec{Name: "broken trio", Member: func(i int, peers []string) servers.Spec {
		s := servers.EtcdTrio.Member(i, peers)
		if i == 1 {
			return s.WithArgs("--no-such-option")
		}
		return s
	}}
	if _, err := broken.Launch(t.Context()); err == nil || !strings.Contains(err.Error(), "ended with status") {
		t.Errorf("got %v, want the broken member's end", err)
	}
	noNetwork(t, "broken trio")
	closed := servers.EtcdTrio
	closed.Name = "closed trio"
	e, err := closed.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Members[0].CutOff(t.Context()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(e.Close(t.Context()), e.Close(t.Context())); err != nil {
		t.Error(err)
	}
	noNetwork(t, "closed trio")
}

// noNetwork checks that there is no network of an ensemble of that name. Those of other
// processes are not told from this one's, so the name is the test's own.
func noNetwork(t *testing.T, name string) {
	t.Helper()
	out, err := exec.Command("docker", "network", "ls", "-q", "--filter", "label=distlock-test.name="+name).Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) > 0 {
		t.Errorf("networks of %s are left: %s", name, out)
	}
}
