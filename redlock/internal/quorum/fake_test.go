package quorum_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
)

// A stand is nodes whose answers the test gives, one by one.
type stand struct {
	nodes  []*fake
	set    *quorum.Set
	now    distlock.Instant
	timers []func()
}

// A fake is one of them.
type fake struct {
	number  int
	idle    bool // not ready
	trouble error
	asked   []question
}

type question struct {
	quorum.Request
	answer func(quorum.Answer)
}

func newStand(fenced bool) *stand {
	s := &stand{set: &quorum.Set{Quorum: quorum.Majority(nodes), Fenced: fenced, Timeout: 40 * time.Millisecond}}
	s.set.Clock = s
	for i := range nodes {
		f := &fake{number: i}
		s.nodes, s.set.Nodes = append(s.nodes, f), append(s.set.Nodes, f)
	}
	return s
}

func (s *stand) Now() distlock.Instant { return s.now }

func (s *stand) After(_ time.Duration, f func()) (stop func()) {
	stopped := false
	s.timers = append(s.timers, func() {
		if !stopped {
			f()
		}
	})
	return func() { stopped = true }
}

// tick lets all timers fire that are set.
func (s *stand) tick() {
	due := s.timers
	s.timers = nil
	for _, f := range due {
		f()
	}
}

func (f *fake) Name() string   { return fmt.Sprintf("node-%d", f.number) }
func (f *fake) Ready() bool    { return !f.idle }
func (f *fake) Trouble() error { return f.trouble }

func (f *fake) Do(r quorum.Request, answer func(quorum.Answer)) {
	f.asked = append(f.asked, question{r, answer})
}

// says has the node answer the first request that it has not answered.
func (f *fake) says(t *testing.T, op quorum.Op, a quorum.Answer) {
	t.Helper()
	if len(f.asked) == 0 || f.asked[0].Op != op {
		t.Fatalf("%s was not asked for %v", f.Name(), op)
	}
	q := f.asked[0]
	f.asked = f.asked[1:]
	q.answer(a)
}

// lock is what is asked for.
func lock() quorum.Lock {
	return quorum.Lock{Key: "k", Owner: distlock.NewOwner(), Terms: distlock.Terms{TTL: time.Minute}}
}

// An outcome is what done is called with: once.
type outcome struct {
	err   error
	calls int
}

func (o *outcome) done(err error) { o.err, o.calls = err, o.calls+1 }
