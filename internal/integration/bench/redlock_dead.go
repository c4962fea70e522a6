package main

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/internal/integration/servers"
)

// nodesDead compares acquire and release with some of the nodes hung or down to the
// same with all of them up, on other servers.
func nodesDead(ctx context.Context, p plan, up *servers.Masters) ([]line, error) {
	m, err := launchNodes(ctx)
	if err != nil {
		return nil, err
	}
	defer m.Close(context.Background())
	var lines []line
	for _, fate := range []struct {
		name      string
		end, mend func(*servers.Server, context.Context) error
	}{
		{"hung", (*servers.Server).Pause, (*servers.Server).Resume},
		{"down", (*servers.Server).Stop, (*servers.Server).Start},
	} {
		for n := range 2 {
			if err := fate.end(m.Nodes[n], ctx); err != nil {
				return nil, err
			}
			got, err := deadBesideUp(ctx, p, m, up)
			if err != nil {
				return nil, err
			}
			got.Figure = fmt.Sprintf("plain, acquire, p50, %d of %d %s beside all up", n+1, redlockNodes, fate.name)
			lines = append(lines, got.atMost(1.2))
		}
		for n := range 2 {
			if err := fate.mend(m.Nodes[n], ctx); err != nil {
				return nil, err
			}
		}
	}
	return lines, nil
}

// deadBesideUp measures acquisitions over m and over up by turns.
func deadBesideUp(ctx context.Context, p plan, m, up *servers.Masters) (line, error) {
	var records [2]record
	var sides [2]side
	for i, of := range []*servers.Masters{m, up} {
		c, err := newRedlockClient(of.Addrs(), &modes[0].opts)
		if err != nil {
			return line{}, err
		}
		defer c.close()
		sides[i] = sample(&records[i], func(ctx context.Context) (time.Duration, error) {
			start := time.Now()
			l, err := c.lock.Acquire(ctx, "bench-dead")
			took := time.Since(start)
			if err != nil {
				return took, err
			}
			return took, l.Release(ctx)
		})
	}
	err := interleave(ctx, p, sides[0], sides[1], &records[0], &records[1])
	return compared("", &records[0], &records[1]), err
}
