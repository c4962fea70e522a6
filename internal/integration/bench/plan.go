package main

import "time"

// A plan is how much is measured.
type plan struct {
	addr    string
	note    string        // what is said beside the figures
	pairs   int           // of slices
	slice   time.Duration // length of one
	keys    int           // of busy
	leases  int           // of held
	ttl     time.Duration // of held
	passes  int           // of held
	waiters []int         // of hand-over
	turns   int           // of each of the 8 processes in one round

	rounds   int           // of the peers' slices
	lease    time.Duration // of slow peers; 0 is their default
	contest  time.Duration // of fairness
	crashTTL time.Duration // of take-over
	crashes  int
	crowds   []int         // numbers of waiters
	idle     time.Duration // how long they are looked at, after half of it
	bound    time.Duration // of a peer's call
	patience time.Duration // with a crowd that is handed the key
	sizes    []int         // numbers of leases
	brief    time.Duration // their TTL
	watch    float64       // how much of a TTL they are looked at
}

var (
	full = plan{
		pairs: 24, slice: 300 * time.Millisecond, keys: 10000,
		leases: 10000, ttl: 6 * time.Second, passes: 2,
		waiters: []int{1, 8, 32}, turns: 5,
		rounds: 12, contest: 10 * time.Second, crashTTL: 10 * time.Second, crashes: 3,
		crowds: []int{1, 10, 100, 1000}, idle: time.Second, bound: time.Minute, patience: 2 * time.Second,
		sizes: []int{100, 1000, 10_000, 100_000}, brief: 4 * time.Second, watch: 1,
	}
	quick = plan{
		pairs: 2, slice: 150 * time.Millisecond, keys: 200,
		leases: 300, ttl: 3 * time.Second, passes: 1,
		waiters: []int{1, 8}, turns: 2,
		rounds: 1, lease: 400 * time.Millisecond, contest: 300 * time.Millisecond, crashTTL: 4 * time.Second, crashes: 1,
		crowds: []int{1, 8}, idle: 50 * time.Millisecond, bound: time.Minute, patience: 300 * time.Millisecond,
		sizes: []int{10, 100}, brief: 3 * time.Second, watch: 0.1,
	}
)

// at returns p for the server at addr.
func (p plan) at(addr string) plan {
	p.addr = addr
	return p
}

// leaseOf is the TTL of r in contention: its default, but of a peer that polls by it.
func (p plan) leaseOf(r rival) time.Duration {
	if r.slow {
		return p.lease
	}
	return 0
}
