package quorum

import "time"

// A round asks the nodes for one thing and decides by their answers. It is
// guarded by its claim's mu.
type round struct {
	claim   *Claim
	op      Op
	votes   []vote
	decided bool
	expired bool   // who has not answered by now has not in time
	decide  func() // called after each answer until decided
	done    func(error)
	stop    func() // the timer; may be nil
}

// A vote is one node's part in a round.
type vote struct {
	state  state
	answer Answer
}

type state int

const (
	idle state = iota
	asked
	answered
)

// newRound returns a round that has asked nobody.
func (c *Claim) newRound(op Op, done func(error)) *round {
	return &round{claim: c, op: op, votes: make([]vote, len(c.seats)), done: done}
}

// ask sends the request to node i.
func (r *round) ask(i int) {
	c := r.claim
	req := c.request(r.op, i)
	r.votes[i].state = asked
	if r.op == Acquire || r.op == Repair {
		c.seats[i].flying++
	}
	c.set.Nodes[i].Do(req, func(a Answer) {
		c.mu.Lock()
		defer c.unlock()
		r.votes[i] = vote{answered, a}
		c.note(r, i, a)
		if !r.decided {
			r.decide()
		}
		if r.op == Renew && r.decided {
			r.repair(i)
		}
		c.slim()
	})
}

// askIdle asks all that were not.
func (r *round) askIdle() {
	for i := range r.votes {
		if r.votes[i].state == idle {
			r.ask(i)
		}
	}
}

// set is an answer that needed no request.
func (r *round) set(i int, a Answer) { r.votes[i] = vote{answered, a} }

// count returns how many have answered so that is is true of it.
func (r *round) count(is func(Answer) bool) (n int) {
	for _, v := range r.votes {
		if v.state == answered && is(v.answer) {
			n++
		}
	}
	return n
}

// isUntouched reports whether no node has done or may do what it was asked for, if
// all have answered.
func (r *round) isUntouched() bool {
	return r.count(func(a Answer) bool { return a.Verdict == Done || a.Verdict == Failed }) == 0
}

// in returns how many are in state s.
func (r *round) in(s state) (n int) {
	for _, v := range r.votes {
		if v.state == s {
			n++
		}
	}
	return n
}

// pending returns how many may still answer in time.
func (r *round) pending() int {
	if r.expired {
		return 0
	}
	return r.in(asked)
}

// close decides the round: done is called with err once mu is free.
func (r *round) close(err error) {
	r.decided = true
	if r.stop != nil {
		r.stop()
	}
	if r.done != nil {
		done := r.done
		r.claim.after = append(r.claim.after, func() { done(err) })
	}
}

// timer has decide called with change made after d, unless decided before.
func (r *round) timer(d time.Duration, change func()) {
	r.stop = r.claim.set.Clock.After(d, func() {
		c := r.claim
		c.mu.Lock()
		defer c.unlock()
		if !r.decided {
			change()
			if !r.decided {
				r.decide()
			}
		}
	})
}

// request is what node i is sent.
func (c *Claim) request(op Op, i int) Request {
	s := &c.seats[i]
	req := Request{Op: op, Lock: c.lock, Token: s.final}
	req.Exact = !s.inexact && (s.has == yes || s.has == no && s.flying > 0) // it is that, or nothing
	switch op {
	case Acquire:
		req.Wanted = c.wanted
	case Repair:
		s.inexact = true // until it has answered
		req.Wanted = c.wanted
		req.Token = c.token
	case Confirm:
		s.inexact = true // until it has answered
		req.Token = c.token
	}
	return req
}
