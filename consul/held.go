package consul

import (
	"math"

	"github.com/distlock-go/distlock"
	"github.com/hashicorp/consul/api"
)

// Held returns the operation that lets a transaction in the same datacenter
// be carried out only while l has its lock:
//
//	ok, resp, _, err := client.KV().Txn(api.KVTxnOps{
//		consullock.Held(lease),
//		{Verb: api.KVSet, Key: "balance", Value: balance},
//	}, nil)
//
// However late the request arrives, what is beside the operation happens only
// if nobody else has had the key since l was granted: no other fence is needed
// for it. Not ok means that nothing was changed; if the error in resp is of the
// operation with this index, l has been lost or released. It is check-index of
// the lock's entry with l's token, so the client needs the lock client's
// namespace and the right to read the entry. It is met also after l's deadline
// as long as nobody else was granted the key, Consul being slow to expire
// sessions; that is safe. For a lease that is not of this package it is never
// met.
func Held(l *distlock.Lease) *api.KVTxnOp {
	if l != nil {
		if s, ok := distlock.BackendState(l).(*session); ok {
			return &api.KVTxnOp{Verb: api.KVCheckIndex, Key: s.name(l.Key()), Index: uint64(l.Token())}
		}
	}
	return &api.KVTxnOp{Verb: api.KVCheckIndex, Key: DefaultPrefix + "=none", Index: math.MaxUint64}
}
