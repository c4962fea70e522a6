package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/distlock-go/distlock/internal/integration/proxy"
)

// quick lets a primary's replicas start in milliseconds: by default a replica waits
// five seconds for others to come.
func quick(s Spec) Spec {
	return s.WithArgs("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
}

// replicaOf returns a Spec for a replica of the server at port.
func replicaOf(s Spec, port string) Spec {
	return quick(s).named("%s replica", s.Name).WithArgs("--replicaof", host+" "+port, "--replica-announce-ip", host)
}

// replicated returns nil once the primary has n replicas that follow it.
func replicated(ctx context.Context, primary *Server, n int) error {
	info, err := text(ctx, primary.Addr(), "INFO", "replication")
	if err != nil {
		return err
	}
	if got := strings.Count(info, ",state=online,"); got != n {
		return fmt.Errorf("%d of %d replicas online", got, n)
	}
	return nil
}

// PairSpec is a primary and one replica, without anything that fails over.
type PairSpec struct {
	Of Spec
}

// A Pair is a primary and a replica that follows it over Link. With Link swallowing
// or holding, the primary confirms writes that the replica does not get: the way to
// lose a write in a failover.
type Pair struct {
	Primary, Replica *Server
	Link             *proxy.Proxy
}

// Launch starts both servers and waits until the replica follows.
func (p PairSpec) Launch(ctx context.Context) (*Pair, error) {
	primary, err := quick(p.Of).named("%s primary", p.Of.Name).Launch(ctx)
	if err != nil {
		return nil, err
	}
	pair := &Pair{Primary: primary}
	if pair.Link, err = proxy.Listen(primary.Addr()); err == nil {
		pair.Replica, err = replicaOf(p.Of, pair.Link.Port()).Launch(ctx)
	}
	if err == nil {
		err = settle(ctx, func(ctx context.Context) error { return replicated(ctx, primary, 1) })
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pair of %s: %w", p.Of.Name, err), pair.Close(ctx))
	}
	return pair, nil
}

// Promote makes the replica a primary, with the data that it has got.
func (p *Pair) Promote(ctx context.Context) error {
	_, err := text(ctx, p.Replica.Addr(), "REPLICAOF", "NO", "ONE")
	return err
}

// Addrs returns the addresses of the primary and the replica.
func (p *Pair) Addrs() []string { return []string{p.Primary.Addr(), p.Replica.Addr()} }

// Close removes both servers and ends Link.
func (p *Pair) Close(ctx context.Context) error {
	if p.Link != nil {
		p.Link.Close()
	}
	return group{p.Primary, p.Replica}.Close(ctx)
}
