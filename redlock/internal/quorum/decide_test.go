package quorum_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/redlock/internal/quorum"
)

var (
	yes     = quorum.Answer{Verdict: quorum.Done}
	gone    = quorum.Answer{Verdict: quorum.Gone}
	failed  = quorum.Answer{Verdict: quorum.Failed, Err: errors.New("no route")}
	errDown = errors.New("it is down")
)

func heldBy(who string, rest time.Duration) quorum.Answer {
	return quorum.Answer{Verdict: quorum.Refused, Other: who, Rest: rest}
}

// acquired is a claim that all nodes have granted.
func acquired(t *testing.T, s *stand) *quorum.Claim {
	t.Helper()
	var o outcome
	c := s.set.Acquire(lock(), o.done)
	for _, n := range s.nodes {
		n.says(t, quorum.Acquire, yes)
	}
	if o.err != nil || o.calls != 1 {
		t.Fatalf("got %v in %d calls, want a grant", o.err, o.calls)
	}
	return c
}

func TestMajorityDecidesAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		answers   []quorum.Answer // of the first nodes
		held      bool
		granted   bool
		undecided bool
	}{
		{"three grants", []quorum.Answer{yes, yes, yes}, false, true, false},
		{"two grants", []quorum.Answer{yes, yes}, false, false, true},
		{"three refusals", []quorum.Answer{heldBy("x", 1), heldBy("x", 1), heldBy("x", 1)}, true, false, false},
		{"two refusals", []quorum.Answer{heldBy("x", 1), heldBy("x", 1)}, false, false, true},
		{"three failures", []quorum.Answer{failed, failed, failed}, false, false, false},
		{"two refusals and a failure", []quorum.Answer{heldBy("x", 1), heldBy("x", 1), failed}, false, false, false},
		{"a grant, two refusals and a failure", []quorum.Answer{yes, heldBy("x", 1), heldBy("x", 1), failed}, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var o outcome
			s := newStand(false)
			s.set.Acquire(lock(), o.done)
			for i, a := range c.answers {
				s.nodes[i].says(t, quorum.Acquire, a)
			}
			if decided := o.calls == 1; decided == c.undecided {
				t.Fatalf("decided %v, want %v", decided, !c.undecided)
			}
			if !c.undecided && ((o.err == nil) != c.granted || errors.Is(o.err, distlock.ErrHeld) != c.held) {
				t.Errorf("got %v, want a grant: %v, held: %v", o.err, c.granted, c.held)
			}
		})
	}
}

func TestErrorSaysWhichNodeSaidWhat(t *testing.T) {
	t.Parallel()
	var o outcome
	s := newStand(false)
	s.nodes[4].trouble = errDown
	s.set.Acquire(lock(), o.done)
	s.nodes[0].says(t, quorum.Acquire, yes)
	s.nodes[1].says(t, quorum.Acquire, failed)
	s.nodes[2].says(t, quorum.Acquire, quorum.Answer{Verdict: quorum.Young, Rest: time.Second})
	s.tick()
	if o.calls != 1 {
		t.Fatal("not decided when the time is up")
	}
	for _, want := range []string{
		"3 of 5", "node-0: yes", "node-1: no route", "node-2: may have lost its data",
		"node-3: no answer within 40ms", "node-4: no answer within 40ms (before: it is down)",
	} {
		if !strings.Contains(o.err.Error(), want) {
			t.Errorf("got %v, want %q in it", o.err, want)
		}
	}
	for _, want := range []error{errDown, failed.Err} {
		if !errors.Is(o.err, want) {
			t.Errorf("got %v, want it to match %v", o.err, want)
		}
	}
	if n := len(s.nodes[0].asked); n != 1 || s.nodes[0].asked[0].Op != quorum.Release {
		t.Error("what was granted is not released")
	}
}

func TestWhoIsNotReadyIsAskedWhenNeeded(t *testing.T) {
	t.Parallel()
	asked := func(s *stand) (n int) {
		for _, f := range s.nodes {
			n += len(f.asked)
		}
		return n
	}
	s := newStand(false)
	s.nodes[0].idle, s.nodes[1].idle = true, true
	s.set.Acquire(lock(), func(error) {})
	if got := asked(s); got != 3 {
		t.Errorf("%d nodes were asked, want the three that are ready", got)
	}
	s.nodes[2].says(t, quorum.Acquire, failed)
	if got := asked(s); got != 4 { // without the one that has answered
		t.Errorf("%d wait after a failure, want the other four", got)
	}
	s = newStand(false)
	s.nodes[0].idle = true
	s.set.Acquire(lock(), func(error) {})
	s.tick()
	if got := asked(s); got != 5 {
		t.Errorf("%d nodes were asked after a part of the time-out, want all", got)
	}
	s = newStand(false)
	for i := range 3 {
		s.nodes[i].idle = true
	}
	s.set.Acquire(lock(), func(error) {})
	if got := asked(s); got != 5 {
		t.Errorf("%d nodes were asked without a majority that is ready, want all", got)
	}
}

func TestReleaseOutcomes(t *testing.T) {
	t.Parallel()
	unknown := errors.New("unknown")
	for _, c := range []struct {
		name    string
		answers []quorum.Answer
		want    error // unknown: any other
	}{
		{"a majority deleted", []quorum.Answer{yes, yes, yes}, nil},
		{"deleted or gone, so that others can have it", []quorum.Answer{yes, gone, yes, gone, failed}, nil},
		{"a majority deleted behind one that had nothing", []quorum.Answer{yes, gone, yes, yes}, nil},
		{"a majority had nothing, and told so last", []quorum.Answer{yes, yes, gone, gone, gone}, distlock.ErrLost},
		{"a majority had nothing, and told so in between", []quorum.Answer{yes, gone, gone, yes, gone}, distlock.ErrLost},
		{"a majority had nothing", []quorum.Answer{gone, gone, gone}, distlock.ErrLost},
		{"a majority did not answer", []quorum.Answer{yes, yes, failed, failed, failed}, unknown},
		{"a minority did not answer", []quorum.Answer{failed, failed, yes, yes, yes}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStand(false)
			claim := acquired(t, s)
			var o outcome
			claim.Release(o.done)
			for i, a := range c.answers {
				s.nodes[i].says(t, quorum.Release, a)
			}
			if o.calls != 1 || !errors.Is(o.err, c.want) && (c.want != unknown || o.err == nil || errors.Is(o.err, distlock.ErrLost)) {
				t.Errorf("got %v in %d calls, want %v", o.err, o.calls, c.want)
			}
		})
	}
}

// Nothing frees the key behind a release that no node has carried out, since the
// caller is told so: only nodes that had nothing are asked once more. One that was
// carried out in part is finished behind.
func TestReleaseThatNoNodeCarriedOut(t *testing.T) {
	t.Parallel()
	declined := quorum.Answer{Verdict: quorum.Declined, Err: errDown}
	for _, c := range []struct {
		name    string
		answers []quorum.Answer
		idle    int // so many of the last nodes are not ready
		refused bool
		behind  []int // the nodes that are asked again
	}{
		{name: "all declined", answers: []quorum.Answer{declined, declined, declined, declined, declined}, refused: true},
		{name: "declined or gone", answers: []quorum.Answer{declined, gone, declined, gone, declined}, refused: true, behind: []int{1, 3}},
		{name: "declined or not ready", answers: []quorum.Answer{declined, declined, declined}, idle: 2, refused: true},
		{name: "one unknown", answers: []quorum.Answer{declined, declined, failed, declined, declined}, behind: []int{0, 1, 2, 3, 4}},
		{name: "one deleted", answers: []quorum.Answer{declined, declined, yes, declined, declined}, behind: []int{0, 1, 3, 4}},
		{name: "released without the first", answers: []quorum.Answer{declined, yes, yes, yes, declined}, behind: []int{0, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStand(false)
			claim := acquired(t, s)
			for _, n := range s.nodes[nodes-c.idle:] {
				n.idle = true
			}
			var o outcome
			claim.Release(o.done)
			for i, a := range c.answers {
				s.nodes[i].says(t, quorum.Release, a)
			}
			if o.calls != 1 || isRefused(o.err) != c.refused {
				t.Errorf("got %v in %d calls, want it marked as refused: %v", o.err, o.calls, c.refused)
			}
			var behind []int
			for i, n := range s.nodes {
				if len(n.asked) > 0 {
					behind = append(behind, i)
				}
			}
			if !slices.Equal(behind, c.behind) {
				t.Errorf("nodes %v are asked again, want %v", behind, c.behind)
			}
		})
	}
}

func TestRenewalThatNoNodeCarriedOut(t *testing.T) {
	t.Parallel()
	declined := quorum.Answer{Verdict: quorum.Declined, Err: errDown}
	for _, c := range []struct {
		name    string
		last    quorum.Answer
		refused bool
	}{
		{"declined", declined, true},
		{"gone", gone, true},
		{"renewed", yes, false},
		{"unknown", failed, false},
	} {
		s := newStand(false)
		claim := acquired(t, s)
		var o outcome
		claim.Renew(lock().Terms, o.done)
		for _, n := range s.nodes[1:] {
			n.says(t, quorum.Renew, declined)
		}
		s.nodes[0].says(t, quorum.Renew, c.last)
		if o.calls != 1 || isRefused(o.err) != c.refused {
			t.Errorf("%s: got %v in %d calls, want it marked as refused: %v", c.name, o.err, o.calls, c.refused)
		}
	}
}

// isRefused reports whether err is marked by distlock.Refused.
func isRefused(err error) bool {
	return reflect.TypeOf(err) == reflect.TypeOf(distlock.Refused(errDown))
}

func TestRepairFollowsAMajority(t *testing.T) {
	t.Parallel()
	s := newStand(false)
	c := acquired(t, s)
	var o outcome
	c.Renew(lock().Terms, o.done)
	s.nodes[0].says(t, quorum.Renew, gone)
	s.nodes[1].says(t, quorum.Renew, yes)
	s.nodes[2].says(t, quorum.Renew, yes)
	if len(s.nodes[0].asked) != 0 {
		t.Fatal("a node was repaired before a majority had confirmed")
	}
	s.nodes[3].says(t, quorum.Renew, yes)
	if o.calls != 1 || o.err != nil {
		t.Fatalf("got %v, want the renewal done", o.err)
	}
	s.nodes[0].says(t, quorum.Repair, yes)
	s.nodes[4].says(t, quorum.Renew, gone) // late
	s.nodes[4].says(t, quorum.Repair, yes)

	o = outcome{}
	c.Renew(lock().Terms, o.done)
	s.now += distlock.Instant(time.Minute) // the deadline passes
	s.nodes[0].says(t, quorum.Renew, gone)
	for i := 1; i < 4; i++ {
		s.nodes[i].says(t, quorum.Renew, yes)
	}
	if len(s.nodes[0].asked) != 0 {
		t.Error("a node was repaired after the deadline")
	}
	o = outcome{}
	c.Renew(lock().Terms, o.done)
	for i := range 3 {
		s.nodes[i].says(t, quorum.Renew, gone)
	}
	if !errors.Is(o.err, distlock.ErrLost) {
		t.Errorf("got %v, want ErrLost once a majority has nothing", o.err)
	}
	s.nodes[3].says(t, quorum.Renew, yes)
	for _, n := range s.nodes[:3] {
		if len(n.asked) != 0 {
			t.Error("a node was repaired although a majority had lost the key")
		}
	}
}

// What is left of a lost lock on a minority would keep others from a majority for as
// long as its holder wanted the key to stay taken.
func TestLostRenewalIsUndone(t *testing.T) {
	t.Parallel()
	s := newStand(false)
	c := acquired(t, s)
	var o outcome
	c.Renew(distlock.Terms{TTL: time.Hour}, o.done)
	s.nodes[0].says(t, quorum.Renew, yes)
	for _, n := range s.nodes[1:4] {
		n.says(t, quorum.Renew, gone)
	}
	if o.calls != 1 || !errors.Is(o.err, distlock.ErrLost) {
		t.Fatalf("got %v in %d calls, want ErrLost", o.err, o.calls)
	}
	s.nodes[4].says(t, quorum.Renew, yes) // late
	for _, i := range []int{0, 4} {
		s.nodes[i].says(t, quorum.Release, yes)
	}
	for _, n := range s.nodes {
		if len(n.asked) != 0 {
			t.Errorf("%s was asked for %v", n.Name(), n.asked[0].Op)
		}
	}
}

// The end of a lock's lifetime comes closer when its holder gives it up for later. A
// node that answers after that must not get it again.
func TestNoRepairAfterAShorterLifetime(t *testing.T) {
	t.Parallel()
	s := newStand(false)
	c := acquired(t, s)
	c.Renew(distlock.Terms{TTL: time.Second}, func(error) {})
	for _, n := range s.nodes[1:4] {
		n.says(t, quorum.Renew, yes)
	}
	s.now += distlock.Instant(2 * time.Second)
	s.nodes[0].says(t, quorum.Renew, gone)
	if len(s.nodes[0].asked) != 0 {
		t.Error("a node was repaired after the end")
	}
}

func TestOrderOfAcknowledgements(t *testing.T) {
	t.Parallel()
	s := newStand(true)
	var o outcome
	c := s.set.Acquire(lock(), o.done)
	for i, token := range []distlock.Token{5, 9, 7} {
		s.nodes[i].says(t, quorum.Acquire, quorum.Answer{Verdict: quorum.Done, Token: token})
	}
	if o.calls != 0 {
		t.Fatal("granted before the token was written back")
	}
	for i := range 2 {
		if got := s.nodes[i].asked[0].Token; got != 9 {
			t.Errorf("token %v is written back, want 9", got)
		}
		s.nodes[i].says(t, quorum.Confirm, yes)
	}
	s.nodes[3].says(t, quorum.Acquire, quorum.Answer{Verdict: quorum.Done, Token: 20})
	if len(s.nodes[3].asked) != 0 {
		t.Error("a node with a larger counter was asked to confirm")
	}
	if o.calls != 0 {
		t.Fatal("granted by two acknowledgements")
	}
	s.nodes[4].says(t, quorum.Acquire, quorum.Answer{Verdict: quorum.Done, Token: 8})
	s.nodes[4].says(t, quorum.Confirm, yes) // a late grant counts
	if o.calls != 1 || o.err != nil || c.Token() != 9 {
		t.Errorf("got %v, token %v; want a grant with 9", o.err, c.Token())
	}
}
