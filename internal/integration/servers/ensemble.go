package servers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/moby/moby/client"
)

// An EnsembleSpec is servers that serve as one and agree among themselves by majority,
// as those of etcd, ZooKeeper and Consul do. A service declares one like this:
//
//	var FooTrio = EnsembleSpec{Name: "foo trio", Member: fooMember}
//
//	// fooMember returns how the i-th member is run.
//	func fooMember(i int, peers []string) Spec {
//		return Spec{
//			Image: Image{Local: "foo:1"},
//			Command: func(ports []int) []string {
//				return []string{
//					"foo",
//					"--clients", fmt.Sprintf("0.0.0.0:%d", ports[0]),
//					"--advertise-to-clients", fmt.Sprintf("127.0.0.1:%d", ports[0]),
//					"--peers", peers[i] + ":7000",
//					"--all-peers", strings.Join(peers, ":7000,") + ":7000",
//				}
//			},
//			Ready: fooReady, // fails while there is no leader
//		}
//	}
//
// and a test uses it so:
//
//	e := servers.Start(t, servers.FooTrio)
//	e.Addrs()                                   // for a client, "127.0.0.1:PORT" each
//	servers.Do(t, e.Members[0].CutOff)          // clients still reach it, peers do not
//	servers.Do(t, e.Members[0].Heal)
//	servers.Do(t, e.Members[1].Kill, e.Members[1].Start)
//	servers.Do(t, e.Kill, e.Start)              // of all, at once
//	p := e.Members[2].Proxy(t)                  // between a client and that member
//
// Unlike other servers, each member has a network namespace of its own with two
// networks. Clients come over one, from 127.0.0.1 and under the very port numbers that
// Command is given; so Command must bind those ports to all addresses (0.0.0.0). The
// peers talk over the other, where each has a fixed address, and whatever ports they
// like. Nothing else can be reached over it.
type EnsembleSpec struct {
	// Name tells the ensemble from others in messages.
	Name string
	// Size is how many members there are, up to 13; 0 means 3.
	Size int
	// Member returns how the i-th member is run, from 0, given the addresses at
	// which the members reach each other: IPs without ports, peers[i] its own. They
	// stay the same over restarts. The members are started all at once, and each is
	// waited for by Ready. The Spec's name is set by the ensemble.
	Member func(i int, peers []string) Spec
}

// An Ensemble is servers that serve as one.
type Ensemble struct {
	Members []*Member
	network string // the engine's id
}

// A Member is one server of an ensemble. Start and StartEmpty wait until it serves,
// which it does not without a majority: see [Ensemble.Start]. Whether a service takes a
// member back that has lost its data, as StartEmpty does, is up to the service.
type Member struct {
	*Server
}

// CutOff takes the member's peers away, in both directions at once: nothing arrives,
// and nobody is told, as when a cable is pulled. Clients still reach it. It outlives
// restarts, in which the member lacks its address among its peers: a service that
// binds to it does not start. A second CutOff does nothing.
func (m *Member) CutOff(ctx context.Context) error {
	return m.do(ctx, "cut off", func(c *client.Client) error {
		if m.cut {
			return nil
		}
		err := m.spec.place.disconnect(ctx, c, m.id)
		m.cut = err == nil
		return err
	})
}

// Heal ends a CutOff. Connections that have lasted so long go on.
func (m *Member) Heal(ctx context.Context) error {
	return m.do(ctx, "heal", func(c *client.Client) error {
		if !m.cut {
			return nil
		}
		err := m.spec.place.connect(ctx, c, m.id)
		m.cut = err != nil
		return err
	})
}

// Launch makes the network of the peers, starts the members and waits until each serves.
func (s EnsembleSpec) Launch(ctx context.Context) (*Ensemble, error) {
	if err := prepare(ctx); err != nil {
		return nil, err
	}
	c, err := engine()
	if err != nil {
		return nil, err
	}
	network, subnet, err := createNetwork(ctx, c, s.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	e := &Ensemble{network: network}
	members, err := launchAll(ctx, s.specs(network, subnet)...)
	if err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	for _, m := range members {
		e.Members = append(e.Members, &Member{m})
	}
	return e, nil
}

// specs returns the members' specs, each with its place.
func (s EnsembleSpec) specs(network string, subnet netip.Prefix) []Spec {
	if s.Size == 0 {
		s.Size = 3
	}
	specs, addrs, peers := make([]Spec, s.Size), make([]netip.Addr, s.Size), make([]string, s.Size)
	next := subnet.Addr().Next() // the engine's own
	for i := range addrs {
		next = next.Next()
		addrs[i], peers[i] = next, next.String()
	}
	for i := range specs {
		specs[i] = s.Member(i, peers).named("%s member %d", s.Name, i+1)
		specs[i].place = place{network: network, addr: addrs[i]}
	}
	return specs
}

// Stop stops all members at once.
func (e *Ensemble) Stop(ctx context.Context) error { return e.all(ctx, (*Server).Stop) }

// Kill kills all members at once.
func (e *Ensemble) Kill(ctx context.Context) error { return e.all(ctx, (*Server).Kill) }

// Start starts all members at once, with what they have on disk, and waits until each
// serves. Members that run are left alone.
func (e *Ensemble) Start(ctx context.Context) error { return e.all(ctx, (*Server).Start) }

// all changes all members at once.
func (e *Ensemble) all(ctx context.Context, change func(*Server, context.Context) error) error {
	return e.servers().each(func(s *Server) error { return change(s, ctx) })
}

func (e *Ensemble) servers() group {
	g := make(group, len(e.Members))
	for i, m := range e.Members {
		g[i] = m.Server
	}
	return g
}

// Addrs returns the addresses of all members for clients.
func (e *Ensemble) Addrs() []string { return e.servers().Addrs() }

// Close removes all members and their network, even if ctx has ended.
func (e *Ensemble) Close(ctx context.Context) error {
	err := e.servers().Close(ctx)
	c, cerr := engine()
	if cerr != nil {
		return errors.Join(err, cerr)
	}
	return errors.Join(err, removeNetwork(context.WithoutCancel(ctx), c, e.network))
}
