package etcd

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// renewals is how many requests one KeepAlive makes, one after a quarter of its
// time each, until one is answered.
const renewals = 4

// KeepAlive renews the lease. A member that does not answer must cost no more
// than a part of the time that there is: etcd's client sends the next request
// to another one, and the first is left to be answered meanwhile.
func (s *session) KeepAlive(ctx context.Context, at distlock.Instant) (distlock.Instant, error) {
	var requests sync.WaitGroup
	defer requests.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // and so the requests
	answers := make(chan error, renewals)
	pause := partOf(ctx, renewals)
	next := time.NewTimer(0)
	defer next.Stop()
	for sent, failed := 0, 0; ; {
		select {
		case <-next.C:
			requests.Go(func() { answers <- s.renew(ctx) })
			if sent++; sent < renewals {
				next.Reset(pause)
			}
		case err := <-answers:
			if err == nil {
				return at, nil
			}
			if failed++; failed == renewals || !passes(err) {
				return 0, judge(ctx, err)
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// partOf is the n-th part of the time until ctx ends.
func partOf(ctx context.Context, n int) time.Duration {
	d, ok := ctx.Deadline()
	if !ok {
		return time.Second
	}
	return time.Until(d) / time.Duration(n)
}

// renew makes one request, and has the keys of grants looked for if it is
// answered.
func (s *session) renew(ctx context.Context) error {
	if _, err := s.backend.client.KeepAliveOnce(ctx, s.lease); err != nil {
		return err
	}
	select {
	case s.check <- struct{}{}:
	default:
	}
	return nil
}
