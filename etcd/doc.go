// Package etcd takes locks on an etcd cluster (servers 3.4 and later). Import
// it as etcdlock:
//
//	import etcdlock "github.com/distlock-go/distlock/etcd"
//
//	client, err := distlock.New(etcdlock.New(cli, nil))
//
// # How it works
//
// A client has one etcd lease for each TTL in use, which the client renews as
// a whole however many locks it holds. For each lock that it holds or waits
// for it has one key under that lease,
//
//	PREFIX ESCAPED-KEY / LEASE-ID-IN-HEX
//
// whose value is the acquisition's random owner id and the holder's text. The
// keys of one lock are its queue: the one that was created first holds the
// lock. TryAcquire puts its key only if no other is there. A waiter watches the
// one key before its own and no other, so that a release wakes one waiter
// however many there are, and the queue is first come first served across all
// processes.
//
// Only keys under a lease count. A key that somebody put there without one is
// ignored, so that it blocks nobody for ever; one with a lease takes its turn
// like ours. So “etcdctl lock PREFIX ESCAPED-KEY” and the client's own
// concurrency.Mutex stand in the same queue.
//
// # What is promised
//
// The token is the create revision of the own key: durable, cluster-wide,
// strictly increasing from grant to grant in the order of grants, whatever
// fails. It goes back only where the revision itself does: restore a snapshot
// with --bump-revision and --mark-compacted, and do not exchange the cluster
// for a new one under the same lock names. [Held] makes any transaction on the
// same cluster conditional on the lock: there etcd is fence and resource in
// one. Everything else needs a distlock.Fence or its like, since etcd grants a
// key once a lease has run out, whether or not its holder has noticed.
//
// A holder's validity is counted from the time before its last confirmed
// renewal was sent, on its own clock, and ends before the server's lease does.
// A lease that was revoked is told at once, by a watch; a key that was deleted
// behind the library's back at the next renewal, at a third of the TTL.
//
// # Times
//
// TTL and lock-delay are rounded up to whole seconds each; the server keeps
// the lease for their sum. A dead holder's lock is free after TTL + lock-delay
// from its last renewal, and up to a second later since expiry is checked each
// half second and passes through the log. A leader change gives every lease
// its full time anew, and an election timeout on top, so each one adds as
// much; with more than a thousand leases expiring at once the new leader
// spreads them out further.
//
// # Costs
//
// Acquire and TryAcquire of a free key: one round trip, and one to release.
// The first on a client: one more, which makes the lease. A refused attempt:
// one. A wait: one transaction to queue up, a watch, and one read when the
// watch fires; and one read of two keys each second, in case the watch's
// member is dead. Renewal: one request per lease at every third of the TTL, and
// one more that lists the keys under it while locks are held. A held lock
// costs no goroutine and no watch; a client has one of each for each TTL.
//
// Every look into a lock's queue passes the names that were deleted there since
// the last compaction. There is one for each client that has used the lock, not
// for each time, so the cluster's usual automatic compaction is enough.
//
// # The user's client
//
// It may be wrapped by the namespace package (wrap KV, Watcher and Lease) and
// use auth; the role needs read and write access to the whole prefix. It is
// never closed. Give it several endpoints, and DialKeepAliveTime and
// DialKeepAliveTimeout: without them etcd's client goes on asking a member
// that has fallen silent in turn with the others, and each such request fails
// only by its time-out.
package etcd
