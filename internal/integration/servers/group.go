package servers

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// group is several servers that are closed together.
type group []*Server

// launchAll starts one server per spec, all at once. On failure none is left.
func launchAll(ctx context.Context, specs ...Spec) (group, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	servers, errs := make(group, len(specs)), make([]error, len(specs))
	var wg sync.WaitGroup
	for i, s := range specs {
		wg.Go(func() {
			if servers[i], errs[i] = s.Launch(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, servers.Close(ctx))
	}
	return servers, nil
}

// Addrs returns the addresses of all.
func (g group) Addrs() []string {
	addrs := make([]string, len(g))
	for i, s := range g {
		addrs[i] = s.Addr()
	}
	return addrs
}

// Close removes all servers, even if ctx has ended.
func (g group) Close(ctx context.Context) error {
	return g.each(func(s *Server) error { return s.Close(ctx) })
}

// each calls f for all servers at once, and returns all errors.
func (g group) each(f func(*Server) error) error {
	errs := make([]error, len(g))
	var wg sync.WaitGroup
	for i, s := range g {
		if s != nil {
			wg.Go(func() { errs[i] = f(s) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// MastersSpec is servers that know nothing of each other.
type MastersSpec struct {
	Of    Spec
	Count int // 0 means 5
}

// Masters are servers that know nothing of each other.
type Masters struct {
	Nodes []*Server
}

// Launch starts the servers.
func (m MastersSpec) Launch(ctx context.Context) (*Masters, error) {
	if m.Count == 0 {
		m.Count = 5
	}
	specs := make([]Spec, m.Count)
	for i := range specs {
		specs[i] = m.Of.named("%s %d", m.Of.Name, i+1)
	}
	nodes, err := launchAll(ctx, specs...)
	if err != nil {
		return nil, err
	}
	return &Masters{nodes}, nil
}

// Addrs returns the addresses of all nodes.
func (m *Masters) Addrs() []string { return group(m.Nodes).Addrs() }

// Close removes all nodes.
func (m *Masters) Close(ctx context.Context) error { return group(m.Nodes).Close(ctx) }

// settle polls a condition of several servers until it is nil, for startLimit at most.
func settle(ctx context.Context, condition func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
	defer cancel()
	for {
		err := condition(ctx)
		if err == nil {
			return nil
		}
		if !wait(ctx, pollInterval) {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}
