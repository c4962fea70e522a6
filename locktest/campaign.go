package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// terms of a campaign that are lost before it is called off.
const campaignTerms = 3

func campaign(r *row) {
	ctx, cancel := context.WithTimeout(r.ctx, campaignTerms*(r.h.Expiry+r.patience()))
	defer cancel()
	var mu sync.Mutex // guards all below
	var leader context.Context
	terms := 0
	lead := func(ctx context.Context, _ *distlock.Lease) error {
		mu.Lock()
		if leader != nil && leader.Err() == nil {
			r.Error("one leads while another does, whose ctx has not ended")
		}
		leader = ctx
		terms++
		enough := terms > campaignTerms
		mu.Unlock()
		if enough {
			cancel()
		}
		<-ctx.Done()
		return nil
	}
	var wg sync.WaitGroup
	for range 3 {
		c := r.short()
		wg.Go(func() {
			err := distlock.Campaign(ctx, c, r.key, lead, distlock.WithMaxHold(r.terms(r.h.TTL).TTL))
			if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, distlock.ErrLost) {
				r.Errorf("Campaign: %v", err)
			}
		})
	}
	wg.Wait()
	if terms <= campaignTerms {
		r.Errorf("got %d terms after %d losses", terms, campaignTerms)
	}
	r.free(r.lasting(), r.key, soon)
}

func minHold(r *row) {
	if r.info.SessionPerTerms {
		_, err := r.lasting().TryAcquire(r.within(r.patience()), r.key, distlock.WithMinHold(r.h.TTL))
		r.is("WithMinHold where a grant ends with its session", err, distlock.ErrInvalid)
		return
	}
	short, long := r.terms(r.h.TTL).TTL, r.terms(r.long()).TTL
	for name, test := range map[string]struct{ ttl, window time.Duration }{
		"longer than the TTL":  {short, 3 * short},
		"shorter than the TTL": {long, long / 3},
	} {
		key, c := r.key+"/"+name, r.client(r.h.Backend(r), test.ttl)
		before := time.Now()
		l := r.try(c, key, distlock.WithMinHold(test.window))
		r.release(l)
		if err := c.Close(r.within(r.patience())); err != nil {
			r.Errorf("Close: %v", err)
		}
		r.refused(r.lasting(), key)
		next := r.got(r.wait(r.ctx, r.lasting(), key), test.window+pollEvery+slack)
		if kept := next.at.Sub(before); kept < test.window-drift(test.window) {
			r.Errorf("the key was taken for %v, the min-hold is %v, %s", kept, test.window, name)
		}
		r.release(next.lease)
	}
}

// drift is what a server's clock and its resolution may make of d.
func drift(d time.Duration) time.Duration { return d/100 + 2*time.Millisecond }
