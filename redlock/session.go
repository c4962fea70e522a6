package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/redisscript"
	"github.com/distlock-go/distlock/internal/tasks"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
)

// A session is one client's. On the servers it is nothing.
type session struct {
	backend *Backend
	set     *quorum.Set
	nodes   []*node
	active  tasks.Group // the nodes' lanes
	hub     *hub
	once    sync.Once
}

// Reasons why nothing was sent or answered.
var (
	errUnwanted = errors.New("not sent, as nobody wants it any more")
	errNoAnswer = errors.New("no majority has answered in time")
)

func newSession(b *Backend) *session {
	s := &session{backend: b}
	s.set = &quorum.Set{
		Quorum: quorum.Majority(len(b.clients)), Fenced: b.fenced, Timeout: b.timeout,
		Clock: systemClock(clock.System()),
	}
	for i := range b.clients {
		n := newNode(b, i, &s.active)
		s.nodes = append(s.nodes, n)
		s.set.Nodes = append(s.set.Nodes, n)
	}
	s.hub = newHub(b.clients, s.set.Quorum)
	return s
}

// systemClock is the client's clock.
type systemClock clock.Clock

func (c systemClock) Now() distlock.Instant { return distlock.Instant(c()) }

func (c systemClock) After(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// meet asks all nodes who they are, and waits for a majority, and for the others
// for a little.
func (s *session) meet(ctx context.Context) error {
	answers := make(chan func(), len(s.nodes))
	text, errs, met := make([]string, len(s.nodes)), make([]error, len(s.nodes)), 0
	for i, n := range s.nodes {
		text[i] = n.Name() + ": no answer"
		n.Do(quorum.Request{}, func(a quorum.Answer) {
			answers <- func() {
				text[i], errs[i] = n.Name()+": yes", a.Err
				if a.Err != nil {
					text[i] = n.Name() + ": " + a.Err.Error()
				} else {
					met++
				}
			}
		})
	}
	var late <-chan time.Time // once there is a majority
	for range s.nodes {
		select {
		case note := <-answers:
			note()
		case <-late:
			return s.backend.sameTwice()
		case <-ctx.Done():
			return s.unmet(text, append(errs, ctx.Err()))
		}
		if met >= s.set.Quorum && late == nil {
			t := time.NewTimer(s.backend.timeout)
			defer t.Stop()
			late = t.C
		}
	}
	if err := s.backend.sameTwice(); err != nil || met >= s.set.Quorum {
		return err
	}
	return s.unmet(text, errs)
}

// unmet is the error of meet.
func (s *session) unmet(text []string, errs []error) error {
	return saidAll(fmt.Sprintf("no majority reached, %d of %d nodes", s.set.Quorum, len(s.nodes)), text, errs)
}

// meetAgain asks all nodes who they are while two of them were the same server:
// an address may have been put right.
func (s *session) meetAgain(ctx context.Context) error {
	if s.backend.sameTwice() == nil {
		return nil
	}
	for _, n := range s.nodes {
		n.forget()
	}
	return s.meet(ctx)
}

// TryAcquire makes one attempt: see quorum.Set.Acquire.
func (s *session) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Hold, error) {
	h := distlock.Hold{Key: r.Key, Owner: r.Owner, Terms: r.Terms}
	if err := ctx.Err(); err != nil {
		return h, distlock.Refused(err)
	}
	if err := s.meetAgain(ctx); err != nil {
		return h, distlock.Refused(err)
	}
	done, sent := make(chan error, 1), time.Now()
	c := s.set.Acquire(quorum.Lock{Key: r.Key, Owner: r.Owner, Holder: r.Holder, Terms: r.Terms},
		func(err error) { done <- err })
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		if c.Abandon() {
			return h, ctx.Err()
		}
		err = <-done
	}
	if err != nil {
		if errors.Is(err, distlock.ErrHeld) {
			s.hub.refused(s.channel(r.Key), sent)
		}
		return h, err
	}
	h.Token, h.State = c.Token(), c
	return h, nil
}

// claim is what is known of h.
func (s *session) claim(h distlock.Hold) *quorum.Claim {
	if c, ok := h.State.(*quorum.Claim); ok && c.Is(h.Key, h.Owner) {
		return c
	}
	return s.set.Unseen(quorum.Lock{Key: h.Key, Owner: h.Owner, Terms: h.Terms})
}

// Release gives h up on all nodes: see quorum.Claim.Release.
func (s *session) Release(ctx context.Context, h distlock.Hold) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	s.claim(h).Release(func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNoAnswer, ctx.Err())
	}
}

// Renew extends holds: see quorum.Claim.Renew. Requests of one batch to one node
// share pipelines.
func (s *session) Renew(ctx context.Context, holds []distlock.Hold) []error {
	type renewal struct {
		hold int
		err  error
	}
	done := make(chan renewal, len(holds))
	results := make([]error, len(holds))
	for i, h := range holds {
		results[i] = errNoAnswer
		s.claim(h).Renew(h.Terms, func(err error) { done <- renewal{i, err} })
	}
	for range holds {
		select {
		case r := <-done:
			results[r.hold] = r.err
		case <-ctx.Done():
			return results
		}
	}
	return results
}

// Watch listens for wake-ups of key.
func (s *session) Watch(key string, wake func()) (stop func()) {
	return s.hub.watch(s.channel(key), wake)
}

func (s *session) channel(key string) string {
	return redisscript.LockName(s.backend.prefix, key) + redisscript.ChannelSuffix
}

// Close waits for what is under way, until ctx ends. The core has released
// every hold.
func (s *session) Close(ctx context.Context) error {
	s.once.Do(func() {
		s.set.Close()
		s.hub.close()
		for _, n := range s.nodes {
			close(n.closing)
		}
	})
	done := make(chan struct{})
	go func() { // ends with the lanes, which end by the clients' time-outs
		s.hub.active.Wait()
		s.active.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// probe takes, releases and removes a lock that nobody else knows, to see
// whether this user may, and whether the servers take writes at all.
func (s *session) probe(ctx context.Context) error {
	r := distlock.Request{
		Key: "ping " + distlock.NewOwner().Text(), Owner: distlock.NewOwner(),
		Terms: distlock.Terms{TTL: time.Second},
	}
	h, err := s.TryAcquire(ctx, r)
	if err != nil {
		return err
	}
	err = s.Release(ctx, h)
	for _, n := range s.nodes {
		s.active.Start(func() { n.dropCounter(r.Key) })
	}
	return err
}
