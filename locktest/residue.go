package locktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
)

func cancelledAtRandom(r *row) {
	a, b := r.lasting(), r.lasting()
	start := time.Now()
	for range 10 {
		r.release(r.acquire(a, r.key))
	}
	most := max(time.Since(start)/10*3/2, 50*time.Microsecond) // of one acquire and release, and some
	granted := 0
	for i := range r.h.Cancels {
		name, acquire := "Acquire", a.Acquire
		if i%2 == 0 {
			name, acquire = "TryAcquire", a.TryAcquire
		}
		ctx, cancel := context.WithTimeout(r.ctx, rand.N(most))
		l, err := acquire(ctx, r.key)
		cancel()
		switch {
		case err == nil && l != nil:
			granted++
			r.release(l)
		case l != nil || err == nil:
			r.Fatalf("%s: got %v, %v; want one of the two", name, l, err)
		case !errors.Is(err, context.DeadlineExceeded) && (i%2 > 0 || !errors.Is(err, distlock.ErrHeld)):
			r.Fatalf("%s, cancelled: got %v, want the error of its ctx", name, err)
		}
		if i%10 == 9 {
			r.free(b, r.key, soon)
		}
	}
	r.Logf("%d of %d were granted in time", granted, r.h.Cancels)
	r.nothingLeft(r.key)
}

// round uses a client in all ways that end by themselves, and closes it.
func round(r *row, b distlock.Backend, key string) {
	c, err := distlock.New(b, distlock.WithTTL(r.long()))
	if err != nil {
		r.Fatal(err)
	}
	ctx := r.within(r.patience())
	l, err := c.Acquire(ctx, key)
	if err != nil {
		r.Fatal(err)
	}
	lctx := l.Context(ctx)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	c.Acquire(short, key)
	cancel()
	r.release(l)
	<-lctx.Done()
	if _, err := c.Acquire(ctx, key); err != nil { // left to Close
		r.Fatal(err)
	}
	if err := c.Close(ctx); err != nil {
		r.Fatalf("Close: %v", err)
	}
}

func noGoroutineLeft(r *row) {
	b := r.h.Backend(r)
	label := fmt.Sprintf("%s-%d", r.key, rand.Uint64())
	count := func() int { return goroutines(r, label) }
	pprof.Do(r.ctx, pprof.Labels("locktest", label), func(context.Context) {
		for range 5 { // what the connection itself needs is there after that
			round(r, b, r.key)
		}
		before := count()
		for range r.h.Rounds {
			round(r, b, r.key)
		}
		most := before + r.h.Rounds/20 // connections of a pool come and go
		after := 0
		if !poll(r.patience(), func() bool { after = count(); return after <= most }) {
			r.Errorf("%d goroutines before %d rounds, %d after", before, r.h.Rounds, after)
		}
	})
}

// goroutines counts the goroutines that carry label, which they inherit.
func goroutines(r *row, label string) int {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		r.Fatal(err)
	}
	total, group := 0, 0
	for line := range strings.Lines(profile.String()) {
		if n, _, ok := strings.Cut(line, " @ "); ok {
			group, _ = strconv.Atoi(n)
		}
		if strings.HasPrefix(line, "# labels:") && strings.Contains(line, label) {
			total += group
		}
	}
	return total
}

func noSessionLeft(r *row) {
	count := func() int {
		n, err := r.h.Sessions(r.within(r.patience()))
		if err != nil {
			r.Fatalf("the harness cannot count sessions: %v", err)
		}
		return n
	}
	b := r.h.Backend(r)
	round(r, b, r.key)
	before := count()
	for range 100 {
		round(r, b, r.key)
	}
	after := 0
	if !poll(r.patience(), func() bool { after = count(); return after <= before }) {
		r.Errorf("%d sessions before 100 rounds, %d after", before, after)
	}
}

func noKeyLeft(r *row) {
	b := r.h.Backend(r)
	for range 20 {
		round(r, b, r.key)
	}
	r.nothingLeft(r.key)
	l := r.acquire(r.lasting(), r.key)
	if n, err := r.h.Residue(r.within(r.patience()), r.key); n != 1 || err != nil {
		r.Errorf("residue of a held key: got %d, %v; want 1", n, err)
	}
	r.release(l)
	r.nothingLeft(r.key)
}
